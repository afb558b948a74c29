/* attention_bounded_vbmi_amx.c: attention in bf16 on the matrix unit, where the scores are known to
 * be small: |q| |k| bounds them. Then 2^score can neither overflow nor vanish, so there is no
 * greatest score to look for, nothing to rescale, and no NaN or infinity but in v, which the
 * products treat as they should.
 *
 * Every instruction of 512 bits makes the products slower, so exponentials are made of few of them,
 * 32 at a time in 16 bits. One FMA turns a score into fixed point with 8 bits of fraction, which is
 * the power's exponent and a first approximation of its mantissa: 1 + f for 2^f. A 64-byte
 * table holds the excess of that approximation, 8.6 % at most. The average of both, rounded up, has
 * the 7 bits of bf16. Together this is off by some 0.19 % (the root of the mean square), where
 * exact exponentials rounded to bf16 are off by 0.17 %. Totals are sums of the rounded ones, so
 * what is common to them cancels.
 *
 * The two kinds of work take turns in small steps, a row of exponentials behind each product of
 * tiles, because the CPU looks only some hundred instructions ahead. Sums leave their tiles when
 * the next product needs these: four stores in a row would have it wait. Keys and values pass by
 * with the load that does not claim the L1 cache, which scores and exponentials fill. */
#include "base/math.h"
#include "kernel/native/attention/attention_amx.h"

#include <math.h>

/* Keys between two visits to the sums of outputs. */
enum { JOB_KEYS = 2 * BOUNDED_KEYS };

struct scratch {
    float *scores;    /* [row][BOUNDED_KEYS], save 32 keys of the rows behind 16 */
    float *below;     /* those: [row - 16][2][32], of two blocks of keys in turn */
    uint16_t *p[2];   /* of two jobs: [32 keys' worth][row][32], key 16 + i behind key i */
    float *totals[2]; /* [row][16], of two passes */
    float *sums;      /* [row][padded dim], in the order of the tiles */
    float *by;        /* [row], of outputs that are being written */
    size_t bytes;
};

static struct scratch lay_out(const struct attention_job *job, void *from)
{
    struct scratch s = {0};
    s.scores = attention_take(from, &s.bytes, PASS_ROWS * BOUNDED_KEYS * 4);
    s.below = attention_take(from, &s.bytes, TILE_ROWS * BOUNDED_KEYS * 4);
    for (int i = 0; i < 2; i++) {
        s.p[i] = attention_take(from, &s.bytes, PASS_ROWS * JOB_KEYS * 2);
        s.totals[i] = attention_take(from, &s.bytes, PASS_ROWS * 64);
    }
    s.sums = attention_take(from, &s.bytes, PASS_ROWS * attention_padded_dim(job) * 4);
    s.by = attention_take(from, &s.bytes, PASS_ROWS * 4);
    return s;
}

size_t attention_bounded_bytes(const struct attention_job *job) { return lay_out(job, NULL).bytes; }

/* ---- powers of 2 ----------------------------------------------------------------------------- */

/* In fixed point, so many to 1; entries of the table; more than any of what they take off. */
enum { FRACTION = 256, ENTRIES = 64, TAKEN = 24 };

float attention_bound(const struct attention_job *job, float q_square, float k_square)
{
    return sqrtf(q_square * k_square) * attention_factor(job) * 1.01f;
}

/* Exponents of 2 from -bound to bound become powers from 2^-2bound to 1: they do not overflow, and
 * small values do not vanish. In fixed point they are 0 … 2^15 - 1. */
static float bias_of(float bound) { return 127 - ceilf(bound); }

struct powers {
    vec times, plus; /* score to fixed point, in the lower half of a float's bits */
    /* Bytes: what is to be added to 1 + f; which byte comes to each when lower halves go up. */
    __m512i table, up;
    __mmask64 upper, even; /* bytes of upper halves; the lower byte of each pair */
};

/* For each of 64 parts of [0, 1): TAKEN less what 1 + f is greater than 2^f, in units of 1/256. Of
 * the numbers near that those that leave the least mean square of the relative error behind the
 * average, up to a factor that all have in common. TAKEN is off the fixed point already, so the
 * first entry is that of part TAKEN / 4. */
/* clang-format off */
static const uint8_t LEFT[ENTRIES] __attribute__((aligned(64))) = {
    16, 15, 14, 13, 12, 11, 10, 9, 9, 8, 7, 7, 6, 5, 5, 4,
    4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 6, 6, 7, 8, 9, 10,
    11, 12, 13, 14, 15, 16, 18, 19, 20, 22, 23, 21, 20, 19, 18, 17,
};
/* clang-format on */

/* The compiler is not told what is constant: it would load it again for every row. */
VEC_INLINE struct powers powers_of(const struct attention_job *job, float bias)
{
    struct powers c = {
        .times = vec_set(attention_factor(job) * FRACTION),
        .plus = vec_set(0x1.8p23f + bias * FRACTION - TAKEN),
        .table = _mm512_load_si512(LEFT),
        .up = _mm512_set4_epi32(0x0d0c0000, 0x09080000, 0x05040000, 0x01000000),
        .upper = 0xccccccccccccccccu,
        .even = 0x5555555555555555u,
    };
    __asm__("" : "+v"(c.plus), "+v"(c.table), "+v"(c.up));
    __asm__("" : "+Yk"(c.upper), "+Yk"(c.even));
    return c;
}

/* Not as an operand of the FMA: that would have `times` copied first. */
VEC_INLINE vec load_apart(const float *scores)
{
    vec x = _mm512_load_ps(scores);
    __asm__("" : "+v"(x));
    return x;
}

/* 32 powers in bf16, those of b behind those of a. The table's index is the upper six bits of a
 * fraction; of its byte the lower six count. */
VEC_INLINE __m512i exp2_pairs(const struct powers *c, const float *scores)
{
    __m512i a = _mm512_castps_si512(vec_fma(load_apart(scores), c->times, c->plus));
    __m512i b = _mm512_castps_si512(vec_fma(load_apart(scores + 16), c->times, c->plus));
    __m512i x = _mm512_mask_shuffle_epi8(a, c->upper, b, c->up);
    __m512i part = _mm512_srli_epi16(x, 2);
    __m512i left = _mm512_maskz_permutexvar_epi8(c->even, part, c->table);
    return _mm512_avg_epu16(x, left);
}

/* Rows of scores of 64 keys that await their exponentials. */
struct softmax {
    const float *scores, *below; /* see struct scratch; of `below` the 32 keys meant */
    uint16_t *p;
    float *totals;
    int64_t row, rows;  /* the next; how many there are */
    int64_t sees, more; /* keys of these that row 0 sees; how many more each one behind it */
};

static bool sees_all(const struct softmax *s) { return s->sees >= BOUNDED_KEYS; }

/* Of 32 keys a row sees the first n. */
VEC_INLINE __m512i seen(__m512i p, int64_t n)
{
    n = n < 0 ? 0 : assay_min(n, PAIR);
    int64_t even = assay_min(n, 16), odd = n - even;
    uint64_t mask = (((UINT64_C(1) << 2 * even) - 1) & 0x55555555u) |
                    (((UINT64_C(1) << 2 * odd) - 1) & 0xaaaaaaaau);
    return _mm512_maskz_mov_epi16((__mmask32)mask, p);
}

/* The sum of 32 powers, in 16 lanes. Those in upper halves are taken as they are, with those below
 * as the end of their mantissa; excess() is what that makes too much. Masked out it would be one
 * instruction more, by a dot product it would take as long as four. */
VEC_INLINE vec sum_of_powers(__m512i p)
{
    return vec_add(_mm512_castsi512_ps(p), _mm512_castsi512_ps(_mm512_slli_epi32(p, 16)));
}

/* Relative to the total. The bits below are 128 times the biased exponent, which is about `bias`,
 * in units of 2^-23 of the power of 2 above, whose mantissa is 1 / ln 2 on average; so half of the
 * sum is too large. A total that is mostly one power, or of a row that sees few keys, may be off by
 * 0.1 %, a quarter of what the output's own rounding may take. */
static float excess(float bias) { return bias * 128 * 0x1p-23f * 0.6931472f / 2; }

VEC_INLINE void softmax_row(struct softmax *s, const struct powers *c, const bool all)
{
    const float *scores = s->scores + s->row * BOUNDED_KEYS;
    const float *begin =
        s->row < TILE_ROWS ? scores : s->below + (s->row - TILE_ROWS) * BOUNDED_KEYS;
    uint16_t *p = s->p + s->row * PAIR;
    float *totals = s->totals + s->row * VEC_LANES;
    __m512i first = exp2_pairs(c, begin), second = exp2_pairs(c, scores + PAIR);
    vec total = _mm512_load_ps(totals);
    int64_t sees = all ? BOUNDED_KEYS : s->sees + s->row * s->more;
    if (sees >= BOUNDED_KEYS) {
        total = vec_add(total, vec_add(sum_of_powers(first), sum_of_powers(second)));
    } else { /* an upper half of 0 above one that is not is a subnormal number, which is slow */
        const __m512bh ones = (__m512bh)_mm512_set1_epi16(0x3f80);
        first = seen(first, sees);
        second = seen(second, sees - PAIR);
        total = _mm512_dpbf16_ps(total, (__m512bh)first, ones);
        total = _mm512_dpbf16_ps(total, (__m512bh)second, ones);
    }
    _mm512_store_si512(p, first);
    _mm512_store_si512(p + PASS_ROWS * PAIR, second);
    _mm512_store_ps(totals, total);
    s->row++;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Two tiles of rows times two of columns: sums in tiles 0 … 3, a in 4 and 5, b in 6 and 7. */
struct product {
    const uint16_t *a; /* [32 of the sum][row][32] */
    const unsigned char *b;
    size_t b_step, b_column; /* bytes along the sum; to the next tile of columns */
    int64_t steps;
    float *c, *below; /* the first 16 rows, and those behind them */
    size_t c_stride;  /* bytes */
    bool add;
};

/* Where the sums that are still in the tiles belong; c is NULL: nowhere. */
struct held {
    float *c, *below;
    size_t stride;
};

VEC_INLINE float *corner(float *c, float *below, const int tile)
{
    return (tile & 2 ? below : c) + (tile & 1) * 16;
}

/* The number of a tile is part of its instructions. */
#define PUT_AWAY(held, tile)                                                                       \
    do {                                                                                           \
        if ((held)->c)                                                                             \
            _tile_stored(tile, corner((held)->c, (held)->below, tile), (held)->stride);            \
    } while (0)

#define BEGIN(held, p, tile)                                                                       \
    do {                                                                                           \
        PUT_AWAY(held, tile);                                                                      \
        if ((p)->add)                                                                              \
            _tile_loadd(tile, corner((p)->c, (p)->below, tile), (p)->c_stride);                    \
        else                                                                                       \
            _tile_zero(tile);                                                                      \
    } while (0)

static void put_away(struct held *held)
{
    PUT_AWAY(held, 0);
    PUT_AWAY(held, 1);
    PUT_AWAY(held, 2);
    PUT_AWAY(held, 3);
    held->c = NULL;
}

/* What goes on between products: rows of exponentials, evenly behind all but the first ones, and
 * outputs of the pass before, behind some. */
struct between {
    struct softmax *s;
    const struct powers *c;
    int64_t products, first, done;
    bool all;
    struct attention_writer *writer;
    int64_t writing; /* products behind which all outputs are to be written, 0: none are */
};

/* After each product. */
VEC_INLINE void meanwhile(struct between *w)
{
    w->done++;
    int64_t rows =
        w->done > w->first ? PASS_ROWS * (w->done - w->first) / (w->products - w->first) : 0;
    while (w->s->row < assay_min(rows, w->s->rows))
        softmax_row(w->s, w->c, w->all);
    if (w->writing)
        for (int64_t due = PASS_ROWS * w->done / w->writing;
             w->writer->row < assay_min(due, w->writer->rows);)
            attention_write_row(w->writer);
}

/* With `kept`, what this step needs of a is still in its tiles. */
VEC_INLINE void multiply_step(const struct product *p, const int64_t step, const bool first,
                              const bool kept, const struct held *held, struct between *w)
{
    const uint16_t *a = p->a + step * PASS_ROWS * PAIR;
    const unsigned char *b = p->b + step * p->b_step;
    if (first)
        BEGIN(held, p, 0);
    _tile_stream_loadd(6, b, 64);
    if (!kept)
        _tile_loadd(4, a, 64);
    _tile_dpbf16ps(0, 4, 6);
    meanwhile(w);
    if (first)
        BEGIN(held, p, 2);
    if (!kept)
        _tile_loadd(5, a + TILE_ROWS * PAIR, 64);
    _tile_dpbf16ps(2, 5, 6);
    meanwhile(w);
    if (first)
        BEGIN(held, p, 3);
    _tile_stream_loadd(7, b + p->b_column, 64);
    _tile_dpbf16ps(3, 5, 7);
    meanwhile(w);
    if (first)
        BEGIN(held, p, 1);
    _tile_dpbf16ps(1, 4, 7);
    meanwhile(w);
}

VEC_INLINE void multiply(const struct product p, struct held *held, struct between *w)
{
    for (int64_t step = 0; step < p.steps; step++)
        multiply_step(&p, step, step == 0, false, held, w);
    *held = (struct held){p.c, p.below, p.c_stride};
}

/* The same written out in full: all that depends on the step or the row becomes a constant. One
 * that goes back, behind one with the same a, begins with the tiles of it that the other ended
 * with. */
VEC_INLINE void multiply_unrolled(const struct product p, const int64_t steps, const bool back,
                                  struct held *held, struct between *w)
{
    NATIVE_UNROLL
    for (int64_t i = 0; i < steps; i++)
        multiply_step(&p, back ? steps - 1 - i : i, i == 0, back && i == 0, held, w);
    *held = (struct held){p.c, p.below, p.c_stride};
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* All that one call computes, and where it stands. */
struct run {
    const struct attention_job *job;
    const struct attention_head *head;
    int64_t row, rows;
    float bias; /* of the powers' exponents */
    const uint16_t *q;
    const unsigned char *k, *v;
    struct scratch s;
    struct held held;
    /* Outputs of the pass before this one that are complete and put away but not written. No rows:
     * there are none. */
    struct attention_writer writer;
    int flip; /* which of `below` the exponentials are made of; the tiles fill the other */
};

/* Up to JOB_KEYS keys of the pass of PASS_ROWS rows; `blocks` of BOUNDED_KEYS keys, 0: nothing. */
struct task {
    int64_t pass, key, blocks;
    int turn;
};

static int64_t keys_of(const struct run *run, int64_t pass)
{
    int64_t end = assay_min((pass + 1) * PASS_ROWS, run->rows);
    return attention_keys(run->job, run->row + end);
}

static struct task task_at(const struct run *run, int64_t pass, int64_t key, int turn)
{
    if (pass * PASS_ROWS >= run->rows)
        return (struct task){.blocks = 0};
    int64_t keys = assay_min(keys_of(run, pass) - key, JOB_KEYS);
    return (struct task){pass, key, (keys + BOUNDED_KEYS - 1) / BOUNDED_KEYS, turn};
}

static struct task task_behind(const struct run *run, const struct task *t)
{
    int64_t key = t->key + JOB_KEYS;
    if (key < keys_of(run, t->pass))
        return task_at(run, t->pass, key, !t->turn);
    return task_at(run, t->pass + 1, 0, !t->turn);
}

/* Half a block of keys: 32 of them. */
VEC_INLINE struct product scores_of(const struct run *run, const struct task *t, int64_t block,
                                    int64_t half, const int64_t padded)
{
    int64_t key = t->key + block * BOUNDED_KEYS + half * PAIR;
    float *c = run->s.scores + half * PAIR;
    return (struct product){
        .a = run->q + t->pass * PASS_ROWS * padded,
        .b = run->k + (size_t)(key * padded * 2),
        .b_step = TILE,
        .b_column = (size_t)(TILE_ROWS * padded * 2),
        .steps = padded / PAIR,
        .c = c,
        .below = half ? c + TILE_ROWS * BOUNDED_KEYS : run->s.below + !run->flip * PAIR,
        .c_stride = BOUNDED_KEYS * sizeof(float),
    };
}

/* 32 columns of the outputs, from the exponentials of the whole task. */
VEC_INLINE struct product outputs_of(const struct run *run, const struct task *t, int64_t column,
                                     const int64_t padded)
{
    return (struct product){
        .a = run->s.p[t->turn],
        .b = run->v + (size_t)(t->key * padded * 2 + column * 2 * TILE),
        .b_step = (size_t)(PAIR * padded * 2),
        .b_column = TILE,
        .steps = t->blocks * (BOUNDED_KEYS / PAIR),
        .c = run->s.sums + column * PAIR,
        .below = run->s.sums + TILE_ROWS * padded + column * PAIR,
        .c_stride = (size_t)padded * sizeof(float),
        .add = t->key > 0,
    };
}

static struct softmax softmax_of(const struct run *run, const struct task *t, int64_t block)
{
    int64_t key = t->key + block * BOUNDED_KEYS;
    bool causal = run->job->causal;
    return (struct softmax){
        .scores = run->s.scores,
        .below = run->s.below + run->flip * PAIR,
        .p = run->s.p[t->turn] + block * BOUNDED_KEYS * PASS_ROWS,
        .totals = run->s.totals[t->pass % 2],
        .rows = PASS_ROWS,
        .sees = (causal ? run->row + t->pass * PASS_ROWS + 1 : run->job->seq) - key,
        .more = causal,
    };
}

/* What the tiles do in one turn: the scores of one block of a task, and some columns of the outputs
 * of another. */
struct tiles {
    struct task scores, outputs;
    int64_t block, column, column_end;
};

static void write_all(struct run *run)
{
    while (run->writer.row < run->writer.rows)
        attention_write_row(&run->writer);
}

static void end_turn(struct run *run, struct held held)
{
    run->held = held;
    run->flip = !run->flip;
}

/* One turn: the exponentials of 32 rows and 64 keys, while the tiles work on others. Half of the
 * scores these are made of are still in the tiles when it begins. The scores of the block behind
 * come last, where those they overwrite are no longer needed: the first 16 rows must be through
 * before the second half of its keys begins, which puts the first half away. */
static void turn(struct run *run, const struct tiles *tiles, struct softmax s)
{
    const struct powers powers = powers_of(run->job, run->bias);
    int64_t padded = attention_padded_dim(run->job), columns = tiles->column_end - tiles->column;
    bool scores = tiles->scores.blocks > 0;
    int64_t steps = columns * tiles->outputs.blocks * (BOUNDED_KEYS / PAIR) +
                    (scores ? 2 * (padded / PAIR) : 0);
    struct between w = {.s = &s, .c = &powers, .products = 4 * steps};
    struct held held = run->held;
    put_away(&held);
    write_all(run);
    for (int64_t column = tiles->column; column < tiles->column_end; column++)
        multiply(outputs_of(run, &tiles->outputs, column, padded), &held, &w);
    for (int64_t half = 0; half < 2 && scores; half++) {
        while (half && s.row < assay_min(s.rows, TILE_ROWS))
            softmax_row(&s, &powers, false);
        multiply(scores_of(run, &tiles->scores, tiles->block, half, padded), &held, &w);
    }
    while (s.row < s.rows)
        softmax_row(&s, &powers, false);
    end_turn(run, held);
}

/* A turn with all that belongs to it: two blocks of keys in the outputs, half of their columns, and
 * rows that see all 64 keys. */
static bool is_full(const struct tiles *tiles, const struct softmax *s, int64_t padded)
{
    return sees_all(s) && tiles->scores.blocks > 0 && tiles->outputs.blocks == 2 &&
           tiles->column_end - tiles->column == padded / PAIR / 2;
}

/* The same for such a turn. The first four products put away scores that are needed. Outputs that
 * wait are those of a whole pass; they are written behind the first products for new ones: then
 * these take their place. */
VEC_INLINE void full_turn(struct run *run, const struct tiles *tiles, struct softmax s,
                          const int64_t padded, const bool writes)
{
    const struct powers powers = powers_of(run->job, run->bias);
    const int64_t steps = JOB_KEYS / PAIR;
    struct attention_writer writer = run->writer;
    struct between w = {&s, &powers, padded / 2, 4, 0, true, &writer, writes ? 4 * steps : 0};
    struct held held = run->held;
    s.row = writer.row = 0;
    s.rows = writer.rows = PASS_ROWS;
    writer.padded = padded;
    NATIVE_UNROLL
    for (int64_t i = 0; i < padded / PAIR / 2; i++)
        multiply_unrolled(outputs_of(run, &tiles->outputs, tiles->column + i, padded), steps, i % 2,
                          &held, &w);
    w.writing = 0;
    NATIVE_UNROLL
    for (int64_t half = 0; half < 2; half++)
        multiply_unrolled(scores_of(run, &tiles->scores, tiles->block, half, padded), padded / PAIR,
                          half, &held, &w);
    run->writer.row = run->writer.rows; /* nothing waits any more */
    end_turn(run, held);
}

static void full_turn_64(struct run *run, const struct tiles *tiles, struct softmax s)
{
    full_turn(run, tiles, s, 64, false);
}

static void full_turn_64_writes(struct run *run, const struct tiles *tiles, struct softmax s)
{
    full_turn(run, tiles, s, 64, true);
}

static void full_turn_128(struct run *run, const struct tiles *tiles, struct softmax s)
{
    full_turn(run, tiles, s, 128, false);
}

static void any_turn(struct run *run, const struct tiles *tiles, struct softmax s)
{
    int64_t padded = attention_padded_dim(run->job);
    bool waits = run->writer.row < run->writer.rows;
    if (padded == 64 && is_full(tiles, &s, padded) && waits)
        full_turn_64_writes(run, tiles, s);
    else if (padded == 64 && is_full(tiles, &s, padded))
        full_turn_64(run, tiles, s);
    else if (padded == 128 && is_full(tiles, &s, padded))
        full_turn_128(run, tiles, s);
    else
        turn(run, tiles, s);
}

static void begin_pass(const struct run *run, int64_t pass)
{
    for (int64_t i = 0; i < PASS_ROWS; i++)
        _mm512_store_ps(run->s.totals[pass % 2] + i * VEC_LANES, vec_set(0));
}

static void begin_writing(struct run *run, int64_t pass)
{
    int64_t row = pass * PASS_ROWS, rows = assay_min(run->rows - row, PASS_ROWS);
    run->writer = attention_writer_of(run->job, run->head, run->row + row, rows, run->s.sums,
                                      run->s.totals[pass % 2], 1 + excess(run->bias), run->s.by);
}

/* Whether outputs of the pass before, which are all put away, can be written in the first turn of
 * the task behind. */
static bool can_wait(const struct run *run, const struct task *now, const struct task *behind)
{
    return behind->blocks == 2 && behind->pass == now->pass &&
           attention_padded_dim(run->job) <= 2 * PAIR;
}

/* Prefetches the output, unless it is written by streaming stores: of the pass's rows the share
 * that this block of keys is. Nothing else: a prefetch from memory holds one of the few line
 * buffers that the loads of tiles need too. */
static void prefetch(const struct run *run, const struct task *t, int64_t block)
{
    const struct attention_job *job = run->job;
    int64_t first = run->row + t->pass * PASS_ROWS, keys = keys_of(run, t->pass);
    int64_t rows = assay_min(run->row + run->rows - first, PASS_ROWS);
    int64_t key = t->key + block * BOUNDED_KEYS;
    int64_t end = assay_min(key + BOUNDED_KEYS, keys);
    if (!job->stream)
        attention_prefetch_rows(job, run->head->out, run->head->out_at, job->heads * job->dim,
                                first + rows * key / keys, first + rows * end / keys);
}

/* The exponentials of task `now`, a block at a time. Meanwhile the tiles work on the outputs of the
 * one before and on the scores of the block behind. */
static void do_task(struct run *run, const struct task *before, const struct task *now,
                    const struct task *behind)
{
    int64_t columns = before->blocks ? attention_padded_dim(run->job) / PAIR : 0;
    if (now->key == 0)
        begin_pass(run, now->pass);
    for (int64_t block = 0; block < now->blocks; block++) {
        bool last = block + 1 == now->blocks;
        prefetch(run, now, block);
        struct tiles tiles = {
            .scores = last ? *behind : *now,
            .outputs = *before,
            .block = last ? 0 : block + 1,
            .column = columns * block / now->blocks,
            .column_end = columns * (block + 1) / now->blocks,
        };
        any_turn(run, &tiles, softmax_of(run, now, block));
        write_all(run);
    }
    if (before->blocks && now->key == 0) {
        begin_writing(run, before->pass);
        if (!can_wait(run, now, behind)) {
            put_away(&run->held);
            write_all(run);
        }
    }
}

void attention_bounded(const struct attention_job *job, const struct attention_head *head,
                       int64_t row, int64_t rows, float bound, const uint16_t *q,
                       const unsigned char *k, const unsigned char *v, void *scratch)
{
    struct run run = {
        .job = job,
        .head = head,
        .row = row,
        .rows = rows,
        .bias = bias_of(bound),
        .q = q,
        .k = k,
        .v = v,
        .s = lay_out(job, scratch),
    };
    struct task before = {.blocks = 0}, now = task_at(&run, 0, 0, 0);
    turn(&run, &(struct tiles){.scores = now}, (struct softmax){0});
    while (now.blocks) {
        struct task behind = task_behind(&run, &now);
        do_task(&run, &before, &now, &behind);
        before = now;
        now = behind;
    }
    int64_t columns = attention_padded_dim(job) / PAIR;
    turn(&run, &(struct tiles){.outputs = before, .column_end = columns}, (struct softmax){0});
    put_away(&run.held);
    begin_writing(&run, before.pass);
    write_all(&run);
}
