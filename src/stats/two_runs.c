#include "stats/two_runs.h"

#include <assert.h>
#include <math.h>

/* Quantiles of the normal distribution at 99.8 % and 99.98 %, over that at 95 %: 3.0902, 3.7190 and
 * 1.9600, both sides taken. */
static const double TO_SIGNIFICANT = 1.57666, TO_CLEAR = 1.89746;

bool assay_stats_median_is_sound(const struct assay_median *m)
{
    return m->ci.lo > 0 && m->ci.lo <= m->median && m->median <= m->ci.hi && isfinite(m->ci.hi);
}

/* How far the ratio may be below and above, as factors: their logarithms. */
struct distances {
    double below, above;
};

/* The ratio falls where the old median is smaller or the new one larger, and the other way round.
 * Independent distances add as squares: Zou and Donner, "Construction of confidence limits about
 * effect measures", Statistics in Medicine 27 (2008), of intervals that need not be symmetric. */
static struct distances combine(const struct assay_median *a, const struct assay_median *b)
{
    return (struct distances){
        .below = hypot(log(a->median / a->ci.lo), log(b->ci.hi / b->median)),
        .above = hypot(log(a->ci.hi / a->median), log(b->median / b->ci.lo)),
    };
}

static struct assay_interval around(double ratio, struct distances d, double widened)
{
    return (struct assay_interval){ratio * exp(-d.below * widened), ratio * exp(d.above * widened)};
}

static bool leaves_out(struct assay_interval interval, struct assay_interval luck, double ratio)
{
    return fabs(ratio - 1) >= ASSAY_STATS_EQUAL && (interval.lo > luck.hi || interval.hi < luck.lo);
}

void assay_stats_ratio_of_runs(const struct assay_median *old_run,
                               const struct assay_median *new_run, struct assay_interval luck,
                               struct assay_ratio *out)
{
    assert(luck.lo <= 1 && luck.hi >= 1);
    struct distances d = combine(old_run, new_run);
    double ratio = old_run->median / new_run->median;
    struct assay_interval wide = around(ratio, d, TO_SIGNIFICANT);
    *out = (struct assay_ratio){
        .n = old_run->n < new_run->n ? old_run->n : new_run->n,
        .ratio = ratio,
        .ci = around(ratio, d, 1),
        .smallest_visible = (double)INFINITY,
    };
    out->ci_frac = (out->ci.hi - out->ci.lo) / 2 / ratio;
    out->likely = leaves_out(out->ci, luck, ratio);
    if (out->n < ASSAY_STATS_FEWEST_ROUNDS)
        return;
    out->significant = leaves_out(wide, luck, ratio);
    out->clear = leaves_out(around(ratio, d, TO_CLEAR), luck, ratio);
    /* As of a ratio of rounds: the least change that would have moved the interval out of luck. */
    double visible = fmax(luck.hi * ratio / wide.lo - 1, 1 - luck.lo * ratio / wide.hi);
    out->smallest_visible = fmax(visible, ASSAY_STATS_EQUAL);
}
