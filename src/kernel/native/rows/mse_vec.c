/* mse_vec.c: squares are summed in float lanes over blocks, the blocks in double, so that the mean
 * of any number of elements is as exact as that of a few thousand. */
#include "kernel/native/vec/vec.h"

enum { MSE_PAIRS = 2, MSE_STEP = MSE_PAIRS * 2 * VEC_LANES, MSE_BLOCK = 8192, MSE_AHEAD = 4096 };

VEC_INLINE struct vec_pair mse_load(enum native_kind kind, const void *x, int64_t at)
{
    vec_prefetch_far(kind, x, at, MSE_AHEAD);
    vec_prefetch_near(kind, x, at);
    return vec_load_pair(kind, x, at);
}

VEC_INLINE double mse_block(enum native_kind kind, const void *x, const void *y, int64_t begin,
                            int64_t end)
{
    vec sum[2 * MSE_PAIRS];
    for (int k = 0; k < 2 * MSE_PAIRS; k++)
        sum[k] = vec_set(0.0f);
    int64_t i = begin;
    for (; i + MSE_STEP <= end; i += MSE_STEP)
        for (int k = 0; k < MSE_PAIRS; k++) {
            int64_t at = i + k * 2 * VEC_LANES;
            struct vec_pair p = mse_load(kind, x, at), q = mse_load(kind, y, at);
            vec a = vec_sub(p.a, q.a), b = vec_sub(p.b, q.b);
            sum[2 * k] = vec_fma(a, a, sum[2 * k]);
            sum[2 * k + 1] = vec_fma(b, b, sum[2 * k + 1]);
        }
    for (; i < end; i += VEC_LANES) {
        int64_t n = end - i < VEC_LANES ? end - i : VEC_LANES;
        vec d = vec_sub(vec_load_part(kind, x, i, n), vec_load_part(kind, y, i, n));
        sum[0] = vec_fma(d, d, sum[0]);
    }
    return (double)vec_sum(vec_add(vec_add(sum[0], sum[1]), vec_add(sum[2], sum[3])));
}

VEC_INLINE double mse(enum native_kind kind, bool stream, const struct native_job *job,
                      const struct assay_args *args, int64_t begin, int64_t end)
{
    (void)stream, (void)job; /* nothing is written but one number */
    double sum = 0;
    for (int64_t i = begin; i < end; i += MSE_BLOCK)
        sum +=
            mse_block(kind, args->in[0], args->in[1], i, end - i < MSE_BLOCK ? end : i + MSE_BLOCK);
    return sum;
}

#define NATIVE_OP mse
NATIVE_KERNEL(mse, NATIVE_ELEMENTS, true);
