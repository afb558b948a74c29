/* group_spot.c: samples of the timing that are looked at.
 *
 * At moments nobody can foresee a variant is sampled on inputs it has not been timed on, at the
 * same address, while the output still holds that of the usual ones. The kernel sees a call
 * like any other. Right behind the second clock reading the output is copied away and compared with
 * the reference: work that is done later, or was done earlier, does not count.
 *
 * Such a sample of assay's own kernels is not one of the statistics: its inputs were just written,
 * so that they lie in the cache of another core, or in this one's although the measurement is a
 * cold one. group_asked.c chooses the samples of strangers. */
#include "bench/group_internal.h"

#include "base/clock.h"

#include <time.h>

enum { SPOTS_LEAST = 3, SPOTS_MOST = 8, FIRST_WITHIN = 8, FIRST_WITHIN_SLOW = 3 };
/* What looking may take of a lane's time; of the first few, where one is not longer than this, any.
 */
static const double SPOT_SHARE = 0.03, SPOT_CHEAP_NS = 20e6;
/* On a GPU; more where the code is not assay's own. */
static const double COPY_MOST_BYTES = 4e6, USERS_COPY_MOST_BYTES = 128e6;
/* How long, and how often, an output that is not there is waited for, to be able to say that it
 * came late. */
static const int64_t LATE_NS = 20000000;
enum { LATE_LOOKS = 5 };

/* The first one early, so that even the slowest lane has one; then at ever greater distances. */
static int64_t first_spot(const struct lane_map *map, const struct assay_lane *lane)
{
    const struct assay_settings *s = &map->group->job->settings;
    bool slow = lane->call_ns * FIRST_WITHIN > s->budget_s * 1e9;
    int64_t within = slow ? FIRST_WITHIN_SLOW : FIRST_WITHIN;
    if (s->rounds > 0 && s->rounds < within)
        within = s->rounds;
    return assay_rng_below(&map->group->secret, within);
}

/* To and from a device with memory of its own a set is copied as a whole. */
bool assay_group_may_look(const struct group *g)
{
    double most = assay_group_has_users(g) ? USERS_COPY_MOST_BYTES : COPY_MOST_BYTES;
    return assay_device_shares_memory(g->bench->host.device) ||
           (double)assay_operands_bytes(&g->problem, 1) <= most;
}

static bool worth_it(const struct spot *spot, const struct assay_lane *lane)
{
    if (spot->done == 0)
        return true;
    bool cheap = spot->spent_ns < SPOT_CHEAP_NS * (double)spot->done;
    if (spot->done < SPOTS_LEAST && cheap)
        return true;
    return spot->done < SPOTS_MOST && spot->spent_ns < SPOT_SHARE * lane->spent_ns;
}

static struct variant *variant_of(const struct lane_map *map, int64_t lane)
{
    return &map->group->variants[map->variant[lane]];
}

static bool has_others(const struct group *g, const struct variant *v)
{
    return g->recipes[v->recipe].others[0];
}

/* A stranger is asked all the time; assay's own kernels are looked at now and then. */
static bool is_asked(const struct lane_map *map, int64_t lane)
{
    const struct variant *v = variant_of(map, lane);
    return group_is_users(map->group, v) && assay_operands_have_others(v->operands);
}

enum assay_look assay_group_look(void *user, int64_t index)
{
    struct lane_map *map = user;
    if (index >= map->n_lanes || !assay_group_may_look(map->group))
        return ASSAY_LOOK_AWAY;
    if (is_asked(map, index))
        return assay_group_ask(map, index);
    struct spot *spot = &map->spots[index];
    const struct assay_lane *lane = &map->lanes[index];
    if (!spot->planned)
        spot->next = first_spot(map, lane);
    spot->planned = true;
    if (lane->taken < spot->next)
        return ASSAY_LOOK_AWAY;
    spot->next = lane->taken + 1 + assay_rng_below(&map->group->secret, INT64_C(4) << spot->done);
    return worth_it(spot, lane) ? ASSAY_LOOK_ASIDE : ASSAY_LOOK_AWAY;
}

static assay_reference *const *references_for(const struct group *g, const struct variant *v,
                                              bool others)
{
    return others ? g->recipes[v->recipe].others : g->recipes[v->recipe].outputs;
}

/* Where the sets of `work` begin among the operands' own: a hot sample may be taken on any. */
static int64_t first_set(const struct variant *v, const struct assay_work *work)
{
    const struct assay_args *own = assay_operands_sets(v->operands);
    bool inside = work->sets >= own && work->sets < own + assay_operands_n_sets(v->operands);
    return inside ? work->sets - own : 0;
}

int64_t assay_group_choose_set(struct group *g, const struct variant *v,
                               const struct assay_work *work)
{
    int64_t last = work->iters < work->n_sets ? work->iters : work->n_sets;
    int64_t call = work->iters - 1 - assay_rng_below(&g->secret, last);
    return (first_set(v, work) + assay_work_set(work, call)) % assay_operands_n_sets(v->operands);
}

void assay_group_before_sample(void *user, int64_t index, const struct assay_work *work)
{
    struct lane_map *map = user;
    struct group *g = map->group;
    struct variant *v = variant_of(map, index);
    struct spot *spot = &map->spots[index];
    group_step(g, -1);
    spot->began_ns = assay_clock_ns();
    spot->set = assay_group_choose_set(g, v, work);
    if (is_asked(map, index))
        assay_group_ask_before(map, index);
    else if (has_others(g, v))
        assay_operands_put(v->operands, spot->set, true);
    else
        assay_operands_poison(v->operands, spot->set);
    if (!v->runner)
        assay_traces_undo(&g->home, NULL);
}

/* As the host sees it: on a GPU once the set was fetched. */
static const void *output_now(const struct variant *v, int64_t set, int32_t output)
{
    return assay_operands_output(v->operands, set, output);
}

static bool is_right(const struct group *g, const struct variant *v, int64_t set,
                     assay_reference *const *references)
{
    struct assay_comparison c;
    for (int32_t i = 0; i < g->problem.n_outputs && !g->op->unverified; i++) {
        assay_reference_compare(references[i], output_now(v, set, i), &c);
        if (c.mismatches)
            return false;
    }
    return true;
}

bool assay_group_comes_late(const struct group *g, const struct variant *v, int64_t set,
                            assay_reference *const *references)
{
    struct timespec late = {.tv_nsec = LATE_NS};
    bool right = false;
    if (!assay_device_shares_memory(g->bench->host.device) || /* a GPU was at rest before */
        g->op->unverified)
        return false;
    if (!v->runner && assay_traces_threads() <= v->others_threads)
        return false;
    for (int i = 0; i < LATE_LOOKS && !right; i++) {
        if (v->runner)
            assay_runner_let_run(v->runner, LATE_NS);
        else
            nanosleep(&late, NULL);
        right = assay_operands_fetch_outputs(v->operands, set, NULL) == ASSAY_OK &&
                is_right(g, v, set, references);
    }
    return right;
}

bool assay_group_name_mistake(struct group *g, struct variant *v, int64_t set, bool others,
                              const struct assay_comparison *seen, const char *when)
{
    char reason[256];
    bool late = assay_group_comes_late(g, v, set, references_for(g, v, others));
    if (late)
        snprintf(reason, sizeof reason, "had not finished when it returned%s", when);
    else if (has_others(g, v) && is_right(g, v, set, references_for(g, v, !others)))
        snprintf(reason, sizeof reason, "answered with a result kept from other inputs%s", when);
    else if (seen->mismatches == 0) /* nothing was compared */
        snprintf(reason, sizeof reason, "not what was asked for%s", when);
    else
        assay_reference_describe(references_for(g, v, others)[seen->output], seen, when, reason,
                                 sizeof reason);
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
    return late;
}

/* Copies away what there is now, before anything else. */
static void take_snapshots(const struct group *g, const struct variant *v, int64_t set,
                           assay_reference *const *references)
{
    bool here = assay_device_shares_memory(v->device); /* elsewhere all is at rest by now */
    for (int32_t i = 0; i < g->problem.n_outputs && here && g->snapshots[i] && !g->op->unverified;
         i++)
        assay_reference_copy(references[i], output_now(v, set, i), g->snapshots[i]);
}

/* Fetches the set that is looked at. Assay's own kernels are not suspected of doing harm in every
 * sample: all inputs are checked after the timing. So are a stranger's, whose operands are alone.
 */
static void fetch_and_check(struct group *g, struct variant *v, const struct spot *spot)
{
    struct assay_error why = {0};
    char reason[256];
    bool clean = v->runner || assay_traces_undo(&g->home, &why) == ASSAY_TRACE_NONE;
    if (v->runner || !group_is_users(g, v))
        clean = assay_operands_fetch_outputs(v->operands, spot->set, &why) == ASSAY_OK;
    else if (clean)
        clean = assay_operands_check_put(v->operands, spot->set, &why) == ASSAY_OK;
    if (clean || assay_group_blame_runner(g, v, " in a timed sample"))
        return;
    snprintf(reason, sizeof reason, "%.200s in a timed sample", why.message);
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
    assay_operands_repair(v->operands, spot->set);
}

static void judge(struct group *g, struct variant *v, const struct spot *spot, bool others)
{
    assay_reference *const *references = references_for(g, v, others);
    bool here = assay_device_shares_memory(v->device);
    struct assay_comparison c;
    fetch_and_check(g, v, spot);
    if (g->op->unverified) /* but that something was written, and where */
        return;
    for (int32_t i = g->problem.n_outputs - 1; i >= 0 && v->ready; i--) {
        const void *got = here && g->snapshots[i] ? g->snapshots[i] : output_now(v, spot->set, i);
        assay_reference_compare(references[i], got, &c);
        if (c.mismatches)
            assay_group_name_mistake(g, v, spot->set, others, &c, " in a timed sample");
    }
}

/* Of a stranger: is there anything to compare with? Of values whose outputs nobody knows, no. */
static bool is_judged(const struct lane_map *map, int64_t index, const struct variant *v,
                      bool *others)
{
    const struct spot *spot = &map->spots[index];
    enum assay_values values = assay_operands_values(v->operands, spot->set);
    *others = values == ASSAY_VALUES_OTHERS;
    if (!is_asked(map, index))
        return true;
    return map->asked[index].put && values != ASSAY_VALUES_FRESH &&
           (!*others || has_others(map->group, v));
}

bool assay_group_after_sample(void *user, int64_t index, const struct assay_work *work, double ns)
{
    struct lane_map *map = user;
    struct group *g = map->group;
    struct variant *v = variant_of(map, index);
    struct spot *spot = &map->spots[index];
    bool others, judged = is_judged(map, index, v, &others);
    (void)work, (void)ns;
    if (judged)
        take_snapshots(g, v, spot->set, references_for(g, v, others));
    group_step(g, -1);
    if (map->lanes[index].status == ASSAY_OK && judged)
        judge(g, v, spot, others);
    if (is_asked(map, index))
        assay_group_ask_after(map, index);
    else if (others)
        assay_operands_put(v->operands, spot->set, false);
    spot->done++;
    spot->spent_ns += (double)(assay_clock_ns() - spot->began_ns);
    return v->ready;
}
