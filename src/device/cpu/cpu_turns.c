#include "device/cpu/cpu_turns.h"

#include "stats/stats.h"

#include <math.h>
#include <string.h>

/* Candidates this much slower than the fastest, after one turn and after three, are out. */
static const double KEPT_FIRST = 1.5, KEPT = 1.08;

static double median_slowness(const struct assay_cpu_turns *t, int32_t way)
{
    double sorted[ASSAY_CPU_TURNS];
    memcpy(sorted, t->ways[way].slowness, sizeof sorted);
    assay_stats_sort(sorted, t->taken);
    return assay_stats_quantile(sorted, t->taken, 0.5);
}

int32_t assay_cpu_turns_fastest(const struct assay_cpu_turns *t)
{
    int32_t fastest = 0;
    double least = (double)INFINITY;
    for (int32_t i = 0; i < t->n; i++) {
        double slowness = t->ways[i].out ? (double)INFINITY : median_slowness(t, i);
        if (slowness < least) {
            least = slowness;
            fastest = i;
        }
    }
    return fastest;
}

/* By the best median, not by 1: where each turn has another winner, all medians are above it. */
static void drop_slower(struct assay_cpu_turns *t)
{
    double kept = t->taken < 3 ? KEPT_FIRST : KEPT;
    double limit = kept * median_slowness(t, assay_cpu_turns_fastest(t));
    for (int32_t i = 0; i < t->n; i++)
        t->ways[i].out = t->ways[i].out || median_slowness(t, i) > limit;
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
