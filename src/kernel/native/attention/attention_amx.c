/* attention_amx.c: attention in bf16 on the matrix unit: tiles of 16 rows of 64 bytes.
 *
 * Both products sum in f32. Scores: 16 rows of q, as they lie, times 16 keys, whose tiles hold
 * pairs of elements side by side; so keys are transposed once for each head. Outputs: exponentials,
 * rounded to bf16, times values, whose tiles hold pairs of keys side by side. Two values' rows are
 * interleaved by the cheap instructions that work within quarters of a register, so 32 elements lie
 * in two tiles in an order of their own, which is undone when the outputs are written.
 *
 * The exponential is what takes the time. What is rounded to 8 bits needs no more than a polynomial
 * of degree 3 (exp2_short). The sum of exponentials is of those before they are rounded.
 *
 * Scores that are NaN, infinite or not there do what they do in attention_body.h. */
#include "base/math.h"
#include "kernel/native/attention/attention_amx.h"
#include "kernel/native/vec/vec_rows.h"

#include <string.h>

/* Keys of a block: the more, the less often tiles of outputs pass through memory. */
enum { ROWS = PASS_ROWS, KEYS = 128 };

/* Rows that are not split among threads. */
enum { SHARE_ROWS = 128 };

/* The most keys of a short sequence: looking for a bound of its scores costs more than it gains. */
enum { SHORT = 112 };

/* The greatest sums of squares of a key and of a row of q. */
struct squares {
    float k, q;
};

/* Rows of q, or of exponentials, as tiles take them. */
struct rows {
    const uint16_t *first;
    size_t stride; /* bytes */
    int64_t step;  /* to the next 32 columns */
};

struct scratch {
    unsigned char *k; /* [16 keys][32 elements] tiles */
    unsigned char *v; /* [32 keys][32 elements][2] tiles */
    uint16_t *q;      /* [pass][32 elements' worth][row][32], of a call */
    uint16_t *few;    /* the same of a pass, where rows cannot be used where they are */
    struct squares *squares;
    void *bounded;
    float *scores[2]; /* [row][KEYS], of two blocks of keys in turn */
    uint16_t *p[2];   /* their exponentials in bf16 */
    float *sums;      /* [row][padded dim], in the order of the tiles */
    float *totals;    /* [row][16] */
    float *most;      /* [row]: the greatest score, times its factor */
    float *factors;   /* [row]: what outputs before this block of keys are to be multiplied by */
    size_t bytes;
};

/* What is behind the last key in tiles of keys and values is never written: it stays 0. */
static struct scratch lay_out(const struct attention_job *job, void *from)
{
    int64_t padded = attention_padded_dim(job),
            all = assay_round_up(job->seq, BOUNDED_KEYS) * padded * 2;
    struct scratch s = {0};
    s.k = attention_take(from, &s.bytes, all);
    s.v = attention_take(from, &s.bytes, all);
    s.q = attention_take(from, &s.bytes, assay_min(all, CALL_ROWS * padded * 2));
    s.few = attention_take(from, &s.bytes, ROWS * padded * 2);
    s.squares = attention_take(from, &s.bytes, sizeof *s.squares);
    s.bounded = attention_take(from, &s.bytes, (int64_t)attention_bounded_bytes(job));
    for (int i = 0; i < 2; i++) {
        s.scores[i] = attention_take(from, &s.bytes, ROWS * KEYS * 4);
        s.p[i] = attention_take(from, &s.bytes, ROWS * KEYS * 2);
    }
    s.sums = attention_take(from, &s.bytes, ROWS * padded * 4);
    s.totals = attention_take(from, &s.bytes, ROWS * 64);
    s.most = attention_take(from, &s.bytes, ROWS * 4);
    s.factors = attention_take(from, &s.bytes, ROWS * 4);
    return s;
}

static size_t scratch_bytes(const struct attention_job *job) { return lay_out(job, NULL).bytes; }

/* ---- packing --------------------------------------------------------------------------------- */

/* 32 elements; those from `count` on are 0. */
static inline __m512i load_row(const void *data, int64_t at, int64_t count)
{
    __mmask32 mask = count >= PAIR ? ~UINT32_C(0) : (UINT32_C(1) << count) - 1;
    return _mm512_maskz_loadu_epi16(mask, (const uint16_t *)data + at);
}

/* The sums of 16 rows of 16 numbers each. */
static vec sums_of_rows(const float *rows)
{
    vec square[TILE_ROWS];
    for (int i = 0; i < TILE_ROWS; i++)
        square[i] = _mm512_load_ps(rows + i * VEC_LANES);
    return vec_sum_rows(square);
}

/* The greatest of sums of squares, which are not negative: as integers NaN is above infinity. */
static float greatest_square(__m512i squares)
{
    uint32_t bits = _mm512_reduce_max_epu32(squares);
    float square;
    memcpy(&square, &bits, sizeof square);
    return square;
}

/* A tile of keys: 16 of them, 16 pairs of elements each, transposed. Returns their sums of squares,
 * where these are of use: four sums, as each addition waits for the one before. With `whole` all
 * keys and elements are there. */
VEC_INLINE __m512i pack_tiles(const struct attention_job *job, const struct attention_head *head,
                              int64_t key, unsigned char *to, const bool whole)
{
    vec squares[4] = {vec_set(0), vec_set(0), vec_set(0), vec_set(0)};
    for (int64_t d = 0; d < job->dim; d += PAIR, to += TILE) {
        vec square[TILE_ROWS];
        NATIVE_UNROLL
        for (int i = 0; i < TILE_ROWS; i++) {
            int64_t at = head->k_at + (key + i) * job->step + d;
            int64_t count = key + i < job->seq ? job->dim - d : 0;
            square[i] = whole ? _mm512_loadu_ps((const uint16_t *)head->k + at)
                              : _mm512_castsi512_ps(load_row(head->k, at, count));
        }
        vec_transpose(square);
        for (int i = 0; i < TILE_ROWS; i++)
            _mm512_store_ps((float *)(void *)to + i * 16, square[i]);
        for (int i = 0; i < TILE_ROWS && job->seq > SHORT; i++)
            squares[i % 4] =
                _mm512_dpbf16_ps(squares[i % 4], (__m512bh)square[i], (__m512bh)square[i]);
    }
    vec sums = vec_add(vec_add(squares[0], squares[1]), vec_add(squares[2], squares[3]));
    return _mm512_castps_si512(sums);
}

static __m512i pack_keys(const struct attention_job *job, const struct attention_head *head,
                         int64_t key, unsigned char *to)
{
    if (key + TILE_ROWS <= job->seq && job->dim % PAIR == 0)
        return pack_tiles(job, head, key, to, true);
    return pack_tiles(job, head, key, to, false);
}

/* One line of each tile of 32 values: the pairs of value `key` and the one 16 further, because
 * exponentials come so. */
static void pack_values(const struct attention_job *job, const struct attention_head *head,
                        int64_t key, unsigned char *line)
{
    int64_t at = head->v_at + key * job->step, below = at + TILE_ROWS * job->step;
    for (int64_t d = 0; d < job->dim; d += PAIR, line += 2 * TILE) {
        __m512i even = load_row(head->v, at + d, job->dim - d), odd = _mm512_setzero_si512();
        if (key + TILE_ROWS < job->seq)
            odd = load_row(head->v, below + d, job->dim - d);
        _mm512_store_si512((void *)line, _mm512_unpacklo_epi16(even, odd));
        _mm512_store_si512((void *)(line + TILE), _mm512_unpackhi_epi16(even, odd));
    }
}

/* Copies rows of q into tiles, and rows of 0 up to a whole pass; returns the greatest sum of
 * squares. */
static float pack_rows(const struct attention_job *job, const struct attention_head *head,
                       int64_t row, int64_t rows, uint16_t *to)
{
    const int64_t padded = attention_padded_dim(job);
    float squares[TILE_ROWS * VEC_LANES] __attribute__((aligned(64)));
    __m512i most = _mm512_setzero_si512();
    for (int64_t r = 0; r < assay_round_up(rows, PASS_ROWS); r++) {
        int64_t at = head->q_at + (row + r) * job->step;
        uint16_t *line = to + r / PASS_ROWS * PASS_ROWS * padded + r % PASS_ROWS * PAIR;
        vec square = vec_set(0);
        attention_prefetch_input(job, head->q, head->q_at, row + r + PAIR, 1);
        for (int64_t d = 0; d < job->dim; d += PAIR, line += PASS_ROWS * PAIR) {
            __m512i x = load_row(head->q, at + d, r < rows ? job->dim - d : 0);
            _mm512_store_si512(line, x);
            square = _mm512_dpbf16_ps(square, (__m512bh)x, (__m512bh)x);
        }
        _mm512_store_ps(squares + r % TILE_ROWS * VEC_LANES, square);
        if (r % TILE_ROWS == TILE_ROWS - 1)
            most = _mm512_max_epu32(most, _mm512_castps_si512(sums_of_rows(squares)));
    }
    return greatest_square(most);
}

/* Rows of q before keys and values: they all compete for the same sets of the L2 cache, and some of
 * q's may still be there. Rows are prefetched shortly before they are used, because few of those a
 * power of two apart fit the same sets. */
static void pack(const struct attention_job *job, const struct attention_head *head, int64_t row,
                 int64_t end, void *scratch)
{
    struct scratch s = lay_out(job, scratch);
    int64_t row_bytes = attention_padded_dim(job) * 2;
    __m512i most = _mm512_setzero_si512();
    if (job->seq > SHORT)
        s.squares->q = pack_rows(job, head, row, assay_min(end - row, CALL_ROWS), s.q);
    for (int64_t key = 0; key < job->seq; key += PAIR) {
        for (int64_t i = key; i < assay_min(key + PAIR, job->seq); i += TILE_ROWS) {
            attention_prefetch_input(job, head->k, head->k_at, i + TILE_ROWS, TILE_ROWS);
            most = _mm512_max_epu32(most, pack_keys(job, head, i, s.k + i * row_bytes));
        }
        for (int64_t i = 0; i < assay_min(job->seq - key, TILE_ROWS); i++) {
            attention_prefetch_input(job, head->v, head->v_at, key + PAIR + 2 * i, 2);
            pack_values(job, head, key + i, s.v + key * row_bytes + i * 64);
        }
    }
    s.squares->k = greatest_square(most);
}

/* Where they are used once they can stay where they are. Used again and again they are copied: rows
 * that lie a power of two apart compete for the same sets of the L1 cache. */
static struct rows rows_of_q(const struct attention_job *job, const struct attention_head *head,
                             int64_t row, int64_t rows, const struct scratch *s)
{
    int64_t padded = attention_padded_dim(job), at = head->q_at + row * job->step;
    if (rows % TILE_ROWS == 0 && job->dim == padded && job->seq <= KEYS)
        return (struct rows){(const uint16_t *)head->q + at, (size_t)job->step * 2, PAIR};
    pack_rows(job, head, row, rows, s->few);
    return (struct rows){s->few, PAIR * 2, PASS_ROWS * PAIR};
}

/* ---- products -------------------------------------------------------------------------------- */

/* R tiles of rows times N tiles of columns: tiles of sums 0 … 3, of a 4 and 5, of b 6 and 7. */
struct product {
    struct rows a;
    const unsigned char *b;
    size_t b_step, b_column; /* bytes to the next tile along the sum; of the next columns */
    int64_t steps;
    float *c;
    size_t c_stride; /* bytes */
    bool add;
};

VEC_INLINE void begin_sums(const struct product *p, const int R, const int N)
{
    float *below = p->c + TILE_ROWS * p->c_stride / 4;
    if (!p->add) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        return;
    }
    _tile_loadd(0, p->c, p->c_stride);
    if (N == 2)
        _tile_loadd(1, p->c + 16, p->c_stride);
    if (R == 2)
        _tile_loadd(2, below, p->c_stride);
    if (R == 2 && N == 2)
        _tile_loadd(3, below + 16, p->c_stride);
}

/* Keys and values pass by with the load that does not claim the L1 cache. */
VEC_INLINE void product(const struct product *p, const int R, const int N)
{
    const uint16_t *a = p->a.first;
    const unsigned char *b = p->b;
    begin_sums(p, R, N);
    for (int64_t step = 0; step < p->steps; step++, a += p->a.step, b += p->b_step) {
        _tile_loadd(4, a, p->a.stride);
        _tile_stream_loadd(6, b, 64);
        _tile_dpbf16ps(0, 4, 6);
        if (N == 2) {
            _tile_stream_loadd(7, b + p->b_column, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (R == 2) {
            _tile_loadd(5, a + TILE_ROWS * p->a.stride / 2, p->a.stride);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (R == 2 && N == 2)
            _tile_dpbf16ps(3, 5, 7);
    }
}

/* Where the sums that are in the tiles belong; no columns: there are none. */
struct held {
    float *c;
    size_t stride;
    bool two_rows;
    int64_t columns;
};

static void put_away(struct held *held)
{
    float *c = held->c, *below = c + TILE_ROWS * held->stride / 4;
    if (held->columns > 0)
        _tile_stored(0, c, held->stride);
    if (held->columns > 1)
        _tile_stored(1, c + 16, held->stride);
    if (held->columns > 0 && held->two_rows)
        _tile_stored(2, below, held->stride);
    if (held->columns > 1 && held->two_rows)
        _tile_stored(3, below + 16, held->stride);
    held->columns = 0;
}

/* A product to be done piece by piece, two tiles of columns at a time, between other things. */
struct work {
    struct product product;
    int64_t columns; /* tiles that are left */
};

static int64_t pieces(const struct work *w) { return (w->columns + 1) / 2; }

/* Puts away the sums of the piece before, which are done by now, and begins another one. */
static void do_piece(struct work *w, int64_t rows, struct held *held)
{
    struct product *p = &w->product;
    put_away(held);
    *held = (struct held){p->c, p->c_stride, rows > TILE_ROWS, assay_min(w->columns, 2)};
    if (held->two_rows && held->columns > 1)
        product(p, 2, 2);
    else if (held->two_rows)
        product(p, 2, 1);
    else if (held->columns > 1)
        product(p, 1, 2);
    else
        product(p, 1, 1);
    w->columns -= 2;
    p->b += 2 * p->b_column;
    p->c += PAIR;
}

/* ---- softmax --------------------------------------------------------------------------------- */

/* 2^x to 13 bits. x = n + r, 0 <= r < 1; the polynomial is within 8.6e-5 of 2^r and 1 at r = 0;
 * scalef takes only n of x, is 0 for -infinity and keeps NaN. */
VEC_INLINE vec exp2_short(vec x)
{
    enum { TO_BELOW = 0x09 }; /* round down, without exceptions */
    vec r = _mm512_reduce_ps(x, TO_BELOW);
    vec p = vec_fma(vec_set(0.07706704f), r, vec_set(0.22764499f));
    p = vec_fma(p, r, vec_set(0.69511679f));
    p = vec_fma(p, r, vec_set(1.0f));
    return _mm512_scalef_ps(p, x);
}

/* The scores of a row in one block, and what becomes of them. */
struct line {
    const float *scores;
    uint16_t *p;
    int64_t n, all; /* it sees the first n of `all` keys; the others become 0 */
};

/* 16 scores from i on; `least` where there is none to be seen. */
VEC_INLINE vec load_scores(const struct line *line, int64_t i, vec least)
{
    int64_t left = line->n - i;
    uint32_t mask = left >= VEC_LANES ? 0xffff : left > 0 ? (UINT32_C(1) << left) - 1 : 0;
    return _mm512_mask_loadu_ps(least, (__mmask16)mask, line->scores + i);
}

/* With a whole line's n and `all` constants, all of this is without a branch but one. Scores are
 * times `factor`, which is their scale over ln 2, because powers are those of 2. */
VEC_INLINE void exponentials(const struct line *line, float factor, const struct scratch *s,
                             int64_t r)
{
    vec least = vec_set(-INFINITY), most[2] = {least, least};
    for (int64_t i = 0; i < line->all; i += PAIR) {
        most[0] = vec_max(load_scores(line, i, least), most[0]);
        most[1] = vec_max(load_scores(line, i + VEC_LANES, least), most[1]);
    }
    float before = s->most[r], now = vec_greatest(vec_max(most[0], most[1])) * factor;
    vec total[2] = {vec_load(NATIVE_F32, s->totals, r * VEC_LANES), vec_set(0)};
    s->factors[r] = 1;
    if (now > before && before > -INFINITY) { /* else there is nothing yet but 0 or NaN */
        vec by = exp2_short(vec_set(before - now));
        total[0] = vec_mul(total[0], by);
        s->factors[r] = _mm512_cvtss_f32(by);
    }
    if (now > before)
        s->most[r] = before = now;
    vec minus = vec_set(before == -INFINITY ? 0 : before), times = vec_set(factor);
    for (int64_t i = 0; i < line->all; i += PAIR) {
        vec y[2];
        for (int j = 0; j < 2; j++) {
            y[j] = vec_set(0);
            if (line->n <= i + j * VEC_LANES)
                continue;
            vec x = load_scores(line, i + j * VEC_LANES, least);
            y[j] = exp2_short(_mm512_fmsub_ps(x, times, minus));
            total[j] = vec_add(total[j], y[j]);
        }
        _mm512_store_si512(line->p + i,
                           vec_to_half_pair(NATIVE_BF16_INSN, (struct vec_pair){y[0], y[1]}));
    }
    vec_store(NATIVE_F32, s->totals, r * VEC_LANES, vec_add(total[0], total[1]));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* One block of rows on its way through the keys. */
struct pass {
    const struct attention_job *job;
    const struct scratch *s;
    struct rows q;
    int64_t row, rows, keys; /* the first row; how many; the keys they see */
};

static int64_t keys_at(const struct pass *pass, int64_t key)
{
    return assay_min(pass->keys - key, KEYS);
}

static struct work scores_at(const struct pass *pass, int64_t key)
{
    int64_t padded = attention_padded_dim(pass->job);
    if (key >= pass->keys)
        return (struct work){.columns = 0};
    return (struct work){
        .product = {.a = pass->q,
                    .b = pass->s->k + (size_t)(key * padded * 2),
                    .b_step = TILE,
                    .b_column = (size_t)(TILE_ROWS * padded * 2),
                    .steps = padded / PAIR,
                    .c = pass->s->scores[key / KEYS % 2],
                    .c_stride = KEYS * sizeof(float)},
        .columns = (keys_at(pass, key) + TILE_ROWS - 1) / TILE_ROWS,
    };
}

static struct work outputs_at(const struct pass *pass, int64_t key)
{
    int64_t padded = attention_padded_dim(pass->job);
    if (key < 0)
        return (struct work){.columns = 0};
    return (struct work){
        .product = {.a = {pass->s->p[key / KEYS % 2], KEYS * sizeof(uint16_t), PAIR},
                    .b = pass->s->v + (size_t)(key * padded * 2),
                    .b_step = (size_t)(PAIR * padded * 2),
                    .b_column = TILE,
                    .steps = (keys_at(pass, key) + PAIR - 1) / PAIR,
                    .c = pass->s->sums,
                    .c_stride = (size_t)padded * sizeof(float),
                    .add = key > 0},
        .columns = padded / TILE_ROWS,
    };
}

static void row_of_keys(const struct pass *pass, int64_t r, int64_t key)
{
    const struct scratch *s = pass->s;
    float factor = attention_factor(pass->job);
    int64_t sees = attention_keys(pass->job, pass->row + r + 1) - key, keys = keys_at(pass, key);
    struct line line = {
        .scores = s->scores[key / KEYS % 2] + r * KEYS,
        .p = s->p[key / KEYS % 2] + r * KEYS,
        .n = KEYS,
        .all = KEYS,
    };
    if (sees >= KEYS && keys == KEYS) {
        exponentials(&line, factor, s, r);
        return;
    }
    line.n = sees < 0 ? 0 : assay_min(sees, keys);
    line.all = assay_round_up(keys, PAIR);
    exponentials(&line, factor, s, r);
}

/* Rescales outputs so far to greatest scores that are new. */
static void rescale(const struct pass *pass)
{
    const struct scratch *s = pass->s;
    int64_t padded = attention_padded_dim(pass->job);
    for (int64_t r = 0; r < pass->rows; r++) {
        if (s->factors[r] == 1)
            continue;
        vec by = vec_set(s->factors[r]);
        for (int64_t d = r * padded; d < (r + 1) * padded; d += VEC_LANES)
            vec_store(NATIVE_F32, s->sums, d, vec_mul(vec_load(NATIVE_F32, s->sums, d), by));
    }
}

/* The exponentials of one block of keys, and between its rows the tiles' work: the outputs of the
 * block before and the scores of the one behind. The two use different units of the CPU. */
static void block_of_keys(const struct pass *pass, int64_t key)
{
    struct work outputs = outputs_at(pass, key - KEYS), scores = scores_at(pass, key + KEYS);
    int64_t all = pieces(&outputs) + pieces(&scores), done = 0;
    struct held held = {0};
    for (int64_t r = 0; r < pass->rows; r++) {
        for (; done * pass->rows < all * (r + 1); done++)
            do_piece(outputs.columns > 0 ? &outputs : &scores, pass->rows, &held);
        row_of_keys(pass, r, key);
    }
    put_away(&held);
    if (key > 0)
        rescale(pass);
}

struct attention_writer attention_writer_of(const struct attention_job *job,
                                            const struct attention_head *head, int64_t row,
                                            int64_t rows, const float *sums, const float *totals,
                                            float one, float *by)
{
    for (int64_t r = 0; r < rows; r += TILE_ROWS)
        _mm512_store_ps(by + r, vec_div(vec_set(one), sums_of_rows(totals + r * VEC_LANES)));
    return (struct attention_writer){
        .sums = sums,
        .by = by,
        .to = (uint16_t *)head->out + head->out_at + row * job->heads * job->dim,
        .rows = rows,
        .step = job->heads * job->dim,
        .padded = attention_padded_dim(job),
        .last = UINT32_MAX >> (attention_padded_dim(job) - job->dim),
        .stream = job->stream,
    };
}

static void do_all(struct work work, int64_t rows)
{
    struct held held = {0};
    while (work.columns > 0)
        do_piece(&work, rows, &held);
    put_away(&held);
}

/* Rows whose scores may be of any size, up to ROWS of them. Exponentials that are too small are 0
 * at once (MXCSR's flush to zero): the CPU takes hundreds of cycles for a subnormal number. */
static void any_rows(const struct attention_job *job, const struct attention_head *head,
                     int64_t row, int64_t rows, const struct scratch *s)
{
    struct pass pass = {
        .job = job,
        .s = s,
        .q = rows_of_q(job, head, row, rows, s),
        .row = row,
        .rows = rows,
        .keys = attention_keys(job, row + rows),
    };
    for (int64_t r = 0; r < rows; r++) {
        s->most[r] = -INFINITY;
        vec_store(NATIVE_F32, s->totals, r * VEC_LANES, vec_set(0));
    }
    attention_prefetch(job, head, row, row + rows, CALL_ROWS);
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | _MM_FLUSH_ZERO_ON);
    do_all(scores_at(&pass, 0), rows);
    for (int64_t key = 0; key < pass.keys; key += KEYS)
        block_of_keys(&pass, key);
    do_all(outputs_at(&pass, (pass.keys - 1) / KEYS * KEYS), rows);
    _mm_setcsr(before);
    struct attention_writer writer =
        attention_writer_of(job, head, row, rows, s->sums, s->totals, 1, s->factors);
    while (writer.row < rows)
        attention_write_row(&writer);
}

/* Rows of a call, whose q is packed where it is not short. */
static void call(const struct attention_job *job, const struct attention_head *head, int64_t row,
                 int64_t rows, const struct scratch *s)
{
    float bound = attention_bound(job, s->squares->q, s->squares->k);
    if (job->seq > SHORT && bound <= MOST_BOUND) {
        attention_bounded(job, head, row, rows, bound, s->q, s->k, s->v, s->bounded);
        return;
    }
    for (int64_t r = 0; r < rows; r += ROWS)
        any_rows(job, head, row + r, assay_min(rows - r, ROWS), s);
}

static void all_rows(const struct attention_job *job, const struct attention_head *head,
                     int64_t row, int64_t end, void *scratch)
{
    struct scratch s = lay_out(job, scratch);
    call(job, head, row, assay_min(end - row, CALL_ROWS), &s);
    while ((row += CALL_ROWS) < end) {
        int64_t rows = assay_min(end - row, CALL_ROWS);
        if (job->seq > SHORT)
            s.squares->q = pack_rows(job, head, row, rows, s.q);
        call(job, head, row, rows, &s);
    }
}

static void finish(void)
{
    vec_stream_end();
    assay_cpu_tiles_close();
}

static const struct attention_body body = {
    .block_rows = SHARE_ROWS,
    .scratch_bytes = scratch_bytes,
    .pack = pack,
    .rows = all_rows,
    .open = assay_cpu_tiles_open,
    .close = finish,
    .can_stream = true,
};

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    (void)problem;
    return assay_cpu_need(ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16 | ASSAY_CPU_AVX512_VBMI |
                              ASSAY_CPU_AMX_TILE | ASSAY_CPU_AMX_BF16,
                          why);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return attention_setup(problem, &body, state, err);
}

extern const struct assay_kernel assay_kernel_attention_amx;
const struct assay_kernel assay_kernel_attention_amx = {
    ATTENTION_FIELDS,
    .name = "attention_amx",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .preference = 50,
    .can_run = can_run,
    .setup = setup,
    .units = ASSAY_UNIT_MATRIX,
};
