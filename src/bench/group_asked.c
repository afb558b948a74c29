/* group_asked.c: does a stranger's time depend on what it remembers, on how many calls it is asked
 * for, or on who reads the clock?
 *
 * A kernel that recognises its inputs, by a checksum of what it has seen or by one that somebody
 * wrote into it, gives right outputs always. Only the time tells. While it is timed, a part of its
 * samples, which nobody can foresee, finds other values where the inputs are, and their outputs are
 * compared with the reference: answers kept by address, by number or by time are wrong then. After
 * that samples of the same length are taken on values that it has seen and on ones that it has not:
 * all that differs between the two is what the kernel remembers. One that is honest when it notices
 * this is found by samples that are taken as those were that are reported.
 *
 * One thing an honest kernel remembers is in the CPU: how the branches went. Random branches before
 * a call clear that history, and where inputs are so small that it could matter, the difference
 * must be larger. And a few values may be cheaper than a few others in all of a sample's thousands
 * of calls, while who remembers is slow in the first alone: samples of a single call tell which. */
#include "bench/group_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/load.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TRIALS = 3, PAIRS = 5, MOST_PAIRS = 15, TIMES = 8, TRIES = 160 };
/* Of each kind of values, how often noise would have to come again, and how often samples may leave
 * it open. */
enum { LEAST = 7, LEAST_LONG = 3, ASK_TRIALS = 3, ASK_TRIALS_LONG = 2, OPEN_TRIALS = 3 };
enum { ONE_IN = 4 }; /* samples */
/* Calls: then a set that was just written weighs too little to matter. */
enum { COUNTED_FROM = 16 };
static const size_t SMALL_BYTES = 32768, LEARNT_BYTES = 256 << 10;
/* A sample on new values takes so much longer than one on known ones: by this share of a call, and
 * so many ns. Of small inputs the CPU may remember which way the branches went. Of those that were
 * there a thousand times it does up to 64 KB and more (a gelu: 89 us on them, 130 on any others),
 * and takes 70 calls of 0.2 us to learn others: so many times as much. Where it can, differences of
 * a whole sample's calls must be all of it. */
static const double MUCH = 0.5, MUCH_SMALL = 2, MUCH_OFTEN = 4, MUCH_PRIMED = 2, MUCH_AGAIN = 8,
                    LEAST_GAIN_NS = 1000, SINGLE_GAIN_NS = 2000;
/* Between a GPU's events and its work lie the host's launches, which are as fast as its caches are
 * warm: 6 to 23 us in three samples of seven each. */
static const double LEAST_GAIN_QUEUED_NS = 30e3;
/* Those of the calls right before: beyond what other caches cost, and threads that have to wake. */
static const double PRIMED_GAIN_NS = 300e3, PRIMED_GAIN_THREADS_NS = 500e3,
                    PRIMED_GAIN_QUEUED_NS = 50e3;
/* Samples so long need fewer of them, and a larger difference: noise is small beside them. */
static const double LONG_NS = 20e6, MUCH_LONG = 1;
/* Calls in a sample TIMES as long take less than this of those in an ordinary one. Branches are
 * learnt once a sample: a relu that jumps took 68 us a call in 4 of them, and half of that in 32.
 * Of samples so short that what is paid once a run may be most of them, ones that ought to be TIMES
 * as long as this are taken: thousands of calls of 2 ns are a third of those, with 40 us paid once.
 */
static const double ONCE = 0.6, ONCE_LEARNT = 0.4, ONCE_SHORT = 0.2, LEAST_SAMPLE_NS = 50e3;
/* Or what is paid once is this share of an ordinary sample, and so much, and as many calls: threads
 * that wake and branches that are learnt are paid for sooner. A gelu of 64 KB once a sample: 40 us,
 * a fifth of one, and then calls of 1 ns. */
static const double ONCE_SHARE = 0.1, ONCE_NS = 20e3, ONCE_CALLS = 1000;
/* An interpreter whose core others use in between finds its caches cold: on a busy machine seven
 * calls of PyTorch paid 64 us once, 2.6 us each, and two of a gradient 227 us. Below this the row
 * then says that it was not asked. */
static const double BUSY_NS = 500e3;
/* The judge's clock may have seen so much more than was claimed; a GPU's launches cost the host. */
static const double CLAIM = 1.25, EXCESS = 0.25, LAUNCH_NS = 20000;
/* An interpreter reads clocks as easily as anything: who computes when some time went by since the
 * last call does so after new values, which take time to write. So before samples on the same ones
 * as much goes by. Then caches are cold: a relu of 30 values with a gradient paid 31 us for that.
 */
static const int64_t PAUSE_NS = 3000000;
static const double PAUSED_NS = 100e3, PAUSED_CALLS = 300, PAUSED_TWICE = 2;
enum { PAUSED_FROM = 100 }; /* calls */
/* A sample whose threads waited for a core, for more than this share of it, tells nothing. */
static const double WAITED = 0.05;
/* Up to so many bytes new values and known ones are written both, whichever are to stay: neither
 * kind of sample then comes after a longer rest. */
static const size_t BOTH_WRITTEN = 1 << 20;
/* What may be spent on samples that only ask: of the lane's time, and of the budget afterwards. */
static const double SHARE = 0.2, SHARE_AFTER = 0.5, AFTER_LEAST_NS = 3e9;

static struct variant *variant_of(const struct lane_map *map, int64_t lane)
{
    return &map->group->variants[map->variant[lane]];
}

static bool may_spend(const struct lane_map *map, int64_t index)
{
    const struct assay_lane *lane = &map->lanes[index];
    const struct spot *spot = &map->spots[index];
    return spot->done < 3 || spot->spent_ns < SHARE * lane->spent_ns;
}

/* One that finds other values is counted where the calls before it, or many of its own, make what
 * was just written no matter; else it comes on top. */
enum assay_look assay_group_ask(struct lane_map *map, int64_t index)
{
    struct asked *a = &map->asked[index];
    const struct assay_lane *lane = &map->lanes[index];
    bool early = lane->taken < 3 && map->spots[index].done < 2;
    a->put = may_spend(map, index) && (early || assay_rng_below(&map->group->secret, ONE_IN) == 0);
    if (!a->put)
        return ASSAY_LOOK_AWAY;
    return lane->iters >= COUNTED_FROM ? ASSAY_LOOK_COUNTED : ASSAY_LOOK_ASIDE;
}

/* Of the kinds that are possible the one that was asked about the least. */
static int next_kind(struct group *g, const struct asked *a, enum assay_values now)
{
    int first = (int)assay_rng_below(&g->secret, ASKED_KINDS), next = -1;
    for (int i = 0; i < ASKED_KINDS; i++) {
        int kind = (first + i) % ASKED_KINDS;
        bool possible = kind == ASSAY_VALUES_FRESH || kind == ASKED_PRIMED ||
                        (kind == ASKED_AGAIN ? now != ASSAY_VALUES_FRESH : kind != (int)now);
        if (possible && (next < 0 || a->n[kind] < a->n[next]))
            next = kind;
    }
    return next;
}

static void put_values(struct group *g, struct variant *v, struct asked *a, int64_t set)
{
    enum assay_values now = assay_operands_values(v->operands, set);
    enum assay_values values = a->kind == ASKED_AGAIN ? now : (enum assay_values)a->kind;
    bool both = assay_operands_others_bytes(g->op, &g->problem) / 2 <= BOTH_WRITTEN;
    if (both && values == ASSAY_VALUES_FRESH)
        assay_operands_put(v->operands, set, true);
    else if (both)
        assay_operands_put_fresh(v->operands, set, assay_rng_next(&g->secret));
    if (values == ASSAY_VALUES_FRESH &&
        assay_operands_put_fresh(v->operands, set, assay_rng_next(&g->secret)))
        return;
    if (both || a->kind == ASKED_AGAIN)
        assay_operands_put(v->operands, set, values != ASSAY_VALUES_USUAL);
    else
        assay_operands_put_alike(v->operands, set, values != ASSAY_VALUES_USUAL);
    if (values == ASSAY_VALUES_FRESH)
        a->kind = ASSAY_VALUES_OTHERS;
}

/* While it is timed: the others where it holds the usual ones, and back. */
void assay_group_ask_before(struct lane_map *map, int64_t index)
{
    struct variant *v = variant_of(map, index);
    int64_t set = map->spots[index].set;
    if (map->asked[index].put)
        assay_operands_put(v->operands, set,
                           assay_operands_values(v->operands, set) != ASSAY_VALUES_OTHERS);
}

void assay_group_ask_after(struct lane_map *map, int64_t index) { map->asked[index].put = false; }

/* ---- afterwards ---- */

static bool has_waited(const struct assay_timing *timing)
{
    double waited = (double)(timing->after.waited_ns - timing->before.waited_ns);
    return waited > WAITED * timing->device_ns;
}

static void note_sample(struct asked *a, const struct assay_timing *timing)
{
    if (!has_waited(timing))
        a->ns[a->kind][a->n[a->kind]++ % ASKED_MOST] = timing->device_ns;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The one of this rank; 0 is the smallest. */
static double ranked(const double *values, int64_t n, int64_t rank)
{
    double sorted[ASKED_MOST];
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    return sorted[rank];
}

static double median(const double *values, int64_t n) { return ranked(values, n, n / 2); }

static int64_t count(const struct asked *a, int kind)
{
    return a->n[kind] < ASKED_MOST ? a->n[kind] : ASKED_MOST;
}

static double median_on(const struct asked *a, int kind)
{
    return median(a->ns[kind], count(a, kind));
}

static bool is_long(const struct asked *a)
{
    int64_t n = count(a, ASSAY_VALUES_FRESH);
    return n > 0 && ranked(a->ns[ASSAY_VALUES_FRESH], n, 0) > LONG_NS;
}

static int64_t least_of(const struct asked *a) { return is_long(a) ? LEAST_LONG : LEAST; }

/* How the samples on new values lie to those on known ones: by how much longer their median is;
 * whether all but one of them took longer than all but one; whether each took longer than the
 * median of the others, by half of the difference. What else goes on makes a sample longer and
 * never shorter, so the last holds on a busy machine too. */
struct lag {
    double extra_ns;
    bool apart, surely;
};

static struct lag lag_behind(const struct asked *a, int known)
{
    const double *fresh = a->ns[ASSAY_VALUES_FRESH];
    int64_t n = count(a, known), n_fresh = count(a, ASSAY_VALUES_FRESH);
    double usual = median_on(a, known), extra = median(fresh, n_fresh) - usual;
    return (struct lag){.extra_ns = extra,
                        .apart = ranked(fresh, n_fresh, 1) > ranked(a->ns[known], n, n - 2),
                        .surely = ranked(fresh, n_fresh, 0) - usual > extra / 2};
}

enum finding { CLEAR, OPEN /* it seems so, but samples overlap */, GUILTY };

/* What counts as a difference for a lane. */
struct yardstick {
    const struct assay_lane *lane;
    double much, least_ns, primed_ns;
    double of_sample; /* a large one, on few values in many calls: so much of a sample */
    bool learnt;      /* by a CPU's predictor: small differences are those of single calls */
};

static struct yardstick yardstick_of(const struct lane_map *map, int64_t index)
{
    const struct group *g = map->group;
    const struct assay_lane *lane = &map->lanes[index];
    size_t bytes = assay_operands_others_bytes(g->op, &g->problem) / 2;
    bool threads = map->group->variants[map->variant[index]].problem.threads > 1;
    bool on_host = assay_device_shares_memory(g->bench->host.device), hot = lane->n_sets == 1;
    bool small = bytes < SMALL_BYTES, learnt = on_host && hot && bytes < LEARNT_BYTES;
    double much = small ? MUCH_SMALL : MUCH;
    double rest_ns = on_host ? PRIMED_GAIN_NS : PRIMED_GAIN_QUEUED_NS;
    return (struct yardstick){.lane = lane,
                              .much = is_long(&map->asked[index]) ? fmax(much, MUCH_LONG) : much,
                              .least_ns = on_host ? LEAST_GAIN_NS : LEAST_GAIN_QUEUED_NS,
                              .primed_ns = threads ? PRIMED_GAIN_THREADS_NS : rest_ns,
                              .of_sample = learnt         ? 1
                                           : hot && small ? 0.5
                                                          : 0,
                              .learnt = learnt};
}

/* Does it answer these values from memory? A small difference must be clear, and is one only on
 * values that the predictor does not know: the usual ones were there a thousand times, and small
 * ones it learns over many calls of a hot sample. The calls right before have taught it all of a
 * sample: its branches took 100 us in a gelu of 64 KB, and 200 without. */
static enum finding recalls(const struct asked *a, int known, const struct yardstick *y)
{
    struct lag lag = lag_behind(a, known);
    double iters = (double)y->lane->iters, call_ns = median_on(a, known) / iters;
    double large = fmax(MUCH_OFTEN * y->much, y->of_sample * iters);
    bool is_large = lag.extra_ns > large * call_ns;
    if (lag.extra_ns <= y->least_ns)
        return CLEAR;
    if (known == ASKED_PRIMED)
        return lag.surely && lag.extra_ns > MUCH_PRIMED * iters * call_ns &&
                       lag.extra_ns > y->primed_ns
                   ? GUILTY
                   : CLEAR;
    if (known == ASSAY_VALUES_OTHERS && !y->learnt && lag.apart && lag.extra_ns > y->much * call_ns)
        return GUILTY;
    return !is_large ? CLEAR : lag.apart || lag.surely ? GUILTY : OPEN;
}

/* Of all kinds of values the worst, and which these are. */
static enum finding recalled(const struct asked *a, const struct yardstick *y, int *kind)
{
    enum finding worst = CLEAR;
    for (int k = 0; k < ASKED_KINDS; k++) {
        if (k == ASSAY_VALUES_FRESH || a->n[k] < least_of(a))
            continue;
        enum finding found = recalls(a, k, y);
        if (found > worst) {
            worst = found;
            *kind = k;
        }
    }
    return worst;
}

/* Does a single call on new values take longer than one on these? The new ones and the others are
 * variations of the same, and branch alike; what was there before may be the usual ones. */
static enum finding recalls_singly(const struct asked *singles, int known, double call_ns,
                                   const struct yardstick *y)
{
    struct lag lag = lag_behind(singles, known);
    double much = known == ASKED_AGAIN ? MUCH_AGAIN : y->much;
    bool large = lag.extra_ns > SINGLE_GAIN_NS && lag.extra_ns > much * call_ns;
    return !large ? CLEAR : lag.apart || lag.surely ? GUILTY : OPEN;
}

static bool is_guest(const struct variant *v)
{
    return v->runner && assay_runner_has_guest(v->runner);
}

static void pause_ns(int64_t ns)
{
    struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
}

/* One sample: a call, then `iters` that are timed. In between come values, which `a` says, or
 * nothing without it, or, for a primed one, not even time. False: it failed. */
static bool take_sample(struct lane_map *map, int64_t index, int64_t iters, struct asked *a,
                        struct assay_timing *timing)
{
    struct group *g = map->group;
    struct variant *v = variant_of(map, index);
    struct assay_lane *lane = &map->lanes[index];
    struct assay_work work = {.iters = 1, .n_sets = lane->n_sets, .sets = lane->sets};
    enum assay_status status = ASSAY_OK;
    work.first = lane->next_set % lane->n_sets;
    struct assay_work timed = work;
    timed.first = (work.first + 1) % lane->n_sets;
    timed.iters = iters;
    int64_t set = assay_group_choose_set(g, v, &timed);
    if (a)
        a->kind = next_kind(g, a, assay_operands_values(v->operands, set));
    bool primed = a && a->kind == ASKED_PRIMED;
    if (primed && v->device->driver->prime)
        v->device->driver->prime(v->device, 1);
    else
        status = assay_group_call(g, v, &work, timing);
    if (a && !primed) {
        put_values(g, v, a, set);
        if (g->bench->host.device->driver->wash)
            g->bench->host.device->driver->wash(g->bench->host.device, assay_rng_next(&g->secret));
    }
    if (!a && map->pauses)
        pause_ns(PAUSE_NS);
    if (status == ASSAY_OK && v->ready)
        status = assay_group_call(g, v, &timed, timing);
    lane->next_set = (timed.first + iters) % lane->n_sets;
    if (assay_group_blame_runner(g, v, " in a timed sample"))
        return false;
    if (status != ASSAY_OK)
        assay_group_failed_run(v, status, "run");
    if (a && v->ready)
        note_sample(a, timing);
    return v->ready;
}

/* Of many sets most hold the usual values: they are there again, and seldom anew. */
static bool asked_enough(const struct asked *a, int64_t n_sets)
{
    bool enough = true;
    for (int i = 0; i < ASKED_KINDS; i++)
        enough = enough && (a->n[i] >= least_of(a) || (i == ASSAY_VALUES_USUAL && n_sets > 1));
    return enough;
}

/* Takes what is missing, in an order that nobody can foresee: who computes the first call cannot
 * know whether it is the only one. False: it failed, there are no fresh values, or time ran out. */
static bool ask_more(struct lane_map *map, int64_t index, struct asked *singles, int64_t end_ns)
{
    struct asked *all = &map->asked[index];
    struct group *g = map->group;
    int64_t n_sets = map->lanes[index].n_sets, iters = map->lanes[index].iters;
    for (int tries = 0; tries < TRIES; tries++) {
        bool one = singles && !asked_enough(singles, n_sets), many = !asked_enough(all, n_sets);
        if (!one && !many)
            return true;
        if (one && many)
            one = assay_rng_below(&g->secret, 2) == 0;
        struct assay_timing timing = {0};
        if (assay_clock_ns() > end_ns || group_stopped(g) ||
            !take_sample(map, index, one ? 1 : iters, one ? singles : all, &timing))
            return false;
    }
    return false;
}

/* What a kernel that answers from memory is told. */
struct recall {
    double fresh_ns, known_ns; /* of a call */
};

static void tell_recalls(struct variant *v, const struct recall *r)
{
    char reason[160], fresh[32], known[32];
    assay_text_time(r->fresh_ns, fresh, sizeof fresh);
    assay_text_time(r->known_ns, known, sizeof known);
    snprintf(reason, sizeof reason,
             "answers known inputs from memory: %s on new values, %s on ones it has seen", fresh,
             known);
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
}

/* One trial, with samples of its own. */
static enum finding try_values(struct lane_map *map, int64_t index, const struct asked *singles,
                               struct recall *out)
{
    struct asked *a = &map->asked[index];
    struct yardstick y = yardstick_of(map, index);
    double iters = (double)y.lane->iters;
    int known = ASSAY_VALUES_USUAL;
    enum finding found = recalled(a, &y, &known);
    if (found == GUILTY) {
        out->known_ns = median_on(a, known) / iters;
        out->fresh_ns = median_on(a, ASSAY_VALUES_FRESH) - out->known_ns * (iters - 1);
    }
    if (found == GUILTY || !y.learnt)
        return found;
    for (int i = 0; i < 2 && found != GUILTY; i++) {
        known = i == 0 ? ASSAY_VALUES_OTHERS : ASKED_AGAIN;
        enum finding singly = recalls_singly(singles, known, median_on(a, known) / iters, &y);
        found = singly > found ? singly : found;
        if (singly == GUILTY)
            *out = (struct recall){.fresh_ns = median_on(singles, ASSAY_VALUES_FRESH),
                                   .known_ns = median_on(singles, known)};
    }
    return found;
}

/* Guilty is who was found so as often as needed; where the samples leave it open, others are taken,
 * and in the end the row says so. */
static void check_values(struct lane_map *map, int64_t index, int64_t end_ns)
{
    struct asked *a = &map->asked[index];
    struct variant *v = variant_of(map, index);
    struct recall recall = {0};
    struct asked one_call = {0}, *singles = yardstick_of(map, index).learnt ? &one_call : NULL;
    int guilty = 0, open = 0, needed = ASK_TRIALS;
    while (guilty < needed && open < OPEN_TRIALS) {
        bool enough = ask_more(map, index, singles, end_ns);
        if (!v->ready)
            return;
        enum finding found = enough ? try_values(map, index, &one_call, &recall) : OPEN;
        if (found == CLEAR)
            return;
        guilty += found == GUILTY;
        open = enough ? open + (found == OPEN) : OPEN_TRIALS;
        needed = is_long(a) ? ASK_TRIALS_LONG : ASK_TRIALS;
        memset(a->n, 0, sizeof a->n);
        memset(one_call.n, 0, sizeof one_call.n);
    }
    if (guilty >= needed)
        tell_recalls(v, &recall);
    else
        v->record.not_asked = true;
}

/* A call's time in samples of the usual length, and in long ones right behind them: of all pairs
 * the one in which the two are the nearest. */
struct stretch {
    int64_t times;            /* as many calls as usual are in a long one */
    double usual_ns, long_ns; /* as claimed, where the long ones are cheapest */
    double once;              /* the most that calls cost in a long one, of those in a usual one */
    double wall;              /* the least that the judge's clock saw, of what was claimed */
    bool busy;                /* others ran meanwhile */
};

/* By the judge's clock, of what was claimed for so many calls. */
static double by_judge(const struct lane_map *map, int64_t index, int64_t calls, double claimed_ns)
{
    const struct variant *v = variant_of(map, index);
    bool on_host = assay_device_shares_memory(map->group->bench->host.device);
    if (!v->runner)
        return 1;
    double ns = assay_runner_worked_ns(v->runner) - assay_runner_idle_ns(v->runner);
    return (ns - (on_host ? 0 : LAUNCH_NS * (double)calls)) / claimed_ns;
}

static double sample_ns(const struct assay_lane *lane)
{
    return lane->call_ns * (double)lane->iters;
}

static bool is_short(const struct assay_lane *lane) { return sample_ns(lane) <= LEAST_SAMPLE_NS; }

static int64_t long_times(const struct assay_lane *lane)
{
    enum { MOST = 1000 };
    double of_short = ceil(TIMES * LEAST_SAMPLE_NS / fmax(sample_ns(lane), 1));
    return is_short(lane) ? (int64_t)fmin(of_short, MOST) : TIMES;
}

/* While the runner rests: do others take half of the cores or more? They need not delay it for
 * that; what runs in the time that is left over only takes its caches. */
static bool machine_is_busy(void)
{
    long running, all;
    return assay_load_threads(&running, &all) && 2 * (running - 1) >= sysconf(_SC_NPROCESSORS_ONLN);
}

/* False where it failed, or waited for a core in so many of them that too few tell anything. */
static bool take_pairs(struct lane_map *map, int64_t index, struct stretch *out)
{
    int64_t iters = map->lanes[index].iters, times = long_times(&map->lanes[index]);
    *out = (struct stretch){.times = times, .once = 0, .wall = (double)INFINITY};
    for (int i = 0, taken = 0; i < MOST_PAIRS; i++) {
        struct assay_timing few = {0}, many = {0};
        if (!take_sample(map, index, iters, NULL, &few) ||
            !take_sample(map, index, times * iters, NULL, &many))
            return false;
        out->busy |= has_waited(&few) || has_waited(&many) || machine_is_busy();
        if (has_waited(&few) || has_waited(&many))
            continue;
        double usual_ns = few.device_ns / (double)iters;
        double long_ns = many.device_ns / (double)(times * iters);
        if (long_ns / usual_ns > out->once) {
            out->once = long_ns / usual_ns;
            out->usual_ns = usual_ns;
            out->long_ns = long_ns;
        }
        out->wall = fmin(out->wall, by_judge(map, index, times * iters, many.device_ns));
        if (++taken == PAIRS)
            return true;
    }
    return false;
}

static void tell_once(struct variant *v, const struct stretch *s, int64_t iters)
{
    char reason[160], one[32], many[32];
    assay_text_time(s->usual_ns, one, sizeof one);
    assay_text_time(s->long_ns, many, sizeof many);
    snprintf(reason, sizeof reason,
             "computes once for all calls of a sample: a call takes %s in %lld, %s in %lld", one,
             (long long)iters, many, (long long)(s->times * iters));
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
}

static void tell_lied(struct variant *v, double by)
{
    char reason[160];
    snprintf(reason, sizeof reason,
             "claims shorter times than went by: %.2f of what it says, by the judge's clock", by);
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
}

/* By two lengths of samples: what is paid in each apart from its calls. */
static double paid_once_ns(const struct stretch *s, int64_t iters)
{
    double n = (double)iters, times = (double)s->times;
    return (s->usual_ns - s->long_ns) * n * times / (times - 1);
}

static bool pays_once(const struct stretch *s, int64_t iters)
{
    double n = (double)iters, paid_ns = paid_once_ns(s, iters);
    return paid_ns > ONCE_NS && paid_ns > ONCE_SHARE * s->usual_ns * n &&
           paid_ns > ONCE_CALLS * s->long_ns;
}

/* What a guest pays once a sample, or outside of its calls, is then no proof. The row says so. */
static bool may_be_cold(struct lane_map *map, int64_t index, bool busy, double paid_ns)
{
    struct variant *v = variant_of(map, index);
    bool on_host = assay_device_shares_memory(map->group->bench->host.device);
    bool cold = busy && is_guest(v) && on_host && paid_ns < BUSY_NS;
    v->record.not_asked |= cold;
    return cold;
}

/* In a hot sample all calls have the same output: one alone would leave the same values there. And
 * who reads the clock in a process may do so as it likes; but not in this one. */
static void check_lengths(struct lane_map *map, int64_t index)
{
    struct variant *v = variant_of(map, index);
    const struct assay_lane *lane = &map->lanes[index];
    bool on_host = assay_device_shares_memory(map->group->bench->host.device);
    /* A GPU's cold samples come behind launches that lead in, which nobody claims. */
    bool all_claimed = on_host || lane->n_sets == 1;
    bool once = lane->iters > 1, lied = v->runner && all_claimed;
    double most = is_short(lane)                    ? ONCE_SHORT
                  : yardstick_of(map, index).learnt ? ONCE_LEARNT
                                                    : ONCE;
    struct stretch s = {0};
    double paid_ns = (double)INFINITY; /* the least */
    bool busy = false;
    for (int trial = 0; trial < TRIALS && (once || lied); trial++) {
        if (!take_pairs(map, index, &s)) {
            v->record.not_asked = v->ready;
            once = lied = false;
            break;
        }
        once = once && (s.once < most || pays_once(&s, lane->iters));
        lied = lied && s.wall > CLAIM;
        paid_ns = fmin(paid_ns, paid_once_ns(&s, lane->iters));
        busy |= s.busy;
    }
    if (once && !may_be_cold(map, index, busy, paid_ns))
        tell_once(v, &s, lane->iters);
    else if (lied)
        tell_lied(v, s.wall);
    else if (v->ready && v->runner && on_host && assay_remote_device_excess(v->device) > EXCESS)
        tell_lied(v, 1 + assay_remote_device_excess(v->device));
}

/* So much longer is a call after a pause than those behind it that it must compute for them. What
 * one of these takes, two samples tell where there are enough of them. */
static bool pays_after_pause(const struct stretch *s, int64_t iters)
{
    double times = (double)s->times, paid_ns = paid_once_ns(s, iters);
    double call_ns = fmax(s->long_ns * times - s->usual_ns, 0) / (times - 1);
    bool for_all = s->long_ns * times < PAUSED_TWICE * s->usual_ns;
    bool for_many = iters >= PAUSED_FROM && paid_ns > PAUSED_CALLS * call_ns;
    return paid_ns > PAUSED_NS && (for_all || for_many);
}

static void check_pauses(struct lane_map *map, int64_t index)
{
    struct variant *v = variant_of(map, index);
    const struct assay_lane *lane = &map->lanes[index];
    bool on_host = assay_device_shares_memory(map->group->bench->host.device);
    bool once = v->ready && is_guest(v) && on_host && lane->iters > 1;
    struct stretch s = {0};
    double paid_ns = (double)INFINITY; /* the least */
    bool busy = false;
    map->pauses = true;
    for (int trial = 0; trial < TRIALS && once; trial++) {
        once = take_pairs(map, index, &s) && pays_after_pause(&s, lane->iters);
        paid_ns = fmin(paid_ns, paid_once_ns(&s, lane->iters));
        busy |= s.busy;
    }
    map->pauses = false;
    if (once && !may_be_cold(map, index, busy, paid_ns))
        tell_once(v, &s, lane->iters);
}

/* An interpreter's kernel returns an object. Who computes when it is looked at, or before the call,
 * does so in commands of their own (READY, FINISH), by the judge's clock. */
static void check_outside(struct lane_map *map, int64_t index)
{
    struct variant *v = variant_of(map, index);
    char reason[160], took[32];
    const struct assay_bench *bench = map->group->bench;
    if (!v->ready || !is_guest(v) || v->ours || !assay_device_shares_memory(bench->host.device))
        return;
    struct assay_remote_outside outside = assay_remote_device_outside(v->device);
    if (outside.times <= 1 || may_be_cold(map, index, machine_is_busy(), outside.ns))
        return;
    assay_text_time(outside.ns, took, sizeof took);
    snprintf(reason, sizeof reason,
             "computes outside of its calls: %s before and after each sample, by the judge's clock",
             took);
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
}

void assay_group_judge_times(struct lane_map *map, int64_t index)
{
    struct group *g = map->group;
    struct variant *v = variant_of(map, index);
    const struct assay_lane *lane = &map->lanes[index];
    if (!v->ready || lane->status != ASSAY_OK || !group_is_users(g, v) || lane->iters < 1)
        return;
    double budget_ns = fmax(SHARE_AFTER * g->job->settings.budget_s * 1e9, AFTER_LEAST_NS);
    check_outside(map, index);
    bool affordable = PAIRS * (double)(long_times(lane) + 1) * sample_ns(lane) < budget_ns;
    group_step(g, -1);
    if (v->ready && affordable) {
        check_lengths(map, index);
        check_pauses(map, index);
    } else if (v->ready)
        v->record.not_asked = true;
    if (v->ready && assay_operands_have_others(v->operands))
        check_values(map, index, assay_clock_ns() + (int64_t)budget_ns);
    else if (v->ready)
        v->record.not_asked = true;
    group_step(g, -1);
}
