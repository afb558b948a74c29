/* draw_scale.c: from values to pixels. Values are kept within 1e-300 and 1e300, so that differences
 * and ratios of any two are numbers. */
#include "report/draw/draw_scale.h"

#include <math.h>

static const double LEAST = 1e-300, MOST = 1e300;

void assay_scale_init(struct assay_scale *scale, enum assay_scale_kind kind)
{
    *scale = (struct assay_scale){.kind = kind,
                                  .lo = (double)INFINITY,
                                  .hi = -(double)INFINITY,
                                  .to = 1,
                                  .twos = kind == ASSAY_SCALE_LOG};
}

static bool is_power_of_two(double value)
{
    int exponent;
    return frexp(value, &exponent) == 0.5;
}

void assay_scale_see(struct assay_scale *scale, double value)
{
    bool is_log = scale->kind == ASSAY_SCALE_LOG;
    if (!isfinite(value) || (is_log && !(value > 0)))
        return;
    value = fmax(is_log ? LEAST : -MOST, fmin(MOST, value));
    scale->lo = fmin(scale->lo, value);
    scale->hi = fmax(scale->hi, value);
    scale->twos = scale->twos && is_power_of_two(value);
}

bool assay_scale_is_empty(const struct assay_scale *scale) { return !(scale->lo <= scale->hi); }

struct assay_scale assay_scale_bands(int64_t n, double from, double to)
{
    return (struct assay_scale){
        .kind = ASSAY_SCALE_BAND, .lo = 0, .hi = (double)(n - 1), .from = from, .to = to, .n = n};
}

/* ---- round ends ----------------------------------------------------------------------------- */

double assay_scale_step(double least)
{
    double power = pow(10, floor(log10(least)));
    double digit = least / power;
    return (digit <= 1.000001 ? 1 : digit <= 2.000001 ? 2 : digit <= 5.000001 ? 5 : 10) * power;
}

static void round_linear(struct assay_scale *s)
{
    double size = fmax(fabs(s->lo), fabs(s->hi));
    double least = fmax(1e-9 * size, LEAST); /* what can still be told apart */
    if (s->hi - s->lo < least) {
        double more = size > 0 ? fmax(0.1 * size, LEAST) : 1;
        s->lo -= s->lo > 0 || s->lo < 0 ? more : 0;
        s->hi += more;
    }
    double step = assay_scale_step(s->hi / 5 - s->lo / 5);
    s->lo = floor(s->lo / step + 1e-9) * step;
    s->hi = ceil(s->hi / step - 1e-9) * step;
}

/* The next of 1, 2, 5 times a power of ten, or of the powers of two, not above the value. */
static double round_down(double value, bool twos)
{
    if (twos)
        return exp2(floor(log2(value) + 1e-9));
    double power = pow(10, floor(log10(value) + 1e-9)), digit = value / power * (1 + 1e-9);
    return (digit >= 5 ? 5 : digit >= 2 ? 2 : 1) * power;
}

static double round_up(double value, bool twos)
{
    double down = round_down(value, twos);
    if (down >= value * (1 - 1e-9))
        return down;
    double digit = down / pow(10, floor(log10(down) + 1e-9));
    return twos || digit < 1.5 || digit > 4 ? 2 * down : 2.5 * down;
}

static void round_log(struct assay_scale *s)
{
    s->lo = round_down(s->lo, s->twos);
    s->hi = round_up(s->hi, s->twos);
    if (s->hi < s->lo * 1.5) {
        s->lo = round_down(s->lo * 0.75, s->twos);
        s->hi = round_up(s->hi * 1.5, s->twos);
    }
}

void assay_scale_round(struct assay_scale *scale)
{
    bool is_log = scale->kind == ASSAY_SCALE_LOG;
    if (scale->kind == ASSAY_SCALE_BAND)
        return;
    if (assay_scale_is_empty(scale)) {
        scale->lo = is_log ? 1 : 0;
        scale->hi = is_log ? 10 : 1;
        scale->twos = false;
    }
    if (is_log)
        round_log(scale);
    else
        round_linear(scale);
}

/* ---- places --------------------------------------------------------------------------------- */

/* 0 at `lo`, 1 at `hi`. */
static double part_of(const struct assay_scale *s, double value)
{
    if (s->kind == ASSAY_SCALE_BAND)
        return s->n > 0 ? (value + 0.5) / (double)s->n : (double)NAN;
    if (!(s->lo < s->hi))
        return s->lo <= s->hi ? 0.5 : (double)NAN;
    if (s->kind == ASSAY_SCALE_LOG)
        return (log(value) - log(s->lo)) / (log(s->hi) - log(s->lo));
    return (value / 2 - s->lo / 2) / (s->hi / 2 - s->lo / 2);
}

double assay_scale_at(const struct assay_scale *scale, double value)
{
    if (!isfinite(value) || (scale->kind == ASSAY_SCALE_LOG && !(value > 0)))
        return (double)NAN;
    return scale->from + part_of(scale, value) * (scale->to - scale->from);
}

double assay_scale_clamped(const struct assay_scale *scale, double value)
{
    if (isnan(value) || assay_scale_is_empty(scale))
        return (double)NAN;
    return assay_scale_at(scale, fmax(scale->lo, fmin(scale->hi, value)));
}

double assay_scale_band_width(const struct assay_scale *scale)
{
    return scale->n > 0 ? fabs(scale->to - scale->from) / (double)scale->n : 0;
}
