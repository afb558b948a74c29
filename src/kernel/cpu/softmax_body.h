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

VEC_INLINE void softmax_scale_parts(enum native_kind kind, void *out, int64_t at, const float *e,
                                    int64_t from, int64_t to, vec scale)
{
    for (int64_t i = from; i < to; i += VEC_LANES) {
        int64_t n = to - i < VEC_LANES ? to - i : VEC_LANES;
        vec y = vec_mul(vec_load_part(NATIVE_F32, e, i, n), scale);
        vec_store_part(kind, out, at + i, y, n);
    }
}

/* out[at + i] = e[i] * scale for i in [0, n); e as rowexp_sum left it. */
VEC_INLINE void softmax_scale(enum native_kind kind, bool stream, void *out, int64_t at,
                              const float *e, int64_t head, int64_t n, float scale)
{
    vec by = vec_set(scale);
    int64_t i = head;
    softmax_scale_parts(kind, out, at, e, 0, head, by);
    for (; i + ROWEXP_STEP <= n; i += ROWEXP_STEP)
        for (int k = 0; k < ROWEXP_PAIRS; k++) {
            int64_t j = i + k * 2 * VEC_LANES;
            struct vec_pair p = vec_load_pair(NATIVE_F32, e, j);
            p.a = vec_mul(p.a, by);
            p.b = vec_mul(p.b, by);
            vec_store_pair(kind, stream, out, at + j, p);
        }
    softmax_scale_parts(kind, out, at, e, i, n, by);
}

VEC_INLINE void softmax_long_row(enum native_kind kind, bool stream, const void *x, void *out,
                                 int64_t at, int64_t dim, float *buffer)
{
    struct rowexp_total total = rowexp_total(kind, x, at, dim);
    for (int64_t i = 0; i < dim; i += SOFTMAX_ROW) {
        int64_t n = dim - i < SOFTMAX_ROW ? dim - i : SOFTMAX_ROW;
        int64_t head = stream ? native_head(kind, at + i, n) : 0;
        float *e = buffer + (-head & 15);
        rowexp_sum(kind, x, at + i, head, n, total.max, e);
        softmax_scale(kind, stream, out, at + i, e, head, n, (float)(1 / total.sum));
    }
}

VEC_INLINE double softmax(enum native_kind kind, bool stream, const struct native_job *job,
                          const struct assay_args *args, int64_t begin, int64_t end)
{
    const void *x = args->in[0];
    void *out = args->out[0];
    _Alignas(64) float buffer[SOFTMAX_ROW + 16];
    for (int64_t r = begin; r < end; r++) {
        int64_t at = r * job->dim;
        if (job->dim > SOFTMAX_ROW) {
            softmax_long_row(kind, stream, x, out, at, job->dim, buffer);
            continue;
        }
        int64_t head = stream ? native_head(kind, at, job->dim) : 0;
        float *e = buffer + (-head & 15); /* so that the pairs in it are aligned */
        float max = rowexp_max(kind, x, at, job->dim);
        float sum = rowexp_sum(kind, x, at, head, job->dim, max, e);
        softmax_scale(kind, stream, out, at, e, head, job->dim, 1 / sum);
    }
    if (stream)
        vec_stream_end();
    return 0;
}

NATIVE_KERNEL(softmax, NATIVE_ROWS, false);

#endif
