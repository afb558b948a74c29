#include "stats/ratio_distances.h"

#include <assert.h>
#include <math.h>

/* Quantiles of the normal distribution at 99.8 % and 99.98 %, over that at 95 %: 3.0902, 3.7190 and
 * 1.9600, both sides taken. */
static const double TO_SIGNIFICANT = 1.57666, TO_CLEAR = 1.89746;

static struct assay_interval around(double ratio, struct assay_ratio_distances d, double widened)
{
    return (struct assay_interval){ratio * exp(-d.below * widened), ratio * exp(d.above * widened)};
}

static bool leaves_out(struct assay_interval interval, struct assay_interval luck, double ratio)
{
    return fabs(ratio - 1) >= ASSAY_STATS_EQUAL && (interval.lo > luck.hi || interval.hi < luck.lo);
}

void assay_stats_judge_distances(double ratio, struct assay_ratio_distances d,
                                 struct assay_interval luck, struct assay_ratio *out)
{
    assert(luck.lo <= 1 && luck.hi >= 1);
    struct assay_interval wide = around(ratio, d, TO_SIGNIFICANT);
    out->ratio = ratio;
    out->ci = around(ratio, d, 1);
    out->ci_frac = (out->ci.hi - out->ci.lo) / 2 / ratio;
    out->likely = leaves_out(out->ci, luck, ratio);
    out->significant = leaves_out(wide, luck, ratio);
    out->clear = leaves_out(around(ratio, d, TO_CLEAR), luck, ratio);
    /* As of a ratio of rounds: the least change that would have moved the interval out of luck. */
    double visible = fmax(luck.hi * ratio / wide.lo - 1, 1 - luck.lo * ratio / wide.hi);
    out->smallest_visible = fmax(visible, ASSAY_STATS_EQUAL);
}
