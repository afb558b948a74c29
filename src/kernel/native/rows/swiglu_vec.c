/* swiglu_vec.c: rows of two halves, x and its gates, make rows of x silu(gate).
 *
 * The output is split as one flat array, so that one long row occupies all threads too. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_math.h"

/* As in eltwise_body.h: pairs at once, and how far ahead to prefetch, in bytes. */
enum { SWIGLU_PAIRS = 2, SWIGLU_STEP = SWIGLU_PAIRS * 2 * VEC_LANES, SWIGLU_AHEAD = 1024 };

VEC_INLINE struct vec_pair swiglu_load(enum native_kind kind, const void *x, int64_t at)
{
    vec_prefetch_far(kind, x, at, SWIGLU_AHEAD);
    vec_prefetch_near(kind, x, at);
    return vec_load_pair(kind, x, at);
}

VEC_INLINE vec swiglu_of(vec x, vec gate) { return vec_mul(x, vec_silu(gate)); }

VEC_INLINE void swiglu_parts(enum native_kind kind, const void *in, void *out, int64_t x,
                             int64_t gate, int64_t at, int64_t n)
{
    for (int64_t i = 0; i < n; i += VEC_LANES) {
        int64_t count = n - i < VEC_LANES ? n - i : VEC_LANES;
        vec value = vec_load_part(kind, in, x + i, count);
        vec_store_part(kind, out, at + i,
                       swiglu_of(value, vec_load_part(kind, in, gate + i, count)), count);
    }
}

/* n elements of one row: x and gates from these elements of `in`, the outputs from element `at`. */
VEC_INLINE void swiglu_row(enum native_kind kind, bool stream, const void *in, void *out, int64_t x,
                           int64_t gate, int64_t at, int64_t n)
{
    int64_t i = stream ? native_head(kind, at, n) : 0;
    swiglu_parts(kind, in, out, x, gate, at, i);
    for (; i + SWIGLU_STEP <= n; i += SWIGLU_STEP)
        for (int k = 0; k < SWIGLU_PAIRS; k++) {
            int64_t j = i + k * 2 * VEC_LANES;
            struct vec_pair p = swiglu_load(kind, in, x + j), q = swiglu_load(kind, in, gate + j);
            p.a = swiglu_of(p.a, q.a);
            p.b = swiglu_of(p.b, q.b);
            vec_store_pair(kind, stream, out, at + j, p);
        }
    swiglu_parts(kind, in, out, x + i, gate + i, at + i, n - i);
}

VEC_INLINE double swiglu(enum native_kind kind, bool stream, const struct native_job *job,
                         const struct assay_args *args, int64_t begin, int64_t end)
{
    const void *in = args->in[0];
    void *out = args->out[0];
    int64_t dim = job->dim, row = begin / dim;
    for (int64_t at = begin; at < end; row++) {
        int64_t stop = (row + 1) * dim < end ? (row + 1) * dim : end;
        int64_t x = 2 * row * dim + (at - row * dim);
        swiglu_row(kind, stream, in, out, x, x + dim, at, stop - at);
        at = stop;
    }
    if (stream)
        vec_stream_end();
    return 0;
}

#define NATIVE_OP swiglu
NATIVE_KERNEL(swiglu, NATIVE_ELEMENTS, false);
