/* rowexp.h: the maximum of a row and the sum of exp(x - max) over it, for softmax and
 * cross_entropy. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_ROWEXP_H
#define ASSAY_KERNEL_NATIVE_ROWEXP_H

#include "kernel/native/vec/vec_math.h"

/* Sums are taken in floats over at most this many elements (and over one row of softmax's). */
enum { ROWEXP_PAIRS = 2, ROWEXP_STEP = ROWEXP_PAIRS * 2 * VEC_LANES, ROWEXP_BLOCK = 4096 };

/* The greatest of n elements that is not NaN; -infinity if there is none. */
VEC_INLINE float rowexp_max(enum native_kind kind, const void *x, int64_t at, int64_t n)
{
    vec least = vec_set(-INFINITY), max[2 * ROWEXP_PAIRS];
    for (int k = 0; k < 2 * ROWEXP_PAIRS; k++)
        max[k] = least;
    int64_t i = 0;
    for (; i + ROWEXP_STEP <= n; i += ROWEXP_STEP)
        for (int k = 0; k < ROWEXP_PAIRS; k++) {
            int64_t j = at + i + k * 2 * VEC_LANES;
            vec_prefetch_near(kind, x, j);
            struct vec_pair p = vec_load_pair(kind, x, j);
            max[2 * k] = vec_max(p.a, max[2 * k]);
            max[2 * k + 1] = vec_max(p.b, max[2 * k + 1]);
        }
    for (; i < n; i += VEC_LANES) {
        int64_t count = n - i < VEC_LANES ? n - i : VEC_LANES;
        vec part = vec_first(vec_load_part(kind, x, at + i, count), count, least);
        max[0] = vec_max(part, max[0]);
    }
    return vec_greatest(vec_max(vec_max(max[0], max[1]), vec_max(max[2], max[3])));
}

VEC_INLINE struct vec_pair rowexp_pair(enum native_kind kind, const void *x, int64_t at, vec minus)
{
    struct vec_pair p = vec_load_pair(kind, x, at);
    return (struct vec_pair){vec_exp_nonpositive(vec_sub(p.a, minus)),
                             vec_exp_nonpositive(vec_sub(p.b, minus))};
}

/* e[i] = exp(x[at + i] - max) for i in [from, to), in parts of a vector; adds them to *sum. */
VEC_INLINE void rowexp_parts(enum native_kind kind, const void *x, int64_t at, int64_t from,
                             int64_t to, vec minus, float *e, vec *sum)
{
    for (int64_t i = from; i < to; i += VEC_LANES) {
        int64_t n = to - i < VEC_LANES ? to - i : VEC_LANES;
        vec y = vec_exp_nonpositive(vec_sub(vec_load_part(kind, x, at + i, n), minus));
        *sum = vec_add(*sum, vec_first(y, n, vec_set(0.0f)));
        if (e)
            vec_store_part(NATIVE_F32, e, i, y, n);
    }
}

/* e[i] = exp(x[at + i] - max) for i in [0, n), and their sum; with e == NULL only the sum. From
 * `head` on, e holds pairs in their own order. This is where the arithmetic is, so this is where
 * the next row or block, which follows these n elements, is prefetched. */
VEC_INLINE float rowexp_sum(enum native_kind kind, const void *x, int64_t at, int64_t head,
                            int64_t n, float max, float *e)
{
    vec minus = vec_set(max), sum[2 * ROWEXP_PAIRS];
    for (int k = 0; k < 2 * ROWEXP_PAIRS; k++)
        sum[k] = vec_set(0.0f);
    rowexp_parts(kind, x, at, 0, head, minus, e, &sum[0]);
    int64_t i = head, ahead = n * (kind == NATIVE_F32 ? 4 : 2);
    for (; i + ROWEXP_STEP <= n; i += ROWEXP_STEP)
        for (int k = 0; k < ROWEXP_PAIRS; k++) {
            int64_t j = i + k * 2 * VEC_LANES;
            vec_prefetch_far(kind, x, at + j, ahead);
            struct vec_pair p = rowexp_pair(kind, x, at + j, minus);
            sum[2 * k] = vec_add(sum[2 * k], p.a);
            sum[2 * k + 1] = vec_add(sum[2 * k + 1], p.b);
            if (e)
                vec_store_pair(NATIVE_F32, false, e, j, p);
        }
    rowexp_parts(kind, x, at, i, n, minus, e, &sum[0]);
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
        total.sum += (double)rowexp_sum(kind, x, at + i, 0, count, minus, NULL);
    }
    if (total.max == -INFINITY)
        total.sum = (double)NAN;
    return total;
}

#endif
