/* softmax_body.h: the body of softmax. Include a vec_*.h first and define NATIVE_OP.
 *
 * A row of up to SOFTMAX_ROW elements: its maximum, then exp(x - max) into a buffer with its sum,
 * then the buffer over the sum. Only the first pass reads memory. A longer row is read twice:
 * blocks of it with a running maximum, to which the sum so far is rescaled; then the answers.
 *
 * A row with NaN or +infinity in it, or with nothing but -infinity, is NaN throughout: x - max is
 * NaN somewhere, so the sum is. */
#ifndef ASSAY_KERNEL_CPU_SOFTMAX_BODY_H
#define ASSAY_KERNEL_CPU_SOFTMAX_BODY_H

#include "kernel/cpu/rowexp.h"

enum { SOFTMAX_ROW = 8192 };

VEC_INLINE void softmax_out(enum native_kind kind, bool stream, void *out, int64_t at, vec y)
{
    if (stream)
        vec_stream(kind, out, at, y);
    else
        vec_store(kind, out, at, y);
}

/* out[at + i] = e[i] * scale for i in [0, n); a streamed line is a whole line. */
VEC_INLINE void softmax_scale(enum native_kind kind, bool stream, void *out, int64_t at,
                              const float *e, int64_t n, float scale)
{
    const int64_t line = kind == NATIVE_F32 ? 16 : 32; /* elements of 64 bytes */
    int64_t head = stream ? -at & (line - 1) : 0, i = 0;
    head = head < n ? head : n;
    vec by = vec_set(scale);
    while (i < head) {
        int64_t count = head - i < VEC_LANES ? head - i : VEC_LANES;
        vec_store_part(kind, out, at + i, vec_mul(vec_load_part(NATIVE_F32, e, i, count), by),
                       count);
        i += count;
    }
    for (; i + ROWEXP_UNROLL * VEC_LANES <= n; i += ROWEXP_UNROLL * VEC_LANES)
        for (int k = 0; k < ROWEXP_UNROLL; k++) {
            int64_t j = i + k * VEC_LANES;
            softmax_out(kind, stream, out, at + j, vec_mul(vec_load(NATIVE_F32, e, j), by));
        }
    while (i < n) {
        int64_t count = n - i < VEC_LANES ? n - i : VEC_LANES;
        vec_store_part(kind, out, at + i, vec_mul(vec_load_part(NATIVE_F32, e, i, count), by),
                       count);
        i += count;
    }
}

VEC_INLINE void softmax_long_row(enum native_kind kind, bool stream, const void *x, void *out,
                                 int64_t at, int64_t dim, float *e)
{
    struct rowexp_total total = rowexp_total(kind, x, at, dim);
    for (int64_t i = 0; i < dim; i += SOFTMAX_ROW) {
        int64_t n = dim - i < SOFTMAX_ROW ? dim - i : SOFTMAX_ROW;
        rowexp_sum(kind, x, at + i, n, total.max, e);
        softmax_scale(kind, stream, out, at + i, e, n, (float)(1 / total.sum));
    }
}

VEC_INLINE double softmax(enum native_kind kind, bool stream, const struct native_job *job,
                          const struct assay_args *args, int64_t begin, int64_t end)
{
    const void *x = args->in[0];
    void *out = args->out[0];
    _Alignas(64) float e[SOFTMAX_ROW];
    for (int64_t r = begin; r < end; r++) {
        int64_t at = r * job->dim;
        if (job->dim > SOFTMAX_ROW) {
            softmax_long_row(kind, stream, x, out, at, job->dim, e);
            continue;
        }
        float max = rowexp_max(kind, x, at, job->dim);
        float sum = rowexp_sum(kind, x, at, job->dim, max, e);
        softmax_scale(kind, stream, out, at, e, job->dim, 1 / sum);
    }
    if (stream)
        vec_stream_end();
    return 0;
}

NATIVE_KERNEL(softmax, NATIVE_ROWS, false);

#endif
