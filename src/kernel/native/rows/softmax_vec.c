/* softmax_vec.c: softmax over rows.
 *
 * A row of up to SOFTMAX_ROW elements: its maximum, then exp(x - max) into a buffer with its sum,
 * then the buffer over the sum. Only the first pass reads memory. A longer row is read twice:
 * blocks of it with a running maximum, to which the sum so far is rescaled; then the outputs.
 *
 * A row with NaN or +infinity in it, or with nothing but -infinity, is NaN throughout: x - max is
 * NaN somewhere, so the sum is. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/rows/rowexp.h"

/* Rows up to SOFTMAX_FUSED elements may go two at a time: both buffers stay in the L1 cache. */
enum { SOFTMAX_ROW = 8192, SOFTMAX_FUSED = 2048 };

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

/* What the fused loop hands on from row to row. */
struct softmax_flow {
    float max, sum, next_max; /* of the row at hand; of the next */
};

/* Three neighbouring rows in one loop: exp(x - max) of the row at `at`, with its sum; the outputs
 * of the row before it; and, where there are `more` (a constant), the maximum of the row behind it.
 * So memory is read and written all the time, during the arithmetic. Rows begin on cache lines. */
VEC_INLINE void softmax_fused(enum native_kind kind, bool more, const void *x, void *out,
                              int64_t at, int64_t dim, float *e, const float *before,
                              struct softmax_flow *flow)
{
    vec minus = vec_set(flow->max), by = vec_set(1 / flow->sum), sum[2 * ROWEXP_PAIRS];
    vec max[2 * ROWEXP_PAIRS];
    for (int k = 0; k < 2 * ROWEXP_PAIRS; k++) {
        sum[k] = vec_set(0.0f);
        max[k] = vec_set(-INFINITY);
    }
    int64_t i = 0, ahead = dim * (kind == NATIVE_F32 ? 4 : 2);
    for (; i + ROWEXP_STEP <= dim; i += ROWEXP_STEP)
        for (int k = 0; k < ROWEXP_PAIRS; k++) {
            int64_t j = i + k * 2 * VEC_LANES;
            if (more) {
                vec_prefetch_far(kind, x, at + dim + j, ahead);
                vec_prefetch_near(kind, x, at + dim + j);
                struct vec_pair next = vec_load_pair(kind, x, at + dim + j);
                max[2 * k] = vec_max(next.a, max[2 * k]);
                max[2 * k + 1] = vec_max(next.b, max[2 * k + 1]);
            }
            struct vec_pair q = vec_load_pair(NATIVE_F32, before, j);
            q = (struct vec_pair){vec_mul(q.a, by), vec_mul(q.b, by)};
            vec_store_pair(kind, true, out, at - dim + j, q);
            struct vec_pair p = rowexp_pair(kind, x, at + j, minus);
            sum[2 * k] = vec_add(sum[2 * k], p.a);
            sum[2 * k + 1] = vec_add(sum[2 * k + 1], p.b);
            vec_store_pair(NATIVE_F32, false, e, j, p);
        }
    softmax_scale_parts(kind, out, at - dim, before, i, dim, by);
    rowexp_parts(kind, x, at, i, dim, minus, e, &sum[0]);
    flow->sum = vec_sum(vec_add(vec_add(sum[0], sum[1]), vec_add(sum[2], sum[3])));
    if (more) {
        float rest = rowexp_max(kind, x, at + dim + i, dim - i);
        float most = vec_greatest(vec_max(vec_max(max[0], max[1]), vec_max(max[2], max[3])));
        flow->next_max = most > rest ? most : rest;
    }
}

VEC_INLINE void softmax_streamed_rows(enum native_kind kind, const void *x, void *out,
                                      int64_t begin, int64_t end, int64_t dim)
{
    _Alignas(64) float buffer[2][SOFTMAX_FUSED];
    struct softmax_flow flow = {.max = rowexp_max(kind, x, begin * dim, dim)};
    flow.sum = rowexp_sum(kind, x, begin * dim, 0, dim, flow.max, buffer[begin & 1]);
    if (begin + 1 < end)
        flow.max = rowexp_max(kind, x, (begin + 1) * dim, dim);
    for (int64_t r = begin + 1; r < end; r++) {
        float *e = buffer[r & 1], *before = buffer[~r & 1];
        if (r + 1 < end)
            softmax_fused(kind, true, x, out, r * dim, dim, e, before, &flow);
        else
            softmax_fused(kind, false, x, out, r * dim, dim, e, before, &flow);
        flow.max = flow.next_max;
    }
    softmax_scale(kind, true, out, (end - 1) * dim, buffer[(end - 1) & 1], 0, dim, 1 / flow.sum);
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
    if (stream && job->dim <= SOFTMAX_FUSED && native_head(kind, job->dim, 64) == 0) {
        softmax_streamed_rows(kind, x, out, begin, end, job->dim);
        begin = end;
    }
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

#define NATIVE_OP softmax
NATIVE_KERNEL(softmax, NATIVE_ROWS, false);
