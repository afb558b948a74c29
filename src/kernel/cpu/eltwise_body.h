/* eltwise_body.h: the body of the element-wise kernels: one flat array, whatever its shape.
 *
 * Include a vec_*.h first and define NATIVE_OP; define NATIVE_INPUTS 2 for an op of two operands.
 * Streaming stores need no care for alignment here: a share begins on a cache line (native.c). */
#ifndef ASSAY_KERNEL_CPU_ELTWISE_BODY_H
#define ASSAY_KERNEL_CPU_ELTWISE_BODY_H

#include "kernel/cpu/vec_math.h"

#ifndef NATIVE_INPUTS
#define NATIVE_INPUTS 1
#endif

/* The fast loop does ELTWISE_PAIRS pairs at once and asks for memory ELTWISE_AHEAD bytes before it
 * is needed. */
enum { ELTWISE_PAIRS = 2, ELTWISE_STEP = ELTWISE_PAIRS * 2 * VEC_LANES, ELTWISE_AHEAD = 4096 };

#define ELTWISE_F NATIVE_PASTE(elt, NATIVE_OP)

VEC_INLINE struct vec_pair eltwise_load(enum native_kind kind, const void *x, int64_t at)
{
    vec_prefetch_far(kind, x, at, ELTWISE_AHEAD);
    vec_prefetch_near(kind, x, at);
    return vec_load_pair(kind, x, at);
}

VEC_INLINE double eltwise(enum native_kind kind, bool stream, const struct native_job *job,
                          const struct assay_args *args, int64_t begin, int64_t end)
{
    const void *x = args->in[0], *y = args->in[NATIVE_INPUTS - 1];
    void *out = args->out[0];
    vec param = vec_set((float)job->param);
    int64_t i = begin;
    for (; i + ELTWISE_STEP <= end; i += ELTWISE_STEP)
        for (int k = 0; k < ELTWISE_PAIRS; k++) {
            int64_t at = i + k * 2 * VEC_LANES;
            struct vec_pair p = eltwise_load(kind, x, at), q = p;
            if (NATIVE_INPUTS == 2)
                q = eltwise_load(kind, y, at);
            p.a = ELTWISE_F(p.a, q.a, param);
            p.b = ELTWISE_F(p.b, q.b, param);
            vec_store_pair(kind, stream, out, at, p);
        }
    while (i < end) {
        int64_t n = end - i < VEC_LANES ? end - i : VEC_LANES;
        vec a = vec_load_part(kind, x, i, n);
        vec b = NATIVE_INPUTS == 2 ? vec_load_part(kind, y, i, n) : a;
        vec_store_part(kind, out, i, ELTWISE_F(a, b, param), n);
        i += n;
    }
    if (stream)
        vec_stream_end();
    return 0;
}

NATIVE_KERNEL(eltwise, NATIVE_ELEMENTS, false);

#endif
