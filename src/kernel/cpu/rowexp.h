/* rowexp.h: the maximum of a row and the sum of exp(x - max) over it, for softmax and
 * cross_entropy. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_CPU_ROWEXP_H
#define ASSAY_KERNEL_CPU_ROWEXP_H

#include "kernel/cpu/vec_math.h"

/* Sums are taken in floats over at most this many elements (and over one row of softmax's). */
enum { ROWEXP_UNROLL = 4, ROWEXP_BLOCK = 4096, ROWEXP_AHEAD = 4096 };

/* The greatest of n elements that is not NaN; -infinity if there is none. */
VEC_INLINE float rowexp_max(enum native_kind kind, const void *x, int64_t at, int64_t n)
{
    vec max[ROWEXP_UNROLL], least = vec_set(-INFINITY);
    for (int k = 0; k < ROWEXP_UNROLL; k++)
        max[k] = least;
    int64_t i = 0;
    for (; i + ROWEXP_UNROLL * VEC_LANES <= n; i += ROWEXP_UNROLL * VEC_LANES)
        for (int k = 0; k < ROWEXP_UNROLL; k++) {
            int64_t j = at + i + k * VEC_LANES;
            vec_prefetch(kind, x, j, ROWEXP_AHEAD);
            max[k] = vec_max(vec_load(kind, x, j), max[k]);
        }
    for (; i < n; i += VEC_LANES) {
        int64_t count = n - i < VEC_LANES ? n - i : VEC_LANES;
        vec part = vec_first(vec_load_part(kind, x, at + i, count), count, least);
        max[0] = vec_max(part, max[0]);
    }
    return vec_greatest(vec_max(vec_max(max[0], max[1]), vec_max(max[2], max[3])));
}

/* e[i] = exp(x[at + i] - max) for i in [0, n), and their sum. With e == NULL only the sum. */
VEC_INLINE float rowexp_sum(enum native_kind kind, const void *x, int64_t at, int64_t n, float max,
                            float *e)
{
    vec sum[ROWEXP_UNROLL], minus = vec_set(max);
    for (int k = 0; k < ROWEXP_UNROLL; k++)
        sum[k] = vec_set(0.0f);
    int64_t i = 0;
    for (; i + ROWEXP_UNROLL * VEC_LANES <= n; i += ROWEXP_UNROLL * VEC_LANES)
        for (int k = 0; k < ROWEXP_UNROLL; k++) {
            int64_t j = i + k * VEC_LANES;
            vec y = vec_exp(vec_sub(vec_load(kind, x, at + j), minus));
            sum[k] = vec_add(sum[k], y);
            if (e)
                vec_store(NATIVE_F32, e, j, y);
        }
    for (; i < n; i += VEC_LANES) {
        int64_t count = n - i < VEC_LANES ? n - i : VEC_LANES;
        vec y = vec_exp(vec_sub(vec_load_part(kind, x, at + i, count), minus));
        sum[0] = vec_add(sum[0], vec_first(y, count, vec_set(0.0f)));
        if (e)
            vec_store_part(NATIVE_F32, e, i, y, count);
    }
    return vec_sum(vec_add(vec_add(sum[0], sum[1]), vec_add(sum[2], sum[3])));
}

struct rowexp_total {
    float max;
    double sum; /* of exp(x - max) */
};

/* Of a row of any length, read once: block by block with the greatest so far. */
VEC_INLINE struct rowexp_total rowexp_total(enum native_kind kind, const void *x, int64_t at,
                                            int64_t n)
{
    struct rowexp_total total = {.max = -INFINITY};
    for (int64_t i = 0; i < n; i += ROWEXP_BLOCK) {
        int64_t count = n - i < ROWEXP_BLOCK ? n - i : ROWEXP_BLOCK;
        float max = rowexp_max(kind, x, at + i, count);
        if (max > total.max) {
            if (i) /* there is nothing to rescale yet in the first block */
                total.sum *= exp((double)total.max - (double)max);
            total.max = max;
        }
        /* Nothing but -infinity so far (or NaN, which 0 lets through): these add nothing, unless
         * it stays so to the end. */
        float minus = total.max == -INFINITY ? 0.0f : total.max;
        total.sum += (double)rowexp_sum(kind, x, at + i, count, minus, NULL);
    }
    if (total.max == -INFINITY)
        total.sum = (double)NAN;
    return total;
}

#endif
