/* fma_vec.c: chains of multiply-adds, so many side by side that neither unit ever waits for a
 * result: two units times a latency of four or five cycles, in sixteen registers. */
#include "kernel/native/vec/vec.h"

#include "op/fma.h"

enum { FMA_CHAINS = 12 };

VEC_INLINE double fma_chains(enum native_kind kind, bool stream, const struct native_job *job,
                             const struct assay_args *args, int64_t begin, int64_t end)
{
    (void)stream, (void)job;
    const vec scale = vec_set((float)ASSAY_FMA_SCALE), shift = vec_set((float)ASSAY_FMA_SHIFT);
    int64_t i = begin;
    for (; i + FMA_CHAINS * VEC_LANES <= end; i += FMA_CHAINS * VEC_LANES) {
        vec a[FMA_CHAINS];
        NATIVE_UNROLL
        for (int k = 0; k < FMA_CHAINS; k++)
            a[k] = vec_load(kind, args->in[0], i + k * VEC_LANES);
        for (int step = 0; step < ASSAY_FMA_STEPS; step++) {
            NATIVE_UNROLL
            for (int k = 0; k < FMA_CHAINS; k++)
                a[k] = vec_fma(a[k], scale, shift);
        }
        NATIVE_UNROLL
        for (int k = 0; k < FMA_CHAINS; k++)
            vec_store(kind, args->out[0], i + k * VEC_LANES, a[k]);
    }
    while (i < end) {
        int64_t n = end - i < VEC_LANES ? end - i : VEC_LANES;
        vec a = vec_load_part(kind, args->in[0], i, n);
        for (int step = 0; step < ASSAY_FMA_STEPS; step++)
            a = vec_fma(a, scale, shift);
        vec_store_part(kind, args->out[0], i, a, n);
        i += n;
    }
    return 0;
}

#define NATIVE_OP fma
NATIVE_KERNEL(fma_chains, NATIVE_ELEMENTS, false);
