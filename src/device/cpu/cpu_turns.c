#include "device/cpu/cpu_turns.h"

#include "stats/stats.h"

#include <math.h>
#include <string.h>

/* Ways this much slower than the fastest are out: at first sight, and by a share that falls with
 * the number of turns, as the error of a median does (8 % after three, 2 % after twelve). */
static const double KEPT_FIRST = 1.5, KEPT_SHARE = 0.25;
/* Of ways that differ by less than this the first is taken. Simple loops come first: a triad with
 * two streams, 1 % faster when it was chosen, took 35 % longer for a second at a time, beside
 * kernels with one stream that did not. */
static const double AS_FAST = 1.02;

static double median_slowness(const struct assay_cpu_turns *t, int32_t way)
{
    double sorted[ASSAY_CPU_TURNS];
    memcpy(sorted, t->ways[way].slowness, sizeof sorted);
    assay_stats_sort(sorted, t->taken);
    return assay_stats_quantile(sorted, t->taken, 0.5);
}

static double least_slowness(const struct assay_cpu_turns *t)
{
    double least = (double)INFINITY;
    for (int32_t i = 0; i < t->n; i++)
        if (!t->ways[i].out)
            least = fmin(least, median_slowness(t, i));
    return least;
}

int32_t assay_cpu_turns_fastest(const struct assay_cpu_turns *t)
{
    double limit = AS_FAST * least_slowness(t);
    int32_t fastest = 0;
    while (fastest < t->n - 1 && (t->ways[fastest].out || median_slowness(t, fastest) > limit))
        fastest++;
    return fastest;
}

/* By the best median, not by 1: where each turn has another winner, all medians are above it. */
static void drop_slower(struct assay_cpu_turns *t)
{
    double kept = t->taken < 3 ? KEPT_FIRST : 1 + KEPT_SHARE / t->taken;
    double limit = kept * least_slowness(t);
    for (int32_t i = 0; i < t->n; i++)
        t->ways[i].out = t->ways[i].out || median_slowness(t, i) > limit;
}

bool assay_cpu_turns_decided(const struct assay_cpu_turns *t)
{
    int32_t left = 0;
    for (int32_t i = 0; i < t->n; i++)
        left += !t->ways[i].out;
    return left <= 1 || t->taken >= ASSAY_CPU_TURNS;
}

void assay_cpu_turns_take(struct assay_cpu_turns *t, const double *ns)
{
    double least = (double)INFINITY;
    for (int32_t i = 0; i < t->n; i++)
        if (!t->ways[i].out)
            least = fmin(least, ns[i]);
    for (int32_t i = 0; i < t->n; i++)
        t->ways[i].slowness[t->taken] = t->ways[i].out ? (double)INFINITY : ns[i] / least;
    t->taken++;
    drop_slower(t);
}
