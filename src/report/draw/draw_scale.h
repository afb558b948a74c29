/* draw_scale.h: from values to pixels, and which values deserve a tick. */
#ifndef ASSAY_REPORT_DRAW_SCALE_H
#define ASSAY_REPORT_DRAW_SCALE_H

#include <stdbool.h>
#include <stdint.h>

enum assay_scale_kind {
    ASSAY_SCALE_LINEAR,
    ASSAY_SCALE_LOG,
    ASSAY_SCALE_BAND /* n things side by side; values are 0 … n-1, their middles are drawn */
};

struct assay_scale {
    enum assay_scale_kind kind;
    double lo, hi;   /* values; of a logarithmic one above 0 */
    double from, to; /* pixels; from > to where values grow upwards */
    int64_t n;       /* of bands */
    bool twos;       /* all values that were seen are powers of two */
};

/* From values that are to be seen; those that are not finite, or not above 0 on a logarithmic
 * scale, are passed over. Begin with assay_scale_init; after the last value assay_scale_round makes
 * the ends round (1 2 5; powers of ten or of two), and never lets them be equal. */
void assay_scale_init(struct assay_scale *scale, enum assay_scale_kind kind);
void assay_scale_see(struct assay_scale *scale, double value);
bool assay_scale_is_empty(const struct assay_scale *scale); /* nothing was seen */
void assay_scale_round(struct assay_scale *scale);
struct assay_scale assay_scale_bands(int64_t n, double from, double to);

/* Not clamped. NaN where the value has no place. Clamped: the ends for what lies beyond them, also
 * infinities and what is not above 0 on a logarithmic scale; NaN for NaN alone. */
double assay_scale_at(const struct assay_scale *scale, double value);
double assay_scale_clamped(const struct assay_scale *scale, double value);
double assay_scale_band_width(const struct assay_scale *scale);

struct assay_tick {
    double value;
    bool major; /* has a label */
};
enum { ASSAY_SCALE_MOST_TICKS = 128 };
/* About `wanted` labelled ones or fewer, in growing order; gives their number. */
int assay_scale_ticks(const struct assay_scale *scale, int wanted,
                      struct assay_tick ticks[ASSAY_SCALE_MOST_TICKS]);
/* The least of 1, 2, 5 times a power of ten that is not below. */
double assay_scale_step(double least);

#endif
