/* norm_row.h: what a row's norm needs to know of the row: mean and deviation, or the root of its
 * mean square. For layernorm, rmsnorm, and linear with a norm before.
 *
 * Variance. The first pass sums x and x^2. The variance, mean(x^2) - mean^2, loses accuracy by
 * cancellation when the mean is large against the deviation; then the sums are taken once more of
 * x - mean, which cannot cancel. Rows whose squares do not fit in a float, and rows with NaN or
 * infinity in them, are summed in double.
 *
 * `centre`, a constant, is whether the mean is subtracted. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_NORM_ROW_H
#define ASSAY_KERNEL_NATIVE_NORM_ROW_H

#include "kernel/native/native.h"

#include <float.h>
#include <math.h>

/* Longer rows are summed in floats over NORM_BLOCK elements, in double from there on. */
enum { NORM_PAIRS = 2, NORM_STEP = NORM_PAIRS * 2 * VEC_LANES, NORM_BLOCK = 4096 };

/* How far ahead, in bytes, the loop over one row prefetches. */
enum { NORM_AHEAD = 4096 };

struct norm_sums {
    double sum, sum_sq;
};

struct norm_row {
    float shift, scale, offset; /* normalised: (x - shift) * scale + offset */
};

VEC_INLINE void norm_add(bool centre, vec d, vec *sum, vec *sum_sq)
{
    if (centre)
        *sum = vec_add(*sum, d);
    *sum_sq = vec_fma(d, d, *sum_sq);
}

/* The sums of x - shift over elements [at, at + n); `shifted` is a constant, false where shift
 * is 0. */
VEC_INLINE struct norm_sums norm_sums_block(enum native_kind kind, bool centre, const void *x,
                                            int64_t at, int64_t n, bool shifted, float shift)
{
    vec sum[2 * NORM_PAIRS], sum_sq[2 * NORM_PAIRS], minus = vec_set(shift);
    for (int k = 0; k < 2 * NORM_PAIRS; k++)
        sum[k] = sum_sq[k] = vec_set(0.0f);
    int64_t i = 0;
    for (; i + NORM_STEP <= n; i += NORM_STEP)
        for (int k = 0; k < NORM_PAIRS; k++) {
            int64_t j = at + i + k * 2 * VEC_LANES;
            vec_prefetch_far(kind, x, j, NORM_AHEAD);
            vec_prefetch_near(kind, x, j);
            struct vec_pair p = vec_load_pair(kind, x, j);
            if (shifted)
                p = (struct vec_pair){vec_sub(p.a, minus), vec_sub(p.b, minus)};
            norm_add(centre, p.a, &sum[2 * k], &sum_sq[2 * k]);
            norm_add(centre, p.b, &sum[2 * k + 1], &sum_sq[2 * k + 1]);
        }
    for (; i < n; i += VEC_LANES) {
        int64_t count = n - i < VEC_LANES ? n - i : VEC_LANES;
        vec d = vec_sub(vec_load_part(kind, x, at + i, count), minus);
        norm_add(centre, vec_first(d, count, vec_set(0.0f)), &sum[0], &sum_sq[0]);
    }
    struct norm_sums sums = {0};
    if (centre)
        sums.sum = (double)vec_sum(vec_add(vec_add(sum[0], sum[1]), vec_add(sum[2], sum[3])));
    sums.sum_sq =
        (double)vec_sum(vec_add(vec_add(sum_sq[0], sum_sq[1]), vec_add(sum_sq[2], sum_sq[3])));
    return sums;
}

VEC_INLINE struct norm_sums norm_sums_row(enum native_kind kind, bool centre, const void *x,
                                          int64_t at, int64_t n, bool shifted, float shift)
{
    struct norm_sums total = {0};
    for (int64_t i = 0; i < n; i += NORM_BLOCK) {
        int64_t count = n - i < NORM_BLOCK ? n - i : NORM_BLOCK;
        struct norm_sums sums = norm_sums_block(kind, centre, x, at + i, count, shifted, shift);
        total.sum += sums.sum;
        total.sum_sq += sums.sum_sq;
    }
    return total;
}

static inline double norm_element(enum native_kind kind, const void *x, int64_t at)
{
    if (kind == NATIVE_F32)
        return (double)((const float *)x)[at];
    uint16_t bits = ((const uint16_t *)x)[at];
    return (double)(kind == NATIVE_F16 ? assay_f16_to_f32(bits) : assay_bf16_to_f32(bits));
}

/* The way out for rows that do not fit: exactly what the reference does. */
static __attribute__((noinline)) struct norm_row norm_row_double(enum native_kind kind, bool centre,
                                                                 const void *x, int64_t at,
                                                                 int64_t n, double eps)
{
    double sum = 0, sum_sq = 0;
    for (int64_t i = 0; i < n; i++)
        sum += norm_element(kind, x, at + i);
    double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double centred = norm_element(kind, x, at + i) - mean;
        sum_sq += centred * centred;
    }
    double square = sum_sq / (double)n + (centre ? 0 : mean * mean);
    double scale = 1 / sqrt(square + eps);
    if (!centre)
        return (struct norm_row){.scale = (float)scale};
    float shift = (float)mean;
    return (struct norm_row){
        .shift = shift, .scale = (float)scale, .offset = (float)(((double)shift - mean) * scale)};
}

/* From the unshifted sums of a row. */
VEC_INLINE struct norm_row norm_row_of(enum native_kind kind, bool centre, const void *x,
                                       int64_t at, int64_t n, struct norm_sums sums, double eps)
{
    double inverse = 1 / (double)n;
    double mean = sums.sum * inverse, square = sums.sum_sq * inverse;
    float shift = 0.0f;
    /* mean^2 <= 4 variance: the cancellation costs at most a factor of 5 in accuracy. */
    if (centre && !(mean * mean <= 0.8 * square)) {
        shift = (float)mean;
        sums = norm_sums_row(kind, centre, x, at, n, true, shift);
        mean = sums.sum * inverse, square = sums.sum_sq * inverse;
    }
    if (!(square <= (double)FLT_MAX))
        return norm_row_double(kind, centre, x, at, n, eps);
    double variance = square - mean * mean;
    double scale = 1 / sqrt((variance > 0 ? variance : 0) + eps);
    return (struct norm_row){
        .shift = shift, .scale = (float)scale, .offset = (float)(-mean * scale)};
}

/* The mean that a row's numbers stand for. Where it is not finite, offset is NaN. */
static inline float norm_mean(const struct norm_row *row)
{
    if (!isfinite(row->shift))
        return row->shift;
    return (float)((double)row->shift - (double)row->offset / (double)row->scale);
}

/* x normalised, before any weights. `shifted` is a constant, false where row->shift is 0. */
VEC_INLINE vec norm_normal(bool centre, const struct norm_row *row, bool shifted, vec x)
{
    if (!centre)
        return vec_mul(x, vec_set(row->scale));
    if (shifted)
        x = vec_sub(x, vec_set(row->shift));
    return vec_fma(x, vec_set(row->scale), vec_set(row->offset));
}

#endif
