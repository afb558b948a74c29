/* norm_body.h: the body of layernorm, rmsnorm and layernorm_gelu.
 *
 * Two passes over a row: sums, then answers; the second finds the row in the cache. Include a
 * vec_*.h first and define NATIVE_OP, and NORM_CENTRE (subtract the mean, add beta: layernorm) or
 * NORM_GELU (that, and gelu of it) as 1 where they hold.
 *
 * Variance. The first pass sums x and x^2. The variance, mean(x^2) - mean^2, loses accuracy by
 * cancellation when the mean is large against the deviation; then the sums are taken once more of
 * x - mean, which cannot cancel. Rows whose squares do not fit in a float, and rows with NaN or
 * infinity in them, are summed in double. */
#ifndef ASSAY_KERNEL_CPU_NORM_BODY_H
#define ASSAY_KERNEL_CPU_NORM_BODY_H

#include "kernel/cpu/vec_math.h"
#include <float.h>

#ifndef NORM_CENTRE
#define NORM_CENTRE 0
#endif
#ifndef NORM_GELU
#define NORM_GELU 0
#endif

/* Sums are taken in floats over NORM_BLOCK elements, in double from there on: a lane then adds at
 * most 4096 / 4 numbers even in the portable kernel. */
enum { NORM_UNROLL = 4, NORM_BLOCK = 4096, NORM_AHEAD = 4096 };

struct norm_sums {
    double sum, sum_sq;
};

struct norm_row {
    float shift, scale, offset; /* normalised: (x - shift) * scale + offset */
};

VEC_INLINE void norm_add(vec d, vec *sum, vec *sum_sq)
{
    if (NORM_CENTRE)
        *sum = vec_add(*sum, d);
    *sum_sq = vec_fma(d, d, *sum_sq);
}

/* The sums of x - shift over elements [at, at + n). */
VEC_INLINE struct norm_sums norm_sums_block(enum native_kind kind, const void *x, int64_t at,
                                            int64_t n, float shift)
{
    vec sum[NORM_UNROLL], sum_sq[NORM_UNROLL], minus = vec_set(shift);
    for (int k = 0; k < NORM_UNROLL; k++)
        sum[k] = sum_sq[k] = vec_set(0.0f);
    int64_t i = 0;
    for (; i + NORM_UNROLL * VEC_LANES <= n; i += NORM_UNROLL * VEC_LANES)
        for (int k = 0; k < NORM_UNROLL; k++) {
            int64_t j = at + i + k * VEC_LANES;
            vec_prefetch(kind, x, j, NORM_AHEAD);
            norm_add(vec_sub(vec_load(kind, x, j), minus), &sum[k], &sum_sq[k]);
        }
    for (; i < n; i += VEC_LANES) {
        int64_t count = n - i < VEC_LANES ? n - i : VEC_LANES;
        vec d = vec_sub(vec_load_part(kind, x, at + i, count), minus);
        norm_add(vec_first(d, count, vec_set(0.0f)), &sum[0], &sum_sq[0]);
    }
    struct norm_sums sums = {0};
    if (NORM_CENTRE)
        sums.sum = (double)vec_sum(vec_add(vec_add(sum[0], sum[1]), vec_add(sum[2], sum[3])));
    sums.sum_sq =
        (double)vec_sum(vec_add(vec_add(sum_sq[0], sum_sq[1]), vec_add(sum_sq[2], sum_sq[3])));
    return sums;
}

VEC_INLINE struct norm_sums norm_sums_row(enum native_kind kind, const void *x, int64_t at,
                                          int64_t n, float shift)
{
    struct norm_sums total = {0};
    for (int64_t i = 0; i < n; i += NORM_BLOCK) {
        int64_t count = n - i < NORM_BLOCK ? n - i : NORM_BLOCK;
        struct norm_sums sums = norm_sums_block(kind, x, at + i, count, shift);
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
static __attribute__((noinline)) struct norm_row
norm_row_double(enum native_kind kind, const void *x, int64_t at, int64_t n, double eps)
{
    double sum = 0, sum_sq = 0;
    for (int64_t i = 0; i < n; i++)
        sum += norm_element(kind, x, at + i);
    double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double centred = norm_element(kind, x, at + i) - mean;
        sum_sq += centred * centred;
    }
    double square = sum_sq / (double)n + (NORM_CENTRE ? 0 : mean * mean);
    double scale = 1 / sqrt(square + eps);
    if (!NORM_CENTRE)
        return (struct norm_row){.scale = (float)scale};
    float shift = (float)mean;
    return (struct norm_row){
        .shift = shift, .scale = (float)scale, .offset = (float)(((double)shift - mean) * scale)};
}

VEC_INLINE struct norm_row norm_row_of(enum native_kind kind, const void *x, int64_t at, int64_t n,
                                       double eps)
{
    double inverse = 1 / (double)n;
    struct norm_sums sums = norm_sums_row(kind, x, at, n, 0.0f);
    double mean = sums.sum * inverse, square = sums.sum_sq * inverse;
    float shift = 0.0f;
    /* mean^2 <= 4 variance: the cancellation costs at most a factor of 5 in accuracy. */
    if (NORM_CENTRE && !(mean * mean <= 0.8 * square)) {
        shift = (float)mean;
        sums = norm_sums_row(kind, x, at, n, shift);
        mean = sums.sum * inverse, square = sums.sum_sq * inverse;
    }
    if (!(square <= (double)FLT_MAX))
        return norm_row_double(kind, x, at, n, eps);
    double variance = square - mean * mean;
    double scale = 1 / sqrt((variance > 0 ? variance : 0) + eps);
    return (struct norm_row){
        .shift = shift, .scale = (float)scale, .offset = (float)(-mean * scale)};
}

VEC_INLINE vec norm_apply(const struct norm_row *row, vec x, vec gamma, vec beta)
{
    if (!NORM_CENTRE)
        return vec_mul(vec_mul(x, vec_set(row->scale)), gamma);
    vec d = vec_sub(x, vec_set(row->shift));
    vec normal = vec_fma(d, vec_set(row->scale), vec_set(row->offset));
    vec r = vec_fma(normal, gamma, beta);
    return NORM_GELU ? vec_mul(r, vec_normal_cdf(r)) : r;
}

/* Elements [from, to) of a row that begins at element `at`, in parts of a vector. */
VEC_INLINE void norm_apply_parts(enum native_kind kind, const struct assay_args *args, int64_t at,
                                 int64_t from, int64_t to, const struct norm_row *row)
{
    const void *in_beta = NORM_CENTRE ? args->in[2] : args->in[1];
    for (int64_t i = from; i < to; i += VEC_LANES) {
        int64_t n = to - i < VEC_LANES ? to - i : VEC_LANES;
        vec x = vec_load_part(kind, args->in[0], at + i, n);
        vec gamma = vec_load_part(kind, args->in[1], i, n);
        vec beta = vec_load_part(kind, in_beta, i, n);
        vec_store_part(kind, args->out[0], at + i, norm_apply(row, x, gamma, beta), n);
    }
}

VEC_INLINE double norm(enum native_kind kind, bool stream, const struct native_job *job,
                       const struct assay_args *args, int64_t begin, int64_t end)
{
    const void *in_beta = NORM_CENTRE ? args->in[2] : args->in[1];
    const int64_t line = kind == NATIVE_F32 ? 16 : 32; /* elements of 64 bytes */
    for (int64_t r = begin; r < end; r++) {
        int64_t at = r * job->dim, i = 0;
        struct norm_row row = norm_row_of(kind, args->in[0], at, job->dim, job->param);
        if (stream) { /* up to the first whole line of the output */
            i = -at & (line - 1);
            i = i < job->dim ? i : job->dim;
            norm_apply_parts(kind, args, at, 0, i, &row);
        }
        for (; i + NORM_UNROLL * VEC_LANES <= job->dim; i += NORM_UNROLL * VEC_LANES)
            for (int k = 0; k < NORM_UNROLL; k++) {
                int64_t j = i + k * VEC_LANES;
                vec x = vec_load(kind, args->in[0], at + j);
                vec gamma = vec_load(kind, args->in[1], j), beta = vec_load(kind, in_beta, j);
                vec y = norm_apply(&row, x, gamma, beta);
                if (stream)
                    vec_stream(kind, args->out[0], at + j, y);
                else
                    vec_store(kind, args->out[0], at + j, y);
            }
        norm_apply_parts(kind, args, at, i, job->dim, &row);
    }
    if (stream)
        vec_stream_end();
    return 0;
}

NATIVE_KERNEL(norm, NATIVE_ROWS, false);

#endif
