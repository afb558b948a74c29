/* attention_body.h: the body of attention, over vectors. Include a vec_*.h first.
 *
 * Both products have the same innermost loop: some rows times some vectors of columns, sums in
 * registers. For the scores a vector is some keys at one element, so keys are transposed; for the
 * outputs it is some elements of one value. Rows of q, times the scale, and all sums are f32; keys
 * and values become f32 when they are packed, once for each head.
 *
 * With ATTENTION_PER 2 a dword is not an f32 but a pair of bf16: two elements of q and of a key,
 * exponentials of two keys and an element of both their values. Then the includer defines
 * ATTENTION_NEED, ATTENTION_DOT, attention_put and the packing, attention_pack_keys, _values and
 * _rows, and q stays as it is: scores are scaled.
 *
 * The output of a row is NaN where a score is NaN or +infinity, or where all are -infinity: then
 * the sum of exponentials is NaN or 0, as in softmax_vec.c. */
#ifndef ASSAY_KERNEL_NATIVE_ATTENTION_BODY_H
#define ASSAY_KERNEL_NATIVE_ATTENTION_BODY_H

#include "base/math.h"
#include "kernel/native/attention/attention_native.h"
#include "kernel/native/vec/vec_math.h"

#include <math.h>

#ifndef ATTENTION_PER
#define ATTENTION_PER 1
#define ATTENTION_NEED VEC_NEED
#endif
#include "kernel/native/attention/attention_parts.h"

/* A block of rows and a block of keys: what both need of q, keys, values, scores and outputs is
 * about what the L1 cache holds, for 64 elements of a head. */
enum { ATTENTION_ROWS = 32, ATTENTION_KEYS = 64 * ATTENTION_PER };

struct attention_scratch { /* dwords of ATTENTION_PER elements, or keys */
    float *k;              /* [VEC_LANES keys][dim][VEC_LANES] */
    float *v;              /* [key][padded dim] */
    float *q;              /* [row][dim] */
    float *scores;         /* [row][key of the block], f32 */
    float *p;              /* their exponentials; with one to a dword they take the scores' place */
    float *sums;           /* [row][padded dim] */
    float *totals;         /* [row][VEC_LANES]: sums of exponentials */
    float *most;           /* [row]: the greatest score */
    size_t bytes;
};

/* The dwords of n elements. */
static int64_t attention_dwords(int64_t n) { return (n + ATTENTION_PER - 1) / ATTENTION_PER; }

static struct attention_scratch attention_lay_out(const struct attention_job *job, void *from)
{
    int64_t seq = assay_round_up(job->seq, VEC_LANES), padded = attention_padded(job->dim);
    int64_t size = sizeof(float), dim = attention_dwords(job->dim);
    struct attention_scratch s = {0};
    s.k = attention_take(from, &s.bytes, seq * dim * size);
    s.v = attention_take(from, &s.bytes, attention_dwords(seq) * padded * size);
    s.q = attention_take(from, &s.bytes, ATTENTION_ROWS * dim * size);
    s.scores = attention_take(from, &s.bytes, ATTENTION_ROWS * ATTENTION_KEYS * size);
    s.p = s.scores;
    if (ATTENTION_PER > 1)
        s.p = attention_take(from, &s.bytes,
                             ATTENTION_ROWS * attention_dwords(ATTENTION_KEYS) * size);
    s.sums = attention_take(from, &s.bytes, ATTENTION_ROWS * padded * size);
    s.totals = attention_take(from, &s.bytes, ATTENTION_ROWS * VEC_LANES * size);
    s.most = attention_take(from, &s.bytes, ATTENTION_ROWS * size);
    return s;
}

static size_t attention_scratch_bytes(const struct attention_job *job)
{
    return attention_lay_out(job, NULL).bytes;
}

/* ---- packing --------------------------------------------------------------------------------- */

#if ATTENTION_PER == 1
VEC_INLINE void attention_put(float *p, int64_t at, const vec *y)
{
    vec_store(NATIVE_F32, p, at, *y);
}

/* How many rows ahead to prefetch while one is packed. */
enum { AHEAD = 64 };

#define LANES NATIVE_UNROLL for (int i = 0; i < VEC_LANES; i++)

VEC_INLINE void attention_pack_keys(enum native_kind kind, const struct attention_job *job,
                                    const struct attention_head *head, float *to)
{
    int64_t dim = job->dim;
    for (int64_t key = 0; key < job->seq; key += VEC_LANES) {
        attention_prefetch_input(job, head->k, head->k_at, key + AHEAD, VEC_LANES);
        for (int64_t d = 0; d < dim; d += VEC_LANES) {
            vec square[VEC_LANES];
            LANES
            {
                int64_t at = head->k_at + (key + i) * job->step + d;
                square[i] =
                    key + i < job->seq ? attention_load(kind, head->k, at, dim - d) : vec_set(0);
            }
            vec_transpose(square);
            LANES
            {
                if (d + i < dim)
                    vec_store(NATIVE_F32, to, key * dim + (d + i) * VEC_LANES, square[i]);
            }
        }
    }
}

VEC_INLINE void attention_pack_values(enum native_kind kind, const struct attention_job *job,
                                      const struct attention_head *head, float *to)
{
    int64_t padded = attention_padded(job->dim);
    for (int64_t key = 0; key < job->seq; key++) {
        attention_prefetch_input(job, head->v, head->v_at, key + AHEAD, 1);
        for (int64_t d = 0; d < job->dim; d += VEC_LANES)
            vec_store(
                NATIVE_F32, to, key * padded + d,
                attention_load(kind, head->v, head->v_at + key * job->step + d, job->dim - d));
    }
}

/* Rows behind the last are 0, as many as fill up the tallest product. */
VEC_INLINE void attention_pack_rows(enum native_kind kind, const struct attention_job *job,
                                    const struct attention_head *head, int64_t row, int64_t rows,
                                    float *to)
{
    int64_t all = assay_round_up(rows, ATTENTION_TALL_ROWS), dim = job->dim;
    vec scale = vec_set(job->scale);
    for (int64_t r = 0; r < all; r++)
        for (int64_t d = 0; d < dim; d += VEC_LANES) {
            int64_t n = assay_min(dim - d, VEC_LANES);
            vec q = vec_set(0);
            if (r < rows)
                q = vec_mul(
                    attention_load(kind, head->q, head->q_at + (row + r) * job->step + d, n),
                    scale);
            vec_store_part(NATIVE_F32, to, r * dim + d, q, n);
        }
}
#endif

/* The outputs of a block: sums over totals. */
VEC_INLINE void attention_finish_rows(enum native_kind kind, const struct attention_job *job,
                                      const struct attention_head *head, int64_t row, int64_t rows,
                                      const struct attention_scratch *s)
{
    int64_t padded = attention_padded(job->dim), width = job->heads * job->dim;
    for (int64_t r = 0; r < rows; r++) {
        vec by = vec_set(1 / vec_sum(vec_load(NATIVE_F32, s->totals, r * VEC_LANES)));
        int64_t at = head->out_at + (row + r) * width;
        for (int64_t d = 0; d < job->dim; d += VEC_LANES) {
            vec y = vec_mul(vec_load(NATIVE_F32, s->sums, r * padded + d), by);
            if (job->dim - d >= VEC_LANES)
                vec_store(kind, head->out, at + d, y);
            else
                vec_store_part(kind, head->out, at + d, y, job->dim - d);
        }
    }
}

/* The logarithms of a block's sums of exponentials. */
static void attention_save(const struct attention_head *head, int64_t row, int64_t rows,
                           const struct attention_scratch *s)
{
    for (int64_t r = 0; r < rows; r++) {
        float total = vec_sum(vec_load(NATIVE_F32, s->totals, r * VEC_LANES));
        head->lse[row + r] = (float)((double)s->most[r] + log((double)total));
    }
}

#if ATTENTION_PER == 1
#define ATTENTION_PACKED ATTENTION_EACH_KIND
#else
#define ATTENTION_PACKED(kind, function, ...) function(__VA_ARGS__);
#endif

static void attention_pack(const struct attention_job *job, const struct attention_head *head,
                           int64_t row, int64_t end, void *scratch)
{
    struct attention_scratch s = attention_lay_out(job, scratch);
    (void)row, (void)end;
    ATTENTION_PACKED(job->kind, attention_pack_keys, job, head, s.k)
    ATTENTION_PACKED(job->kind, attention_pack_values, job, head, s.v)
}

static void attention_pack_block(const struct attention_job *job, const struct attention_head *head,
                                 int64_t row, int64_t rows, const struct attention_scratch *s)
{
    ATTENTION_PACKED(job->kind, attention_pack_rows, job, head, row, rows, s->q)
}

static void attention_finish(const struct attention_job *job, const struct attention_head *head,
                             int64_t row, int64_t rows, const struct attention_scratch *s){
    ATTENTION_EACH_KIND(job->kind, attention_finish_rows, job, head, row, rows, s)}

/* ---- softmax --------------------------------------------------------------------------------- */

/* Some scores of a row; with more than one element to a dword q was not scaled. */
VEC_INLINE vec attention_score(const float *scores, int64_t i, vec scale)
{
    vec x = vec_load(NATIVE_F32, scores, i);
    return ATTENTION_PER == 1 ? x : vec_mul(x, scale);
}

/* Scores of one row to exponentials: of `all` keys, whole vectors of dwords, it sees the first n;
 * the others become 0. What the row has so far is rescaled to its new greatest score. */
VEC_INLINE void attention_exponentials(const struct attention_scratch *s, int64_t r, int64_t n,
                                       int64_t all, int64_t padded, vec scale)
{
    const float *scores = s->scores + r * ATTENTION_KEYS;
    float *p = s->p + r * attention_dwords(ATTENTION_KEYS);
    vec least = vec_set(-INFINITY), most = least;
    for (int64_t i = 0; i < n; i += VEC_LANES) {
        vec x = attention_score(scores, i, scale);
        most = vec_max(n - i < VEC_LANES ? vec_first(x, n - i, least) : x, most);
    }
    float before = s->most[r], now = vec_greatest(most);
    vec total = vec_load(NATIVE_F32, s->totals, r * VEC_LANES);
    if (now > before && before > -INFINITY) { /* else there is nothing yet but 0 or NaN */
        vec factor = vec_exp_nonpositive(vec_set(before - now));
        total = vec_mul(total, factor);
        for (int64_t d = r * padded; d < (r + 1) * padded; d += VEC_LANES)
            vec_store(NATIVE_F32, s->sums, d, vec_mul(vec_load(NATIVE_F32, s->sums, d), factor));
    }
    if (now > before)
        s->most[r] = before = now;
    vec minus = vec_set(before == -INFINITY ? 0 : before);
    for (int64_t at = 0; at < all; at += ATTENTION_PER * VEC_LANES) {
        vec y[ATTENTION_PER];
        NATIVE_UNROLL for (int j = 0; j < ATTENTION_PER; j++)
        {
            int64_t i = at + j * VEC_LANES;
            y[j] = vec_set(0);
            if (i < n) {
                y[j] = vec_exp_nonpositive(vec_sub(attention_score(scores, i, scale), minus));
                y[j] = n - i < VEC_LANES ? vec_first(y[j], n - i, vec_set(0)) : y[j];
            }
            total = vec_add(total, y[j]);
        }
        attention_put(p, at / ATTENTION_PER, y);
    }
    vec_store(NATIVE_F32, s->totals, r * VEC_LANES, total);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void attention_keys_of_rows(const struct attention_job *job, int64_t row, int64_t rows,
                                   int64_t key, int64_t keys, const struct attention_scratch *s)
{
    int64_t padded = attention_padded(job->dim), dim = attention_dwords(job->dim);
    int64_t all = assay_round_up(keys, ATTENTION_PER * VEC_LANES);
    vec scale = vec_set(job->scale);
    int64_t tall = assay_round_up(rows, ATTENTION_TALL_ROWS);
    struct attention_product scores = {
        .a = s->q,
        .a_row = dim,
        .b = s->k + key * dim,
        .b_step = VEC_LANES,
        .b_vec = dim * VEC_LANES,
        .c = s->scores,
        .c_row = ATTENTION_KEYS,
        .n = dim,
    };
    attention_multiply(scores, tall, assay_round_up(keys, VEC_LANES) / VEC_LANES);
    for (int64_t r = 0; r < rows; r++) {
        int64_t sees = attention_keys(job, row + r + 1) - key;
        attention_exponentials(s, r, sees < 0 ? 0 : assay_min(sees, keys), all, padded, scale);
    }
    struct attention_product outputs = {
        .a = s->p,
        .a_row = attention_dwords(ATTENTION_KEYS),
        .b = s->v + key / ATTENTION_PER * padded,
        .b_step = padded,
        .b_vec = VEC_LANES,
        .c = s->sums,
        .c_row = padded,
        .n = attention_dwords(keys),
        .add = key > 0,
    };
    attention_multiply(outputs, tall, padded / VEC_LANES);
}

static void attention_block(const struct attention_job *job, const struct attention_head *head,
                            int64_t row, int64_t rows, void *scratch)
{
    struct attention_scratch s = attention_lay_out(job, scratch);
    int64_t keys = attention_keys(job, row + rows);
    attention_prefetch(job, head, row, row + rows, ATTENTION_ROWS);
    attention_pack_block(job, head, row, rows, &s);
    for (int64_t r = 0; r < rows; r++) {
        s.most[r] = -INFINITY;
        vec_store(NATIVE_F32, s.totals, r * VEC_LANES, vec_set(0));
    }
    for (int64_t key = 0; key < keys; key += ATTENTION_KEYS)
        attention_keys_of_rows(job, row, rows, key, assay_min(keys - key, ATTENTION_KEYS), &s);
    attention_finish(job, head, row, rows, &s);
    if (head->lse)
        attention_save(head, row, rows, &s);
}

static void attention_rows(const struct attention_job *job, const struct attention_head *head,
                           int64_t row, int64_t end, void *scratch)
{
    for (; row < end; row += ATTENTION_ROWS)
        attention_block(job, head, row, assay_min(end - row, ATTENTION_ROWS), scratch);
}

static const struct attention_body attention_body = {
    .block_rows = ATTENTION_ROWS,
    .scratch_bytes = attention_scratch_bytes,
    .pack = attention_pack,
    .rows = attention_rows,
};

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    (void)problem;
    return assay_cpu_need(ATTENTION_NEED, why);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return attention_setup(problem, &attention_body, state, err);
}

#if ATTENTION_PER == 1
#define NATIVE_OP attention
extern const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME);
const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME) = {
    ATTENTION_FIELDS,
    .name = NATIVE_TEXT(NATIVE_NAME),
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .preference = VEC_PREFERENCE,
    .can_run = can_run,
    .setup = setup,
};

#undef NATIVE_OP
#define NATIVE_OP attention_training
extern const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME);
const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME) = {
    ATTENTION_FIELDS_OF("attention_training"),
    .name = NATIVE_TEXT(NATIVE_NAME),
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .preference = VEC_PREFERENCE,
    .can_run = can_run,
    .setup = setup,
};
#endif

#endif
