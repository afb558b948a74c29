/* swiglu_backward_vec.c: of the values dy silu(gate), of their gates dy x silu'(gate), both in rows
 * of two halves, as the inputs are. The work is split as dy is. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_math.h"

enum { SWIGLU_AHEAD = 1024 };

VEC_INLINE struct vec_pair swiglu_load(enum native_kind kind, const void *x, int64_t at)
{
    vec_prefetch_far(kind, x, at, SWIGLU_AHEAD);
    vec_prefetch_near(kind, x, at);
    return vec_load_pair(kind, x, at);
}

/* *x and *gate become their gradients. silu(gate) = gate s, its slope s + gate s (1 - s). */
VEC_INLINE void swiglu_gradient(vec dy, vec *x, vec *gate)
{
    vec held = vec_held(*gate, 87.0f);
    struct vec_gate g = vec_gate(held);
    vec value = vec_mul(dy, vec_mul(*gate, g.s));
    *gate = vec_mul(vec_mul(dy, *x), vec_fma(held, g.slope, g.s));
    *x = value;
}

VEC_INLINE void swiglu_gradient_parts(enum native_kind kind, const struct assay_args *args,
                                      int64_t dy, int64_t x, int64_t gate, int64_t n)
{
    for (int64_t i = 0; i < n; i += VEC_LANES) {
        int64_t count = n - i < VEC_LANES ? n - i : VEC_LANES;
        vec a = vec_load_part(kind, args->in[1], x + i, count);
        vec b = vec_load_part(kind, args->in[1], gate + i, count);
        swiglu_gradient(vec_load_part(kind, args->in[0], dy + i, count), &a, &b);
        vec_store_part(kind, args->out[0], x + i, a, count);
        vec_store_part(kind, args->out[0], gate + i, b, count);
    }
}

/* n elements of one row: dy, x and gates from these elements on. With `stream` both halves of the
 * row begin on a cache line. */
VEC_INLINE void swiglu_gradient_row(enum native_kind kind, bool stream,
                                    const struct assay_args *args, int64_t dy, int64_t x,
                                    int64_t gate, int64_t n)
{
    const void *from[2] = {args->in[0], args->in[1]};
    void *out = args->out[0];
    int64_t i = stream ? native_head(kind, x, n) : 0;
    swiglu_gradient_parts(kind, args, dy, x, gate, i);
    for (; i + 2 * VEC_LANES <= n; i += 2 * VEC_LANES) {
        struct vec_pair d = swiglu_load(kind, from[0], dy + i);
        struct vec_pair a = swiglu_load(kind, from[1], x + i);
        struct vec_pair b = swiglu_load(kind, from[1], gate + i);
        swiglu_gradient(d.a, &a.a, &b.a);
        swiglu_gradient(d.b, &a.b, &b.b);
        vec_store_pair(kind, stream, out, x + i, a);
        vec_store_pair(kind, stream, out, gate + i, b);
    }
    swiglu_gradient_parts(kind, args, dy + i, x + i, gate + i, n - i);
}

VEC_INLINE void swiglu_gradient_rows(enum native_kind kind, bool stream,
                                     const struct assay_args *args, int64_t dim, int64_t begin,
                                     int64_t end)
{
    for (int64_t at = begin, row = begin / dim; at < end; row++) {
        int64_t stop = (row + 1) * dim < end ? (row + 1) * dim : end;
        int64_t x = 2 * row * dim + (at - row * dim);
        swiglu_gradient_row(kind, stream, args, at, x, x + dim, stop - at);
        at = stop;
    }
    if (stream)
        vec_stream_end();
}

VEC_INLINE double swiglu_backward(enum native_kind kind, bool stream, const struct native_job *job,
                                  const struct assay_args *args, int64_t begin, int64_t end)
{
    if (stream && native_head(kind, job->dim, 64) == 0)
        swiglu_gradient_rows(kind, true, args, job->dim, begin, end);
    else
        swiglu_gradient_rows(kind, false, args, job->dim, begin, end);
    return 0;
}

#define NATIVE_OP swiglu_backward
NATIVE_KERNEL_OF(swiglu_backward, .split = NATIVE_ELEMENTS, .of_input = true);
