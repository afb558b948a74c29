/* linear_rows.h: rows of x as `linear` multiplies them: as they are, or normalised first, or
 * gathered from an image (linear_window.h).
 *
 * A row is normalised into a scratch buffer for one row, just before it is quantised and packed: it
 * stays in the L1 cache, and no normalised x is ever written to memory. Threads that share rows
 * each normalise them, as each packs them. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_ROWS_H
#define ASSAY_KERNEL_NATIVE_LINEAR_ROWS_H

#include "kernel/native/linear/linear_window.h"
#include "kernel/native/rows/norm_row.h"

/* The second pass over row `at` / k of x. `shifted` is a constant, false where the shift is 0. */
VEC_INLINE void linear_norm_apply(enum native_kind kind, bool centre, bool shifted,
                                  const struct norm_row *stats, const struct linear_call *call,
                                  int64_t at, void *to)
{
    const void *x = call->x, *weights = call->norm_weight;
    int64_t k = call->job->k, i = 0;
    for (; i + 2 * VEC_LANES <= k; i += 2 * VEC_LANES) {
        struct vec_pair p = vec_load_pair(kind, x, at + i);
        p.a = norm_normal(centre, stats, shifted, p.a);
        p.b = norm_normal(centre, stats, shifted, p.b);
        if (!centre) { /* rms has a weight */
            struct vec_pair weight = vec_load_pair(kind, weights, i);
            p = (struct vec_pair){vec_mul(p.a, weight.a), vec_mul(p.b, weight.b)};
        }
        vec_store_pair(kind, false, to, i, p);
    }
    for (; i < k; i += VEC_LANES) {
        int64_t n = k - i < VEC_LANES ? k - i : VEC_LANES;
        vec a = norm_normal(centre, stats, shifted, vec_load_part(kind, x, at + i, n));
        if (!centre)
            a = vec_mul(a, vec_load_part(kind, weights, i, n));
        vec_store_part(kind, to, i, a, n);
    }
}

/* Rounded to the dtype, as between two ops. */
VEC_INLINE void linear_norm_kind(enum native_kind kind, bool centre, const struct linear_call *call,
                                 int64_t row, void *to)
{
    int64_t k = call->job->k, at = row * k;
    struct norm_sums sums = norm_sums_row(kind, centre, call->x, at, k, false, 0.0f);
    struct norm_row stats = norm_row_of(kind, centre, call->x, at, k, sums, ASSAY_LINEAR_EPS);
    if (centre && stats.shift != 0.0f)
        linear_norm_apply(kind, centre, true, &stats, call, at, to);
    else
        linear_norm_apply(kind, centre, false, &stats, call, at, to);
}

#define LINEAR_NORM_CASE(kind)                                                                     \
    case kind:                                                                                     \
        if (call->job->norm == ASSAY_LINEAR_LN)                                                    \
            linear_norm_kind(kind, true, call, row, to);                                           \
        else                                                                                       \
            linear_norm_kind(kind, false, call, row, to);                                          \
        return;

/* Not inlined: packing plain rows is not to carry its registers. */
static __attribute__((noinline)) void
linear_normalise(enum native_kind kind, const struct linear_call *call, int64_t row, void *to)
{
    switch (kind) {
        LINEAR_NORM_CASE(NATIVE_F32)
        LINEAR_NORM_CASE(NATIVE_F16)
        LINEAR_NORM_CASE(NATIVE_BF16)
#ifdef VEC_HAS_BF16_INSN
        LINEAR_NORM_CASE(NATIVE_BF16_INSN)
#endif
    default:
        return;
    }
}

/* Bytes of the scratch buffer for a normalised or gathered row, whole cache lines; 0 where rows are
 * used from where they lie. */
static inline size_t linear_row_bytes(const struct linear_job *job)
{
    size_t bytes = (size_t)job->k * assay_dtype_bytes(job->dtype);
    bool needed = job->norm != ASSAY_LINEAR_NO_NORM || job->windows.kernel > 1;
    return needed ? (bytes + 63) / 64 * 64 : 0;
}

/* Row `row` of x: where it lies, or normalised or gathered, in `buffer`. */
static inline const void *linear_x_row(enum native_kind kind, const struct linear_call *call,
                                       int64_t row, void *buffer)
{
    const struct linear_job *job = call->job;
    if (job->windows.kernel)
        return linear_window_row(call, row, buffer);
    if (job->norm == ASSAY_LINEAR_NO_NORM)
        return (const char *)call->x + (size_t)(row * job->k) * assay_dtype_bytes(job->dtype);
    linear_normalise(kind, call, row, buffer);
    return buffer;
}

#endif
