/* attention_backward_vec.c: attention's gradients, products and sums in f32;
 * attention_backward_native.h says how it fits together. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/attention/attention_backward_native.h"
#include "kernel/native/attention/attention_parts.h"
#include "kernel/native/vec/vec_math.h"

#include <math.h>
#include <string.h>

/* Queries and keys of a block; the matrices of a pair of blocks take 48 KB. */
enum { ROWS = 64, KEYS = 64 };

struct scratch {     /* floats; "rows" are padded to whole vectors, "columns" [vector][dim][lane] */
    float *k, *v;    /* rows of all keys */
    float *q, *dout; /* rows of the block */
    float *q_columns, *dout_columns;
    float *p, *ds, *turned; /* [key][row], [key][row], and ds as [row][key] */
    float *dq;              /* rows of the block */
    float *lse, *d;         /* of each row */
    size_t bytes;
};

static float *take(void *from, size_t *at, int64_t floats)
{
    uintptr_t taken = (uintptr_t)from + *at;
    *at += (size_t)assay_round_up(floats * (int64_t)sizeof(float), 64);
    return (float *)taken;
}

static int64_t padded_of(const struct attention_backward_job *job)
{
    return attention_padded(job->dim);
}

/* Rows of keys, with those that fill up the tallest product. */
static int64_t key_rows(const struct attention_backward_job *job)
{
    return assay_round_up(job->seq, KEYS);
}

static struct scratch lay_out(const struct attention_backward_job *job, void *from)
{
    int64_t padded = padded_of(job), keys = key_rows(job);
    struct scratch s = {0};
    s.k = take(from, &s.bytes, keys * padded);
    s.v = take(from, &s.bytes, keys * padded);
    s.q = take(from, &s.bytes, ROWS * padded);
    s.dout = take(from, &s.bytes, ROWS * padded);
    s.q_columns = take(from, &s.bytes, ROWS * job->dim);
    s.dout_columns = take(from, &s.bytes, ROWS * job->dim);
    s.p = take(from, &s.bytes, KEYS * ROWS);
    s.ds = take(from, &s.bytes, KEYS * ROWS);
    s.turned = take(from, &s.bytes, ROWS * KEYS);
    s.dq = take(from, &s.bytes, ROWS * padded);
    s.lse = take(from, &s.bytes, ROWS);
    s.d = take(from, &s.bytes, ROWS);
    return s;
}

static size_t scratch_bytes(const struct attention_backward_job *job)
{
    return lay_out(job, NULL).bytes;
}

/* dk, then dv: rows of keys. */
static size_t sums_bytes(const struct attention_backward_job *job)
{
    return (size_t)(2 * key_rows(job) * padded_of(job)) * sizeof(float);
}

/* ---- loads and stores ------------------------------------------------------------------------ */

/* Rows [row, row + n) of one head as f32, and rows of 0 up to `all`. */
VEC_INLINE void load_rows(enum native_kind kind, const struct attention_backward_job *job,
                          const void *data, int64_t at, int64_t step, int64_t row, int64_t n,
                          int64_t all, float *to)
{
    int64_t padded = padded_of(job);
    for (int64_t r = 0; r < all; r++)
        for (int64_t d = 0; d < padded; d += VEC_LANES) {
            vec x = vec_set(0);
            if (r < n)
                x = attention_load(kind, data, at + (row + r) * step + d, job->dim - d);
            vec_store(NATIVE_F32, to, r * padded + d, x);
        }
}

/* Rows as columns: of VEC_LANES rows at a time their elements side by side. */
static void turn_rows(const struct attention_backward_job *job, const float *rows, int64_t n,
                      float *columns)
{
    int64_t padded = padded_of(job), dim = job->dim;
    for (int64_t r = 0; r < n; r += VEC_LANES)
        for (int64_t d = 0; d < dim; d += VEC_LANES) {
            vec square[VEC_LANES];
            for (int i = 0; i < VEC_LANES; i++)
                square[i] = vec_load(NATIVE_F32, rows, (r + i) * padded + d);
            vec_transpose(square);
            for (int i = 0; i < VEC_LANES && d + i < dim; i++)
                vec_store(NATIVE_F32, columns, r * dim + (d + i) * VEC_LANES, square[i]);
        }
}

VEC_INLINE void store_rows(enum native_kind kind, const struct attention_backward_job *job,
                           const float *sums, int64_t parts, int64_t apart, int64_t row, int64_t n,
                           void *out, int64_t at)
{
    int64_t padded = padded_of(job), step = job->in_step;
    for (int64_t r = 0; r < n; r++)
        for (int64_t d = 0; d < job->dim; d += VEC_LANES) {
            vec sum = vec_load(NATIVE_F32, sums, r * padded + d);
            for (int64_t part = 1; part < parts; part++)
                sum = vec_add(sum, vec_load(NATIVE_F32, sums, part * apart + r * padded + d));
            int64_t to = at + (row + r) * step + d, left = job->dim - d;
            if (left >= VEC_LANES)
                vec_store(kind, out, to, sum);
            else
                vec_store_part(kind, out, to, sum, left);
        }
}

/* The sum of dout out over each row: what cancels in dS. */
VEC_INLINE void sum_rows(enum native_kind kind, const struct attention_backward_job *job,
                         const struct attention_backward_head *head, int64_t row, int64_t n,
                         const struct scratch *s)
{
    int64_t padded = padded_of(job), step = job->step;
    for (int64_t r = 0; r < ROWS; r++) {
        vec sum = vec_set(0);
        for (int64_t d = 0; d < job->dim && r < n; d += VEC_LANES) {
            vec out =
                attention_load(kind, head->out, head->at + (row + r) * step + d, job->dim - d);
            sum = vec_fma(out, vec_load(NATIVE_F32, s->dout, r * padded + d), sum);
        }
        s->d[r] = vec_sum(sum);
        s->lse[r] = r < n ? head->lse[row + r] : INFINITY; /* P is 0 there */
    }
}

static void load_keys(const struct attention_backward_job *job,
                      const struct attention_backward_head *head, const struct scratch *s)
{
    int64_t all = key_rows(job), step = job->in_step;
    ATTENTION_EACH_KIND(job->kind, load_rows, job, head->k, head->k_at, step, 0, job->seq, all,
                        s->k)
    ATTENTION_EACH_KIND(job->kind, load_rows, job, head->v, head->v_at, step, 0, job->seq, all,
                        s->v)
}

static void load_queries(const struct attention_backward_job *job,
                         const struct attention_backward_head *head, int64_t row, int64_t n,
                         const struct scratch *s)
{
    int64_t all = assay_round_up(assay_round_up(n, VEC_LANES), ATTENTION_TALL_ROWS);
    ATTENTION_EACH_KIND(job->kind, load_rows, job, head->q, head->q_at, job->in_step, row, n, all,
                        s->q)
    ATTENTION_EACH_KIND(job->kind, load_rows, job, head->dout, head->at, job->step, row, n, all,
                        s->dout)
    ATTENTION_EACH_KIND(job->kind, sum_rows, job, head, row, n, s)
    turn_rows(job, s->q, assay_round_up(n, VEC_LANES), s->q_columns);
    turn_rows(job, s->dout, assay_round_up(n, VEC_LANES), s->dout_columns);
}

/* ---- a pair of blocks ------------------------------------------------------------------------ */

/* Scores to P, and dP to dS, in place: [key][row]. A causal row sees no key behind itself. Scores
 * may exceed lse by what that is rounded. */
static void probabilities(const struct attention_backward_job *job, int64_t row, int64_t rows,
                          int64_t key, int64_t keys, const struct scratch *s)
{
    vec scale = vec_set(job->scale), zero = vec_set(0);
    for (int64_t j = 0; j < keys; j++)
        for (int64_t r = 0; r < rows; r += VEC_LANES) {
            int64_t at = j * ROWS + r, hidden = job->causal ? key + j - (row + r) : 0;
            vec score = vec_mul(vec_load(NATIVE_F32, s->p, at), scale);
            vec p = vec_exp_minus(vec_sub(vec_load(NATIVE_F32, s->lse, r), score));
            if (hidden >= VEC_LANES)
                p = zero;
            else if (hidden > 0)
                p = vec_first(zero, hidden, p);
            vec off = vec_sub(vec_load(NATIVE_F32, s->ds, at), vec_load(NATIVE_F32, s->d, r));
            vec_store(NATIVE_F32, s->p, at, p);
            vec_store(NATIVE_F32, s->ds, at, vec_mul(vec_mul(p, off), scale));
        }
}

static void turn_ds(const struct scratch *s, int64_t rows, int64_t keys)
{
    for (int64_t r = 0; r < rows; r += VEC_LANES)
        for (int64_t j = 0; j < keys; j += VEC_LANES) {
            vec square[VEC_LANES];
            for (int i = 0; i < VEC_LANES; i++)
                square[i] = vec_load(NATIVE_F32, s->ds, (j + i) * ROWS + r);
            vec_transpose(square);
            for (int i = 0; i < VEC_LANES; i++)
                vec_store(NATIVE_F32, s->turned, (r + i) * KEYS + j, square[i]);
        }
}

/* [key][row] from rows of keys and columns of queries. */
static void multiply_columns(const struct attention_backward_job *job, const float *rows,
                             const float *columns, int64_t keys, int64_t queries, float *to)
{
    struct attention_product product = {
        .a = rows,
        .a_row = padded_of(job),
        .b = columns,
        .b_step = VEC_LANES,
        .b_vec = job->dim * VEC_LANES,
        .c = to,
        .c_row = ROWS,
        .n = job->dim,
    };
    attention_multiply(product, assay_round_up(keys, ATTENTION_TALL_ROWS),
                       assay_round_up(queries, VEC_LANES) / VEC_LANES);
}

/* Adds `matrix`, some rows of n, times n rows. */
static void add_product(const struct attention_backward_job *job, const float *matrix,
                        int64_t matrix_row, int64_t rows, const float *of, int64_t n, float *to)
{
    struct attention_product product = {
        .a = matrix,
        .a_row = matrix_row,
        .b = of,
        .b_step = padded_of(job),
        .b_vec = VEC_LANES,
        .c = to,
        .c_row = padded_of(job),
        .n = n,
        .add = true,
    };
    attention_multiply(product, assay_round_up(rows, ATTENTION_TALL_ROWS),
                       padded_of(job) / VEC_LANES);
}

static void pair_of_blocks(const struct attention_backward_job *job, int64_t row, int64_t rows,
                           int64_t key, int64_t keys, const struct scratch *s, float *dk, float *dv)
{
    int64_t at = key * padded_of(job);
    multiply_columns(job, s->k + at, s->q_columns, keys, rows, s->p);
    multiply_columns(job, s->v + at, s->dout_columns, keys, rows, s->ds);
    probabilities(job, row, rows, key, keys, s);
    add_product(job, s->p, ROWS, keys, s->dout, rows, dv + at);
    add_product(job, s->ds, ROWS, keys, s->q, rows, dk + at);
    turn_ds(s, rows, keys);
    add_product(job, s->turned, KEYS, rows, s->k + at, keys, s->dq);
}

/* ---- a head ---------------------------------------------------------------------------------- */

static void rows(const struct attention_backward_job *job,
                 const struct attention_backward_head *head, int64_t row, int64_t end,
                 void *scratch, float *sums)
{
    struct scratch s = lay_out(job, scratch);
    int64_t padded = padded_of(job);
    float *dk = sums, *dv = sums + key_rows(job) * padded;
    memset(sums, 0, sums_bytes(job));
    load_keys(job, head, &s);
    for (; row < end; row += ROWS) {
        int64_t n = assay_min(end - row, ROWS), sees = job->causal ? row + n : job->seq;
        load_queries(job, head, row, n, &s);
        memset(s.dq, 0, (size_t)(ROWS * padded) * sizeof(float));
        for (int64_t key = 0; key < sees; key += KEYS)
            pair_of_blocks(job, row, n, key, assay_min(sees - key, KEYS), &s, dk, dv);
        ATTENTION_EACH_KIND(job->kind, store_rows, job, s.dq, 1, 0, row, n, head->dq, head->q_at)
    }
}

static void finish(const struct attention_backward_job *job,
                   const struct attention_backward_head *head, const float *sums, int64_t parts)
{
    int64_t apart =
        (int64_t)(assay_round_up((int64_t)sums_bytes(job), 64) / (int64_t)sizeof(float));
    const float *dv = sums + key_rows(job) * padded_of(job);
    ATTENTION_EACH_KIND(job->kind, store_rows, job, sums, parts, apart, 0, job->seq, head->dk,
                        head->k_at)
    ATTENTION_EACH_KIND(job->kind, store_rows, job, dv, parts, apart, 0, job->seq, head->dv,
                        head->v_at)
}

static const struct attention_backward_body body = {
    .block_rows = ROWS,
    .scratch_bytes = scratch_bytes,
    .sums_bytes = sums_bytes,
    .rows = rows,
    .finish = finish,
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return attention_backward_setup(problem, &body, state, err);
}

#define NATIVE_OP attention_backward
NATIVE_KERNEL_STRUCT(setup, attention_backward_run, attention_backward_teardown);
