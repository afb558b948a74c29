/* sum_vec.c: elements are summed in float lanes over blocks, the blocks in double, so that the sum
 * of any number of elements is as exact as that of a few thousand. */
#include "kernel/native/vec/vec.h"

enum { SUM_PAIRS = 4, SUM_STEP = SUM_PAIRS * 2 * VEC_LANES, SUM_BLOCK = 8192, SUM_AHEAD = 4096 };

VEC_INLINE double sum_block(enum native_kind kind, const void *x, int64_t begin, int64_t end)
{
    vec sum[2 * SUM_PAIRS];
    for (int k = 0; k < 2 * SUM_PAIRS; k++)
        sum[k] = vec_set(0.0f);
    int64_t i = begin;
    for (; i + SUM_STEP <= end; i += SUM_STEP)
        for (int k = 0; k < SUM_PAIRS; k++) {
            int64_t at = i + k * 2 * VEC_LANES;
            vec_prefetch_far(kind, x, at, SUM_AHEAD);
            struct vec_pair p = vec_load_pair(kind, x, at);
            sum[2 * k] = vec_add(p.a, sum[2 * k]);
            sum[2 * k + 1] = vec_add(p.b, sum[2 * k + 1]);
        }
    for (; i < end; i += VEC_LANES) {
        int64_t n = end - i < VEC_LANES ? end - i : VEC_LANES;
        sum[0] = vec_add(vec_load_part(kind, x, i, n), sum[0]);
    }
    double all = 0;
    for (int k = 0; k < 2 * SUM_PAIRS; k++)
        all += (double)vec_sum(sum[k]);
    return all;
}

VEC_INLINE double sum(enum native_kind kind, bool stream, const struct native_job *job,
                      const struct assay_args *args, int64_t begin, int64_t end)
{
    (void)stream, (void)job; /* nothing is written but one number */
    double all = 0;
    for (int64_t i = begin; i < end; i += SUM_BLOCK)
        all += sum_block(kind, args->in[0], i, end - i < SUM_BLOCK ? end : i + SUM_BLOCK);
    return all;
}

#define NATIVE_OP sum
NATIVE_KERNEL_OF(sum, .split = NATIVE_ELEMENTS, .mean = true, .total = true);
