#include "stats/ratio_mean.h"

#include "stats/ratio_distances.h"

#include <math.h>

static bool has_interval(const struct assay_ratio *r)
{
    return r->n >= ASSAY_STATS_FEWEST_ROUNDS && r->ratio > 0 && isfinite(r->ratio) &&
           r->ci.lo > 0 && r->ci.lo <= r->ratio && r->ci.hi >= r->ratio && isfinite(r->ci.hi);
}

bool assay_ratio_sum_add(struct assay_ratio_sum *sum, const struct assay_ratio *ratio, double luck)
{
    if (!has_interval(ratio))
        return false;
    double below = log(ratio->ratio / ratio->ci.lo), above = log(ratio->ci.hi / ratio->ratio);
    sum->n++;
    sum->logs += log(ratio->ratio);
    sum->below += below * below;
    sum->above += above * above;
    sum->luck = fmax(sum->luck, luck);
    return true;
}

/* The mean divides the sum of the logarithms, and so their errors, by n. */
void assay_ratio_sum_mean(const struct assay_ratio_sum *sum, struct assay_ratio *out)
{
    double n = (double)sum->n;
    *out = (struct assay_ratio){.n = sum->n};
    if (sum->n > 0)
        assay_stats_judge_distances(
            exp(sum->logs / n),
            (struct assay_ratio_distances){sqrt(sum->below) / n, sqrt(sum->above) / n},
            (struct assay_interval){1 - sum->luck, 1 + sum->luck}, out);
}
