#include "stats/two_runs.h"

#include "stats/ratio_distances.h"

#include <math.h>

bool assay_stats_median_is_sound(const struct assay_median *m)
{
    return m->ci.lo > 0 && m->ci.lo <= m->median && m->median <= m->ci.hi && isfinite(m->ci.hi);
}

/* The ratio falls where the old median is smaller or the new one larger, and the other way round.
 */
static struct assay_ratio_distances combine(const struct assay_median *a,
                                            const struct assay_median *b)
{
    return (struct assay_ratio_distances){
        .below = hypot(log(a->median / a->ci.lo), log(b->ci.hi / b->median)),
        .above = hypot(log(a->ci.hi / a->median), log(b->median / b->ci.lo)),
    };
}

void assay_stats_ratio_of_runs(const struct assay_median *old_run,
                               const struct assay_median *new_run, struct assay_interval luck,
                               struct assay_ratio *out)
{
    *out = (struct assay_ratio){.n = old_run->n < new_run->n ? old_run->n : new_run->n};
    assay_stats_judge_distances(old_run->median / new_run->median, combine(old_run, new_run), luck,
                                out);
    if (out->n < ASSAY_STATS_FEWEST_ROUNDS) {
        out->significant = out->clear = false;
        out->smallest_visible = (double)INFINITY;
    }
}
