/* engine_stop.c: who is sampled in a round, and when the rounds end: shares of the budget, rests,
 * overtime, and what has to be known of a lane. */
#include "bench/engine_internal.h"

#include "base/math.h"
#include "kernel/kernel.h"

#include <math.h>

/* A lane whose calls take so many times the baseline's is called slower after ten rounds as surely
 * as after a thousand: it gets this part of an even share, and the others get the rest. */
static const double MUCH_SLOWER = 4, SLOW_SHARE = 0.25;
/* A lane of which everything is known well enough is sampled in every so many rounds only, and
 * leaves its time to the others; not in none, so that drift of the machine still meets it. */
static const int64_t SATISFIED_EVERY = 4;
/* A lane whose difference is likely but not yet certain goes on for so many of its shares. */
static const double OVERTIME = 4;
/* A kernel's share of the ceiling is wanted to within so many times the precision asked for. */
static const double PROBE_GOALS = 2;

enum {
    ROUNDS_FEWEST = 3, /* of a lane too slow to show a difference at all */
    ROUNDS_MOST = 20000,
    CHECK_EVERY = 10, /* rounds at first; later every tenth more of those there are */
};

/* What is set aside for a lane that needs less than an even share; 0: it needs that. */
static double reserved_for(const struct assay_lane *lane, double even)
{
    if (lane->slow)
        return fmax(SLOW_SHARE * even, lane->spent_ns);
    return lane->satisfied ? lane->spent_ns : 0;
}

double engine_share(const assay_engine *e, const struct assay_lane *lane)
{
    double even = e->options.budget_ns / (double)e->n_contenders, reserved = 0;
    int64_t n_modest = 0;
    if (lane->slow && !lane->overtime)
        return SLOW_SHARE * even;
    for (int64_t i = 0; i < e->n_lanes; i++) {
        double set_aside = e->lanes[i].probe ? 0 : reserved_for(&e->lanes[i], even);
        n_modest += set_aside > 0;
        reserved += set_aside;
    }
    int64_t n_others = assay_max(e->n_contenders - n_modest, 1);
    return fmax(even, (e->options.budget_ns - reserved) / (double)n_others);
}

/* The baseline never is: what it does not take part in has no ratio. Nor is what runs in another
 * process: a user's kernel is what the run is for, and is asked questions in its samples. */
void engine_find_slow_lanes(assay_engine *e)
{
    if (e->options.baseline < 0)
        return;
    const struct assay_lane *baseline = &e->lanes[e->options.baseline];
    for (int64_t i = 0; i < e->n_lanes && baseline->status == ASSAY_OK; i++) {
        struct assay_lane *lane = &e->lanes[i];
        lane->slow = !lane->probe && lane->device == e->device &&
                     lane->call_ns > MUCH_SLOWER * baseline->call_ns;
    }
}

/* How many samples a lane takes even when it has used up its share of the budget. */
static int64_t least_samples(const assay_engine *e, const struct assay_lane *lane)
{
    bool hopeless = lane->call_ns * ASSAY_STATS_FEWEST_ROUNDS > 4 * e->options.budget_ns;
    return hopeless ? ROUNDS_FEWEST : ASSAY_STATS_FEWEST_ROUNDS;
}

bool engine_rests(const assay_engine *e, const struct assay_lane *lane)
{
    if (lane->status != ASSAY_OK)
        return true;
    if (e->options.rounds > 0 && !e->options.within_budget)
        return false;
    double share = engine_share(e, lane);
    if (lane->overtime)
        share *= OVERTIME;
    return lane->spent_ns >= share && lane->taken >= least_samples(e, lane);
}

/* The baseline takes part in every ratio that is still open. One that is taken at several places
 * has few rounds at each. */
bool engine_sits_out(const assay_engine *e, const struct assay_lane *lane)
{
    return lane->satisfied && lane - e->lanes != e->options.baseline && lane->places <= 1 &&
           e->options.rounds == 0 && e->rounds % SATISFIED_EVERY != 0;
}

/* Two figures may be known well while it is still open which of them is the smaller. Clearly
 * different, or the same within half of what was asked for or what counts as equal: that is an
 * answer, and one that equals reach whatever was asked for. */
static bool is_decided(const assay_engine *e, const struct assay_ratio *ratio, double luck)
{
    double goal = e->options.precision;
    return ratio->n >= ASSAY_STATS_FEWEST_ROUNDS && ratio->ci_frac <= goal &&
           (ratio->clear || ratio->smallest_visible <= fmax(goal / 2, ASSAY_STATS_EQUAL) + luck);
}

/* What the places of the judge and of a runner may do to a ratio. */
static double luck_between(const struct assay_lane *base, const struct assay_lane *mine)
{
    bool apart = base->device != mine->device &&
                 assay_kernel_is_elsewhere(base->kernel) != assay_kernel_is_elsewhere(mine->kernel);
    return apart ? ASSAY_STATS_APART : 0;
}

/* How two lanes are compared by places, if they are: then there are several. */
static struct assay_places places_of(const struct assay_lane *base, const struct assay_lane *mine)
{
    struct assay_places places = {.luck = luck_between(base, mine)};
    if (base->device != mine->device && base->places == mine->places) {
        places.n = mine->places;
        places.block = mine->place_rounds;
    }
    return places;
}

void assay_engine_compare(const struct assay_lane *base, const struct assay_lane *mine,
                          int64_t rounds, double *scratch, struct assay_ratio *out)
{
    assay_stats_ratio_by_place(base->samples, mine->samples, rounds, places_of(base, mine), scratch,
                               out);
}

static struct assay_ratio ratio_of(assay_engine *e, int64_t index)
{
    struct assay_ratio ratio;
    assay_engine_compare(&e->lanes[e->options.baseline], &e->lanes[index], e->rounds, e->scratch,
                         &ratio);
    return ratio;
}

/* Is this lane's ratio to the baseline known well enough? A resting baseline gives no more ratios:
 * waiting for them would waste the budget. */
static bool is_compared(assay_engine *e, int64_t index)
{
    int64_t baseline = e->options.baseline;
    if (baseline < 0 || baseline == index || engine_rests(e, &e->lanes[baseline]))
        return true;
    struct assay_ratio ratio = ratio_of(e, index);
    return is_decided(e, &ratio, luck_between(&e->lanes[baseline], &e->lanes[index]));
}

/* Would more rounds tell whether they differ? Places differ more than rounds do, so intervals by
 * places are wide at first: there the ratio itself says whether it is worth asking. */
static bool is_open(const struct assay_lane *base, const struct assay_lane *lane,
                    const struct assay_ratio *ratio)
{
    struct assay_places places = places_of(base, lane);
    if (ratio->n < ASSAY_STATS_FEWEST_ROUNDS) /* hopeless: it takes no more than these */
        return false;
    if (lane->taken < ENGINE_ROUNDS_LEAST)
        return !ratio->significant;
    bool seems = places.n > 1 ? fabs(ratio->ratio - 1) >= fmax(ASSAY_STATS_EQUAL, places.luck)
                              : ratio->likely;
    return seems && !ratio->clear;
}

/* A slow lane that is about to rest and whose difference is not significant has an even share after
 * all. */
static void review_slow_lanes(assay_engine *e)
{
    for (int64_t i = 0; i < e->n_lanes; i++) {
        struct assay_lane *lane = &e->lanes[i];
        if (!lane->slow || lane->reviewed || lane->status != ASSAY_OK || !engine_rests(e, lane))
            continue;
        lane->reviewed = true;
        lane->slow = ratio_of(e, i).significant;
    }
}

/* The budget is spent: whoever's ratio to the baseline is open goes on with it, until it is not or
 * the overtime is spent too. */
static void allot_overtime(assay_engine *e)
{
    int64_t baseline = e->options.baseline;
    bool any = false;
    if (!e->options.overtime || baseline < 0)
        return;
    for (int64_t i = 0; i < e->n_lanes; i++) {
        struct assay_lane *lane = &e->lanes[i];
        if (lane->probe || i == baseline || lane->status != ASSAY_OK)
            continue;
        struct assay_ratio ratio = ratio_of(e, i);
        lane->overtime = is_open(&e->lanes[baseline], lane, &ratio);
        any = any || lane->overtime;
    }
    e->lanes[baseline].overtime = any;
}

/* Is the variant's ratio to each probe known well enough? */
static bool is_probed_enough(assay_engine *e, const struct assay_lane *lane)
{
    bool enough = true;
    for (int64_t i = 0; i < e->n_lanes && enough; i++) {
        const struct assay_lane *probe = &e->lanes[i];
        struct assay_ratio ratio;
        if (!probe->probe || probe->status != ASSAY_OK)
            continue;
        assay_stats_ratio(probe->samples, lane->samples, e->rounds, e->scratch, &ratio);
        enough = probe->taken >= ASSAY_STATS_FEWEST_ROUNDS &&
                 ratio.ci_frac <= PROBE_GOALS * e->options.precision;
    }
    return enough;
}

bool engine_all_done(assay_engine *e)
{
    bool done = true;
    for (int64_t i = 0; i < e->n_lanes; i++) {
        struct assay_lane *lane = &e->lanes[i];
        if (lane->probe)
            continue;
        lane->precise =
            assay_stats_precision(lane->samples, e->rounds, e->scratch) <= e->options.precision;
        bool rested = engine_rests(e, lane);
        lane->satisfied =
            lane->precise && is_compared(e, i) && (rested || is_probed_enough(e, lane));
        done = done && (rested || lane->satisfied);
    }
    return done;
}

static bool all_rest(const assay_engine *e)
{
    for (int64_t i = 0; i < e->n_lanes; i++)
        if (!e->lanes[i].probe && !engine_rests(e, &e->lanes[i]))
            return false;
    return true;
}

bool engine_finished(assay_engine *e)
{
    review_slow_lanes(e);
    if (e->options.rounds > 0)
        return e->rounds >= e->options.rounds || all_rest(e);
    if (!e->overtime && all_rest(e)) {
        e->overtime = true;
        e->next_check = e->rounds;
    }
    if (e->overtime && e->rounds >= e->next_check)
        allot_overtime(e);
    if (e->rounds >= ROUNDS_MOST || all_rest(e))
        return true;
    if (e->rounds < e->next_check)
        return false;
    e->next_check += e->rounds / 10 > CHECK_EVERY ? e->rounds / 10 : CHECK_EVERY;
    return engine_all_done(e);
}
