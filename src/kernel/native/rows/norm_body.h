/* norm_body.h: the body of layernorm, rmsnorm and layernorm_gelu, and of their forward passes in
 * training.
 *
 * Two passes over a row: sums (norm_row.h), then outputs; the second finds the row in the cache.
 * Include vec.h first and define NATIVE_OP, and NORM_CENTRE (subtract the mean, add beta:
 * layernorm), NORM_GELU (that, and gelu of it) or NORM_SAVE (each row's statistics are outputs,
 * too) as 1 where they hold. */
#ifndef ASSAY_KERNEL_NATIVE_NORM_BODY_H
#define ASSAY_KERNEL_NATIVE_NORM_BODY_H

#include "kernel/native/rows/norm_row.h"
#include "kernel/native/vec/vec_rows.h"

#ifndef NORM_CENTRE
#define NORM_CENTRE 0
#endif
#ifndef NORM_SAVE
#define NORM_SAVE 0
#endif
#ifdef NORM_GELU
#include "kernel/native/vec/vec_math.h"
#define NORM_OUTPUT(y) vec_gelu(y)
#else
#define NORM_GELU 0
#define NORM_OUTPUT(y) (y)
#endif

/* Short rows go several at a time: one load of gamma and beta serves them all, and the wait for one
 * row's mean and root overlaps the others'. NORM_BYTES is the longest row for which the rows at
 * hand and the next ones stay close to the L1 cache. Two of f32: four rows of 4096 bytes each would
 * meet in the same few sets of the cache (measured: 1.1 times as slow). With gelu there are too few
 * registers for more. */
enum { NORM_ROWS = 4, NORM_BYTES = 6144 };

VEC_INLINE int norm_rows(enum native_kind kind) { return NORM_GELU || kind == NATIVE_F32 ? 2 : 4; }

/* The tensors, taken out of struct assay_args before the loops: the compiler must assume that a
 * vector's store changes anything it finds through a pointer. rmsnorm has no beta; it is gamma
 * there, and not used. */
struct norm_tensors {
    const void *x, *gamma, *beta;
    void *out;
    float *mean, *rstd; /* with NORM_SAVE: of each row */
};

/* What is known of row r from its unshifted sums; it is saved. */
VEC_INLINE struct norm_row norm_row_at(enum native_kind kind, struct norm_tensors t, int64_t r,
                                       int64_t dim, struct norm_sums sums, double eps)
{
    struct norm_row row = norm_row_of(kind, NORM_CENTRE, t.x, r * dim, dim, sums, eps);
    if (NORM_SAVE)
        t.rstd[r] = row.scale;
    if (NORM_SAVE && NORM_CENTRE)
        t.mean[r] = norm_mean(&row);
    return row;
}

/* Unshifted sums of several short rows, gathered while something else goes on. */
struct norm_gather {
    vec sum[NORM_ROWS][2], sum_sq[NORM_ROWS][2];
};

VEC_INLINE void norm_gather_init(struct norm_gather *g)
{
    for (int r = 0; r < NORM_ROWS; r++)
        g->sum[r][0] = g->sum[r][1] = g->sum_sq[r][0] = g->sum_sq[r][1] = vec_set(0.0f);
}

/* The pair at `at` of row r; prefetches the same pair of the next rows, `ahead` bytes on. */
VEC_INLINE void norm_gather_pair(enum native_kind kind, const void *x, int64_t at, int64_t ahead,
                                 int r, struct norm_gather *g)
{
    vec_prefetch_far(kind, x, at, ahead);
    vec_prefetch_near(kind, x, at);
    struct vec_pair p = vec_load_pair(kind, x, at);
    norm_add(NORM_CENTRE, p.a, &g->sum[r][0], &g->sum_sq[r][0]);
    norm_add(NORM_CENTRE, p.b, &g->sum[r][1], &g->sum_sq[r][1]);
}

/* What is left of the rows behind `from`, and the sums. */
VEC_INLINE void norm_gather_end(enum native_kind kind, const void *x, int64_t at, int64_t from,
                                int64_t n, struct norm_gather *g, struct norm_sums *sums)
{
    for (int r = 0; r < norm_rows(kind); r++) {
        for (int64_t i = from; i < n; i += VEC_LANES) {
            int64_t count = n - i < VEC_LANES ? n - i : VEC_LANES;
            norm_add(NORM_CENTRE, vec_load_part(kind, x, at + r * n + i, count), &g->sum[r][0],
                     &g->sum_sq[r][0]);
        }
        sums[r].sum = NORM_CENTRE ? (double)vec_sum(vec_add(g->sum[r][0], g->sum[r][1])) : 0;
        sums[r].sum_sq = (double)vec_sum(vec_add(g->sum_sq[r][0], g->sum_sq[r][1]));
    }
}

VEC_INLINE void norm_sums_rows(enum native_kind kind, const void *x, int64_t at, int64_t n,
                               struct norm_sums *sums)
{
    struct norm_gather g;
    int64_t i = 0, ahead = norm_rows(kind) * n * (kind == NATIVE_F32 ? 4 : 2);
    norm_gather_init(&g);
    for (; i + 2 * VEC_LANES <= n; i += 2 * VEC_LANES)
        for (int r = 0; r < norm_rows(kind); r++)
            norm_gather_pair(kind, x, at + r * n + i, ahead, r, &g);
    norm_gather_end(kind, x, at, i, n, &g, sums);
}

/* `shifted` is a constant, false where row->shift is 0. */
VEC_INLINE vec norm_apply(const struct norm_row *row, bool shifted, vec x, vec gamma, vec beta)
{
    vec normal = norm_normal(NORM_CENTRE, row, shifted, x);
    vec y = NORM_CENTRE ? vec_fma(normal, gamma, beta) : vec_mul(normal, gamma);
    return NORM_OUTPUT(y);
}

VEC_INLINE struct vec_pair norm_apply_pair(const struct norm_row *row, bool shifted,
                                           struct vec_pair x, struct vec_pair gamma,
                                           struct vec_pair beta)
{
    return (struct vec_pair){norm_apply(row, shifted, x.a, gamma.a, beta.a),
                             norm_apply(row, shifted, x.b, gamma.b, beta.b)};
}

/* Elements [from, to) of a row that begins at element `at`, in parts of a vector. */
VEC_INLINE void norm_apply_parts(enum native_kind kind, struct norm_tensors t, int64_t at,
                                 int64_t from, int64_t to, const struct norm_row *row)
{
    for (int64_t i = from; i < to; i += VEC_LANES) {
        int64_t n = to - i < VEC_LANES ? to - i : VEC_LANES;
        vec x = vec_load_part(kind, t.x, at + i, n);
        vec gamma = vec_load_part(kind, t.gamma, i, n), beta = vec_load_part(kind, t.beta, i, n);
        vec_store_part(kind, t.out, at + i, norm_apply(row, true, x, gamma, beta), n);
    }
}

/* One row of any length and alignment. */
VEC_INLINE void norm_one(enum native_kind kind, bool stream, struct norm_tensors t, int64_t r,
                         int64_t dim, double eps)
{
    int64_t at = r * dim;
    struct norm_sums sums = norm_sums_row(kind, NORM_CENTRE, t.x, at, dim, false, 0.0f);
    struct norm_row row = norm_row_at(kind, t, r, dim, sums, eps);
    int64_t i = stream ? native_head(kind, at, dim) : 0;
    norm_apply_parts(kind, t, at, 0, i, &row);
    for (; i + NORM_STEP <= dim; i += NORM_STEP)
        for (int k = 0; k < NORM_PAIRS; k++) {
            int64_t j = i + k * 2 * VEC_LANES;
            struct vec_pair x = vec_load_pair(kind, t.x, at + j);
            struct vec_pair gamma = vec_load_pair(kind, t.gamma, j),
                            beta = vec_load_pair(kind, t.beta, j);
            x = norm_apply_pair(&row, true, x, gamma, beta);
            vec_store_pair(kind, stream, t.out, at + j, x);
        }
    norm_apply_parts(kind, t, at, i, dim, &row);
}

/* The outputs of several short rows and, where there are `more` (a constant), the sums of the
 * next: memory is read and written all the time, as in a copy, not by turns. */
VEC_INLINE void norm_apply_rows(enum native_kind kind, bool stream, bool shifted, bool more,
                                struct norm_tensors t, int64_t at, int64_t dim,
                                const struct norm_row *row, struct norm_sums *next)
{
    struct norm_gather g;
    int64_t i = 0, step = norm_rows(kind) * dim, ahead = step * (kind == NATIVE_F32 ? 4 : 2);
    norm_gather_init(&g);
    for (; i + 2 * VEC_LANES <= dim; i += 2 * VEC_LANES) {
        struct vec_pair gamma = vec_load_pair(kind, t.gamma, i),
                        beta = vec_load_pair(kind, t.beta, i);
        for (int r = 0; r < norm_rows(kind); r++) {
            int64_t j = at + r * dim + i;
            struct vec_pair x = vec_load_pair(kind, t.x, j);
            x = norm_apply_pair(&row[r], shifted, x, gamma, beta);
            vec_store_pair(kind, stream, t.out, j, x);
            if (more)
                norm_gather_pair(kind, t.x, j + step, ahead, r, &g);
        }
    }
    for (int r = 0; r < norm_rows(kind); r++)
        norm_apply_parts(kind, t, at + r * dim, i, dim, &row[r]);
    if (more)
        norm_gather_end(kind, t.x, at + step, i, dim, &g, next);
}

/* Groups of short rows from row r on, as many as there are; returns the row behind them.
 * Where `stream`, all rows begin on a cache line. */
VEC_INLINE int64_t norm_groups(enum native_kind kind, bool stream, struct norm_tensors t, int64_t r,
                               int64_t end, int64_t dim, double eps)
{
    struct norm_sums sums[NORM_ROWS];
    struct norm_row row[NORM_ROWS];
    const int rows = norm_rows(kind);
    if (r + rows <= end)
        norm_sums_rows(kind, t.x, r * dim, dim, sums);
    for (; r + rows <= end; r += rows) {
        bool shifted = false, more = r + 2 * rows <= end;
        for (int k = 0; k < norm_rows(kind); k++) {
            row[k] = norm_row_at(kind, t, r + k, dim, sums[k], eps);
            shifted |= row[k].shift != 0;
        }
        if (more && !shifted)
            norm_apply_rows(kind, stream, false, true, t, r * dim, dim, row, sums);
        else
            norm_apply_rows(kind, stream, true, false, t, r * dim, dim, row, sums);
        if (more && shifted)
            norm_sums_rows(kind, t.x, (r + rows) * dim, dim, sums);
    }
    return r;
}

/* ---- rows of a few vectors: a batch of as many rows as a vector has lanes, whose sums across
 * lanes are taken all at once
 * ------------------------------------------------------------------------ */

enum { NORM_BATCH_DIM = 8 * VEC_LANES };

VEC_INLINE bool norm_fits_batch(int64_t dim)
{
    return dim <= NORM_BATCH_DIM && dim % (2 * VEC_LANES) == 0;
}

/* Unshifted sums of the rows from element `at` on. */
VEC_INLINE void norm_sums_batch(enum native_kind kind, const void *x, int64_t at, int64_t dim,
                                struct norm_sums *sums)
{
    vec sum[VEC_LANES], sum_sq[VEC_LANES];
    float totals[VEC_LANES] = {0}, totals_sq[VEC_LANES];
    int64_t ahead = VEC_LANES * dim * (kind == NATIVE_F32 ? 4 : 2);
    for (int r = 0; r < VEC_LANES; r++) {
        vec own[2] = {vec_set(0.0f), vec_set(0.0f)}, own_sq[2] = {own[0], own[1]};
        for (int64_t i = 0; i < dim; i += 2 * VEC_LANES, at += 2 * VEC_LANES) {
            vec_prefetch_far(kind, x, at, ahead);
            struct vec_pair p = vec_load_pair(kind, x, at);
            norm_add(NORM_CENTRE, p.a, &own[0], &own_sq[0]);
            norm_add(NORM_CENTRE, p.b, &own[1], &own_sq[1]);
        }
        sum[r] = vec_add(own[0], own[1]);
        sum_sq[r] = vec_add(own_sq[0], own_sq[1]);
    }
    if (NORM_CENTRE)
        vec_store(NATIVE_F32, totals, 0, vec_sum_rows(sum));
    vec_store(NATIVE_F32, totals_sq, 0, vec_sum_rows(sum_sq));
    for (int r = 0; r < VEC_LANES; r++)
        sums[r] = (struct norm_sums){(double)totals[r], (double)totals_sq[r]};
}

/* Batches of rows from row r on, as many as there are; returns the row behind them. */
VEC_INLINE int64_t norm_batches(enum native_kind kind, bool stream, struct norm_tensors t,
                                int64_t r, int64_t end, int64_t dim, double eps)
{
    struct norm_sums sums[VEC_LANES];
    for (; r + VEC_LANES <= end; r += VEC_LANES) {
        norm_sums_batch(kind, t.x, r * dim, dim, sums);
        for (int k = 0; k < VEC_LANES; k++) {
            int64_t at = (r + k) * dim;
            struct norm_row row = norm_row_at(kind, t, r + k, dim, sums[k], eps);
            for (int64_t i = 0; i < dim; i += 2 * VEC_LANES) {
                struct vec_pair x = vec_load_pair(kind, t.x, at + i);
                x = norm_apply_pair(&row, true, x, vec_load_pair(kind, t.gamma, i),
                                    vec_load_pair(kind, t.beta, i));
                vec_store_pair(kind, stream, t.out, at + i, x);
            }
        }
    }
    return r;
}

VEC_INLINE double norm(enum native_kind kind, bool stream, const struct native_job *job,
                       const struct assay_args *args, int64_t begin, int64_t end)
{
    struct norm_tensors t = {.x = args->in[0],
                             .gamma = args->in[1],
                             .beta = args->in[NORM_CENTRE ? 2 : 1],
                             .out = args->out[0]};
    if (NORM_SAVE) {
        t.mean = args->out[1];
        t.rstd = args->out[NORM_CENTRE ? 2 : 1];
    }
    int64_t r = begin, dim = job->dim, bytes = dim * (kind == NATIVE_F32 ? 4 : 2);
    bool whole_lines = !stream || bytes % 64 == 0;
    if (norm_fits_batch(dim) && whole_lines)
        r = norm_batches(kind, stream, t, r, end, dim, job->param);
    if (bytes <= NORM_BYTES && whole_lines)
        r = norm_groups(kind, stream, t, r, end, dim, job->param);
    for (; r < end; r++)
        norm_one(kind, stream, t, r, dim, job->param);
    if (stream)
        vec_stream_end();
    return 0;
}

NATIVE_KERNEL(norm, NATIVE_ROWS, false);

#endif
