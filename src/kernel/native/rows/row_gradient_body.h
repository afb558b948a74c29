/* row_gradient_body.h: the body of softmax_backward, layernorm_backward, layernorm_gelu_backward
 * and rmsnorm_backward.
 *
 * Two passes over a row: sums over it, then outputs; the second finds the row in the cache. While
 * the outputs of a row are written, the sums of the next are taken, so that memory is read and
 * written all the time. With xhat = (x - mean) rstd:
 *
 *   softmax    dx = y (dy - sum(dy y))
 *   the norms  dx = rstd (dy gamma - mean(dy gamma) - xhat mean(dy gamma xhat))
 *              dgamma = sum of dy xhat over rows, dbeta = sum of dy: columns (native.h)
 *
 * rmsnorm has no mean, no mean(dy gamma) and no dbeta. Behind layernorm_gelu dy stands for
 * dz = dy gelu'(xhat gamma + beta), which the first pass leaves in scratch memory for the second.
 * Include vec.h first and define ROWGRAD_OF,
 * one of enum rowgrad_of_what below; behind it, make a kernel of rowgrad and rowgrad_finish. */
#ifndef ASSAY_KERNEL_NATIVE_ROW_GRADIENT_BODY_H
#define ASSAY_KERNEL_NATIVE_ROW_GRADIENT_BODY_H

#include "kernel/native/vec/vec_math.h"

enum rowgrad_of_what {
    ROWGRAD_SOFTMAX,
    ROWGRAD_RMSNORM,
    ROWGRAD_LAYERNORM,
    ROWGRAD_LAYERNORM_GELU
};

enum {
    ROWGRAD_NORM = ROWGRAD_OF != ROWGRAD_SOFTMAX,
    ROWGRAD_GELU = ROWGRAD_OF == ROWGRAD_LAYERNORM_GELU,
    ROWGRAD_CENTRE = ROWGRAD_OF == ROWGRAD_LAYERNORM || ROWGRAD_GELU,
    ROWGRAD_COLUMNS = ROWGRAD_CENTRE ? 2 : 1
};

/* Longer rows would not all stay in the L1 cache, two of two inputs, beside the columns. How far
 * ahead to prefetch, in bytes, with and without that overlap. */
enum { ROWGRAD_BYTES = 6144, ROWGRAD_AHEAD = 4096, ROWGRAD_AHEAD_ALONE = 2048 };

/* Are the sums of the next row taken meanwhile? softmax in f32 is faster without (1.10 times,
 * Zen 5); with gelu there is enough to do while memory is read. */
VEC_INLINE bool rowgrad_overlaps(enum native_kind kind)
{
    return !ROWGRAD_GELU && (ROWGRAD_NORM || kind != NATIVE_F32);
}

/* The tensors, taken out of struct assay_args before the loops. softmax has y for x, and no more.
 */
struct rowgrad_tensors {
    const void *dy, *x, *gamma;
    const float *mean, *rstd;
    void *out;
    float *dgamma, *dbeta; /* this thread's columns */
    int64_t dim;
    const void *beta; /* with gelu */
    float *dz;        /* with gelu: of the row at hand, in the order of the pairs */
};

/* What a row's outputs are made of. softmax: y (dy - minus). The norms: with t = dy rstd and
 * c = x - mean, t gamma + c slope + offset. */
struct rowgrad_row {
    vec mean, rstd, slope, offset;
};

/* Sums over a row, for each vector of a pair. */
struct rowgrad_sums {
    vec g[2], gx[2];
};

VEC_INLINE void rowgrad_clear(struct rowgrad_sums *s)
{
    s->g[0] = s->g[1] = s->gx[0] = s->gx[1] = vec_set(0.0f);
}

VEC_INLINE void rowgrad_add(vec dy, vec x, vec gamma, vec mean, vec *g, vec *gx)
{
    vec term = ROWGRAD_NORM ? vec_mul(dy, gamma) : dy;
    if (ROWGRAD_CENTRE) {
        *g = vec_add(*g, term);
        x = vec_sub(x, mean);
    }
    *gx = vec_fma(term, x, *gx);
}

VEC_INLINE struct vec_pair rowgrad_load(enum native_kind kind, const void *x, int64_t at)
{
    vec_prefetch_far(kind, x, at, rowgrad_overlaps(kind) ? ROWGRAD_AHEAD : ROWGRAD_AHEAD_ALONE);
    vec_prefetch_near(kind, x, at);
    return vec_load_pair(kind, x, at);
}

VEC_INLINE struct vec_pair rowgrad_gamma(enum native_kind kind, const struct rowgrad_tensors *t,
                                         int64_t i)
{
    if (ROWGRAD_NORM)
        return vec_load_pair(kind, t->gamma, i);
    return (struct vec_pair){vec_set(1.0f), vec_set(1.0f)};
}

/* Adds the pair at element `at` of the tensors to a row's sums, and prefetches what follows. */
VEC_INLINE void rowgrad_add_pair(enum native_kind kind, const struct rowgrad_tensors *t, int64_t at,
                                 struct vec_pair gamma, vec mean, struct rowgrad_sums *s)
{
    struct vec_pair dy = rowgrad_load(kind, t->dy, at), x = rowgrad_load(kind, t->x, at);
    rowgrad_add(dy.a, x.a, gamma.a, mean, &s->g[0], &s->gx[0]);
    rowgrad_add(dy.b, x.b, gamma.b, mean, &s->g[1], &s->gx[1]);
}

/* Elements [from, to) of a row that begins at element `at`, in parts of a vector. */
VEC_INLINE void rowgrad_add_parts(enum native_kind kind, const struct rowgrad_tensors *t,
                                  int64_t at, int64_t from, int64_t to, vec mean,
                                  struct rowgrad_sums *s)
{
    for (int64_t i = from; i < to; i += VEC_LANES) {
        int64_t n = to - i < VEC_LANES ? to - i : VEC_LANES;
        vec dy = vec_load_part(kind, t->dy, at + i, n), x = vec_load_part(kind, t->x, at + i, n);
        vec gamma = ROWGRAD_NORM ? vec_load_part(kind, t->gamma, i, n) : dy;
        rowgrad_add(dy, x, gamma, mean, &s->g[0], &s->gx[0]);
    }
}

VEC_INLINE vec rowgrad_mean(const struct rowgrad_tensors *t, int64_t row)
{
    return vec_set(ROWGRAD_CENTRE ? t->mean[row] : 0.0f);
}

/* dy at element i of a row that begins at element `at`; behind gelu, dz. */
VEC_INLINE struct vec_pair rowgrad_dy_pair(enum native_kind kind, const struct rowgrad_tensors *t,
                                           int64_t at, int64_t i)
{
    return ROWGRAD_GELU ? vec_load_pair(NATIVE_F32, t->dz, i) : vec_load_pair(kind, t->dy, at + i);
}

VEC_INLINE vec rowgrad_dy_part(enum native_kind kind, const struct rowgrad_tensors *t, int64_t at,
                               int64_t i, int64_t n)
{
    return ROWGRAD_GELU ? vec_load_part(NATIVE_F32, t->dz, i, n)
                        : vec_load_part(kind, t->dy, at + i, n);
}

/* dy becomes dz: x - mean is exact near the mean, as it is in the sums. */
VEC_INLINE vec rowgrad_slope(vec dy, vec x, vec gamma, vec beta, vec mean, vec rstd)
{
    vec xhat = vec_mul(vec_sub(x, mean), rstd);
    return vec_mul(dy, vec_gelu_slope(vec_fma(xhat, gamma, beta)));
}

/* The first pass over row r behind gelu: dz, and its sums. */
VEC_INLINE void rowgrad_sum_slopes(enum native_kind kind, const struct rowgrad_tensors *t,
                                   int64_t r, struct rowgrad_sums *s)
{
    vec mean = rowgrad_mean(t, r), rstd = vec_set(t->rstd[r]);
    int64_t i = 0, at = r * t->dim;
    for (; i + 2 * VEC_LANES <= t->dim; i += 2 * VEC_LANES) {
        struct vec_pair dz = rowgrad_load(kind, t->dy, at + i);
        struct vec_pair x = rowgrad_load(kind, t->x, at + i);
        struct vec_pair gamma = rowgrad_gamma(kind, t, i), beta = vec_load_pair(kind, t->beta, i);
        dz.a = rowgrad_slope(dz.a, x.a, gamma.a, beta.a, mean, rstd);
        dz.b = rowgrad_slope(dz.b, x.b, gamma.b, beta.b, mean, rstd);
        rowgrad_add(dz.a, x.a, gamma.a, mean, &s->g[0], &s->gx[0]);
        rowgrad_add(dz.b, x.b, gamma.b, mean, &s->g[1], &s->gx[1]);
        vec_store_pair(NATIVE_F32, false, t->dz, i, dz);
    }
    for (; i < t->dim; i += VEC_LANES) {
        int64_t n = t->dim - i < VEC_LANES ? t->dim - i : VEC_LANES;
        vec dz = vec_load_part(kind, t->dy, at + i, n), x = vec_load_part(kind, t->x, at + i, n);
        vec gamma = vec_load_part(kind, t->gamma, i, n), beta = vec_load_part(kind, t->beta, i, n);
        dz = rowgrad_slope(dz, x, gamma, beta, mean, rstd);
        rowgrad_add(dz, x, gamma, mean, &s->g[0], &s->gx[0]);
        vec_store_part(NATIVE_F32, t->dz, i, dz, n);
    }
}

VEC_INLINE struct rowgrad_row rowgrad_row_of(const struct rowgrad_tensors *t, int64_t row,
                                             const struct rowgrad_sums *s)
{
    double gx = (double)vec_sum(vec_add(s->gx[0], s->gx[1]));
    if (!ROWGRAD_NORM)
        return (struct rowgrad_row){.offset = vec_set((float)gx)};
    double g = ROWGRAD_CENTRE ? (double)vec_sum(vec_add(s->g[0], s->g[1])) : 0;
    double rstd = (double)t->rstd[row], part = rstd / (double)t->dim;
    return (struct rowgrad_row){.mean = rowgrad_mean(t, row),
                                .rstd = vec_set(t->rstd[row]),
                                .slope = vec_set((float)(-rstd * rstd * part * gx)),
                                .offset = vec_set((float)(-part * g))};
}

VEC_INLINE vec rowgrad_of(const struct rowgrad_row *row, vec dy, vec x, vec gamma, vec *dgamma,
                          vec *dbeta)
{
    if (!ROWGRAD_NORM)
        return vec_mul(x, vec_sub(dy, row->offset));
    vec t = vec_mul(dy, row->rstd), c = ROWGRAD_CENTRE ? vec_sub(x, row->mean) : x;
    *dgamma = vec_fma(t, c, *dgamma);
    if (ROWGRAD_CENTRE)
        *dbeta = vec_add(*dbeta, dy);
    vec rest = ROWGRAD_CENTRE ? vec_fma(c, row->slope, row->offset) : vec_mul(c, row->slope);
    return vec_fma(t, gamma, rest);
}

VEC_INLINE void rowgrad_out_parts(enum native_kind kind, const struct rowgrad_tensors *t,
                                  int64_t at, int64_t from, int64_t to,
                                  const struct rowgrad_row *row)
{
    for (int64_t i = from; i < to; i += VEC_LANES) {
        int64_t n = to - i < VEC_LANES ? to - i : VEC_LANES;
        vec dy = rowgrad_dy_part(kind, t, at, i, n), x = vec_load_part(kind, t->x, at + i, n);
        vec gamma = dy, dgamma = dy, dbeta = dy;
        if (ROWGRAD_NORM) {
            gamma = vec_load_part(kind, t->gamma, i, n);
            dgamma = vec_load_part(NATIVE_F32, t->dgamma, i, n);
        }
        if (ROWGRAD_CENTRE)
            dbeta = vec_load_part(NATIVE_F32, t->dbeta, i, n);
        vec_store_part(kind, t->out, at + i, rowgrad_of(row, dy, x, gamma, &dgamma, &dbeta), n);
        if (ROWGRAD_NORM)
            vec_store_part(NATIVE_F32, t->dgamma, i, dgamma, n);
        if (ROWGRAD_CENTRE)
            vec_store_part(NATIVE_F32, t->dbeta, i, dbeta, n);
    }
}

/* The outputs of a row at columns [i, i + 2 VEC_LANES), and, where there are `more` (a constant),
 * the sums of the one behind it. Of four rows at once the sums do not stay in registers: half as
 * fast. Columns lie in the order of the pairs of `kind`, which rowgrad_finish keeps. */
VEC_INLINE void rowgrad_step(enum native_kind kind, bool stream, bool more,
                             const struct rowgrad_tensors *t, int64_t at, int64_t i,
                             const struct rowgrad_row *row, vec next_mean,
                             struct rowgrad_sums *next)
{
    struct vec_pair gamma = rowgrad_gamma(kind, t, i), dgamma = gamma, dbeta = gamma;
    if (ROWGRAD_NORM)
        dgamma = vec_load_pair(NATIVE_F32, t->dgamma, i);
    if (ROWGRAD_CENTRE)
        dbeta = vec_load_pair(NATIVE_F32, t->dbeta, i);
    struct vec_pair dy = rowgrad_dy_pair(kind, t, at, i);
    struct vec_pair x = vec_load_pair(kind, t->x, at + i), dx;
    dx.a = rowgrad_of(row, dy.a, x.a, gamma.a, &dgamma.a, &dbeta.a);
    dx.b = rowgrad_of(row, dy.b, x.b, gamma.b, &dgamma.b, &dbeta.b);
    vec_store_pair(kind, stream, t->out, at + i, dx);
    if (more)
        rowgrad_add_pair(kind, t, at + i + t->dim, gamma, next_mean, next);
    if (ROWGRAD_NORM)
        vec_store_pair(NATIVE_F32, false, t->dgamma, i, dgamma);
    if (ROWGRAD_CENTRE)
        vec_store_pair(NATIVE_F32, false, t->dbeta, i, dbeta);
}

/* The sums of row r, which may be long. */
VEC_INLINE void rowgrad_sum_one(enum native_kind kind, const struct rowgrad_tensors *t, int64_t r,
                                struct rowgrad_sums s[2])
{
    vec mean = rowgrad_mean(t, r);
    int64_t at = r * t->dim, i = 0;
    rowgrad_clear(&s[0]);
    rowgrad_clear(&s[1]);
    if (ROWGRAD_GELU) {
        rowgrad_sum_slopes(kind, t, r, &s[0]);
        return;
    }
    for (; i + 4 * VEC_LANES <= t->dim; i += 4 * VEC_LANES)
        for (int k = 0; k < 2; k++) {
            int64_t j = i + k * 2 * VEC_LANES;
            rowgrad_add_pair(kind, t, at + j, rowgrad_gamma(kind, t, j), mean, &s[k]);
        }
    rowgrad_add_parts(kind, t, at, i, t->dim, mean, &s[0]);
    for (int k = 0; k < 2; k++) {
        s[0].g[k] = vec_add(s[0].g[k], s[1].g[k]);
        s[0].gx[k] = vec_add(s[0].gx[k], s[1].gx[k]);
    }
}

/* One row of any length and alignment. */
VEC_INLINE void rowgrad_one(enum native_kind kind, bool stream, const struct rowgrad_tensors *t,
                            int64_t r)
{
    struct rowgrad_sums sums[2];
    rowgrad_sum_one(kind, t, r, sums);
    struct rowgrad_row row = rowgrad_row_of(t, r, &sums[0]);
    int64_t at = r * t->dim, i;
    int64_t head = stream ? native_head(kind, at, t->dim) : 0;
    rowgrad_out_parts(kind, t, at, 0, head, &row);
    for (i = head; i + 2 * VEC_LANES <= t->dim; i += 2 * VEC_LANES)
        rowgrad_step(kind, stream, false, t, at, i, &row, vec_set(0.0f), NULL);
    rowgrad_out_parts(kind, t, at, i, t->dim, &row);
}

/* Row r, and, where there are `more` (a constant), the sums of the one behind it. */
VEC_INLINE void rowgrad_with_next(enum native_kind kind, bool stream, bool more,
                                  const struct rowgrad_tensors *t, int64_t r,
                                  const struct rowgrad_row *row, struct rowgrad_sums *next)
{
    int64_t i = 0, at = r * t->dim;
    vec next_mean = more ? rowgrad_mean(t, r + 1) : vec_set(0.0f);
    if (more)
        rowgrad_clear(next);
    for (; i + 2 * VEC_LANES <= t->dim; i += 2 * VEC_LANES)
        rowgrad_step(kind, stream, more, t, at, i, row, next_mean, next);
    rowgrad_out_parts(kind, t, at, i, t->dim, row);
    if (more)
        rowgrad_add_parts(kind, t, at + t->dim, i, t->dim, next_mean, next);
}

/* Rows from row r on, each with the sums of the next. Where `stream`, all begin on a cache line. */
VEC_INLINE void rowgrad_overlapping(enum native_kind kind, bool stream,
                                    const struct rowgrad_tensors *t, int64_t r, int64_t end)
{
    struct rowgrad_sums sums;
    int64_t i = 0, at = r * t->dim;
    if (r >= end)
        return;
    vec mean = rowgrad_mean(t, r);
    rowgrad_clear(&sums);
    for (; i + 2 * VEC_LANES <= t->dim; i += 2 * VEC_LANES)
        rowgrad_add_pair(kind, t, at + i, rowgrad_gamma(kind, t, i), mean, &sums);
    rowgrad_add_parts(kind, t, at, i, t->dim, mean, &sums);
    for (; r < end; r++) {
        struct rowgrad_row row = rowgrad_row_of(t, r, &sums);
        if (r + 1 < end)
            rowgrad_with_next(kind, stream, true, t, r, &row, &sums);
        else
            rowgrad_with_next(kind, stream, false, t, r, &row, &sums);
    }
}

VEC_INLINE void rowgrad_all(enum native_kind kind, bool stream, const struct rowgrad_tensors *t,
                            int64_t begin, int64_t end)
{
    int64_t bytes = t->dim * (kind == NATIVE_F32 ? 4 : 2);
    if (rowgrad_overlaps(kind) && bytes <= ROWGRAD_BYTES && (!stream || bytes % 64 == 0))
        rowgrad_overlapping(kind, stream, t, begin, end);
    else
        for (int64_t r = begin; r < end; r++)
            rowgrad_one(kind, stream, t, r);
    if (stream)
        vec_stream_end();
}

/* Of rows that do not begin on a cache line the pairs would lie at other columns in each: such rows
 * are not streamed where there are sums of columns. */
VEC_INLINE double rowgrad(enum native_kind kind, bool stream, const struct native_job *job,
                          const struct assay_args *args, int64_t begin, int64_t end)
{
    struct rowgrad_tensors t = {
        .dy = args->in[0], .x = args->in[1], .out = args->out[0], .dim = job->dim};
    if (ROWGRAD_NORM) {
        t.gamma = args->in[2];
        t.mean = args->in[3];
        t.rstd = args->in[ROWGRAD_CENTRE ? 4 : 3];
        t.dgamma = job->columns.own;
        t.dbeta = job->columns.own + job->columns.width;
        t.dz = t.dbeta + job->columns.width;
        t.beta = ROWGRAD_GELU ? args->in[5] : NULL;
    }
    if (stream && ROWGRAD_NORM && native_head(kind, job->dim, 64) != 0)
        rowgrad_all(kind, false, &t, begin, end);
    else
        rowgrad_all(kind, stream, &t, begin, end);
    return 0;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The sum over the threads, in their order. */
VEC_INLINE struct vec_pair rowgrad_total_pair(const struct native_columns *c, int64_t at)
{
    struct vec_pair total = vec_load_pair(NATIVE_F32, c->first, at);
    for (int32_t t = 1; t < c->threads; t++) {
        struct vec_pair p = vec_load_pair(NATIVE_F32, c->first, t * c->stride + at);
        total.a = vec_add(total.a, p.a);
        total.b = vec_add(total.b, p.b);
    }
    return total;
}

VEC_INLINE vec rowgrad_total_part(const struct native_columns *c, int64_t at, int64_t n)
{
    vec total = vec_load_part(NATIVE_F32, c->first, at, n);
    for (int32_t t = 1; t < c->threads; t++)
        total = vec_add(total, vec_load_part(NATIVE_F32, c->first, t * c->stride + at, n));
    return total;
}

VEC_INLINE double rowgrad_finish(enum native_kind kind, const struct native_job *job,
                                 const struct assay_args *args, int64_t begin, int64_t end)
{
    const struct native_columns *c = &job->columns;
    for (int v = 0; v < ROWGRAD_COLUMNS; v++) {
        int64_t i = begin;
        for (; i + 2 * VEC_LANES <= end; i += 2 * VEC_LANES)
            vec_store_pair(kind, false, args->out[1 + v], i,
                           rowgrad_total_pair(c, v * c->width + i));
        for (; i < end; i += VEC_LANES) {
            int64_t n = end - i < VEC_LANES ? end - i : VEC_LANES;
            vec_store_part(kind, args->out[1 + v], i, rowgrad_total_part(c, v * c->width + i, n),
                           n);
        }
    }
    return 0;
}

#endif
