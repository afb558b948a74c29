/* attention_amx.c: attention in bf16 on the matrix unit: tiles of 16 rows of 64 bytes.
 *
 * Both products sum in f32. Scores: 16 rows of q, as they lie, times 16 keys, whose tiles hold
 * pairs of elements side by side; so keys are transposed once for each head. Answers: exponentials,
 * rounded to bf16, times values, whose tiles hold pairs of keys side by side. Two values' rows are
 * interleaved by the cheap instructions that work within quarters of a register, so 32 elements lie
 * in two tiles in an order of their own, which is undone when the answers are written.
 *
 * The exponential is what takes the time. What is rounded to 8 bits needs no more than a polynomial
 * of degree 3 (exp2_short). The sum of exponentials is of those before they are rounded.
 *
 * Scores that are NaN, infinite or not there do what they do in attention_body.h. */
#include "device/cpu/cpu_tiles_amx.h"
#include "kernel/cpu/attention_native.h"
#include "kernel/cpu/vec_avx512.h"

/* Keys of a block: the more, the seldomer tiles of answers pass through memory. */
enum { ROWS = 32, KEYS = 128, TILE = 1024, TILE_ROWS = 16, PAIR = 32 };

/* Sequences up to this long leave little time to fetch the next head from memory. */
enum { SHORT_SEQ = 64 };

struct scratch {
    unsigned char *k; /* [16 keys][32 elements] tiles */
    unsigned char *v; /* [32 keys][32 elements][2] tiles */
    uint16_t *q;      /* [row][padded dim], where rows cannot be used where they are */
    float *scores;    /* [row][KEYS] */
    uint16_t *p;      /* the same as bf16 exponentials */
    float *sums;      /* [row][padded dim], in the order of the tiles */
    float *totals;    /* [row][16] */
    float *most;      /* [row]: the greatest score, times its factor */
    size_t bytes;
};

static int64_t padded_dim(const struct attention_job *job)
{
    return attention_round_up(job->dim, PAIR);
}

static void *take(unsigned char *from, size_t *at, int64_t bytes)
{
    void *taken = from + *at;
    *at += (size_t)attention_round_up(bytes, 64);
    return taken;
}

/* What is behind the last key in tiles of keys and values is never written: it stays 0. */
static struct scratch lay_out(const struct attention_job *job, unsigned char *from)
{
    int64_t padded = padded_dim(job), all = attention_round_up(job->seq, PAIR) * padded * 2;
    struct scratch s = {0};
    s.k = take(from, &s.bytes, all);
    s.v = take(from, &s.bytes, all);
    s.q = take(from, &s.bytes, ROWS * padded * 2);
    s.scores = take(from, &s.bytes, ROWS * KEYS * 4);
    s.p = take(from, &s.bytes, ROWS * KEYS * 2);
    s.sums = take(from, &s.bytes, ROWS * padded * 4);
    s.totals = take(from, &s.bytes, ROWS * 64);
    s.most = take(from, &s.bytes, ROWS * 4);
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

/* A tile of keys: 16 of them, 16 pairs of elements each, transposed. */
static void pack_keys(const struct attention_job *job, const struct attention_head *head,
                      unsigned char *to)
{
    for (int64_t key = 0; key < job->seq; key += TILE_ROWS)
        for (int64_t d = 0; d < job->dim; d += PAIR, to += TILE) {
            vec square[TILE_ROWS];
            for (int i = 0; i < TILE_ROWS; i++)
                square[i] =
                    key + i < job->seq
                        ? _mm512_castsi512_ps(load_row(
                              head->k, head->k_at + (key + i) * job->step + d, job->dim - d))
                        : _mm512_setzero_ps();
            vec_transpose(square);
            for (int i = 0; i < TILE_ROWS; i++)
                _mm512_store_ps((float *)(void *)to + i * 16, square[i]);
        }
}

static void pack_values(const struct attention_job *job, const struct attention_head *head,
                        unsigned char *to)
{
    size_t tiles = (size_t)padded_dim(job) / PAIR * 2;
    for (int64_t key = 0; key < job->seq; key += 2) {
        unsigned char *line = to + (size_t)(key / PAIR) * tiles * TILE + (size_t)(key % PAIR) * 32;
        int64_t at = head->v_at + key * job->step;
        for (int64_t d = 0; d < job->dim; d += PAIR, line += 2 * TILE) {
            __m512i even = load_row(head->v, at + d, job->dim - d), odd = _mm512_setzero_si512();
            if (key + 1 < job->seq)
                odd = load_row(head->v, at + job->step + d, job->dim - d);
            _mm512_store_si512((void *)line, _mm512_unpacklo_epi16(even, odd));
            _mm512_store_si512((void *)(line + TILE), _mm512_unpackhi_epi16(even, odd));
        }
    }
}

/* Rows of q as tiles take them. */
struct rows {
    const uint16_t *first;
    size_t stride; /* bytes */
};

static struct rows rows_of_q(const struct attention_job *job, const struct attention_head *head,
                             int64_t row, int64_t rows, const struct scratch *s)
{
    int64_t padded = padded_dim(job), at = head->q_at + row * job->step;
    if (rows % TILE_ROWS == 0 && job->dim == padded) /* and so on whole cache lines */
        return (struct rows){(const uint16_t *)head->q + at, (size_t)job->step * 2};
    for (int64_t r = 0; r < rows; r++)
        for (int64_t d = 0; d < job->dim; d += PAIR)
            _mm512_store_si512(s->q + r * padded + d,
                               load_row(head->q, at + r * job->step + d, job->dim - d));
    return (struct rows){s->q, (size_t)padded * 2};
}

/* Asks for all rows of a head. */
static void prefetch_head(const struct attention_job *job, const struct attention_head *head)
{
    const uint16_t *from[] = {(const uint16_t *)head->q + head->q_at,
                              (const uint16_t *)head->k + head->k_at,
                              (const uint16_t *)head->v + head->v_at};
    for (int64_t row = 0; row < job->seq; row++)
        for (int i = 0; i < 3; i++)
            for (int64_t d = 0; d < job->dim; d += PAIR)
                _mm_prefetch((const char *)(from[i] + row * job->step + d), _MM_HINT_T1);
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

VEC_INLINE void sums_begin(const struct product *p, const int R, const int N)
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

VEC_INLINE void sums_end(const struct product *p, const int R, const int N)
{
    float *below = p->c + TILE_ROWS * p->c_stride / 4;
    _tile_stored(0, p->c, p->c_stride);
    if (N == 2)
        _tile_stored(1, p->c + 16, p->c_stride);
    if (R == 2)
        _tile_stored(2, below, p->c_stride);
    if (R == 2 && N == 2)
        _tile_stored(3, below + 16, p->c_stride);
}

VEC_INLINE void product(const struct product *p, const int R, const int N)
{
    const uint16_t *a = p->a.first;
    const unsigned char *b = p->b;
    sums_begin(p, R, N);
    for (int64_t step = 0; step < p->steps; step++, a += PAIR, b += p->b_step) {
        _tile_loadd(4, a, p->a.stride);
        _tile_loadd(6, b, 64);
        _tile_dpbf16ps(0, 4, 6);
        if (N == 2) {
            _tile_loadd(7, b + p->b_column, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (R == 2) {
            _tile_loadd(5, a + TILE_ROWS * p->a.stride / 2, p->a.stride);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (R == 2 && N == 2)
            _tile_dpbf16ps(3, 5, 7);
    }
    sums_end(p, R, N);
}

/* All tiles of columns, two at a time. */
static void multiply(struct product p, int64_t rows, int64_t columns)
{
    for (; columns > 0; columns -= 2, p.b += 2 * p.b_column, p.c += PAIR) {
        if (rows > TILE_ROWS && columns > 1)
            product(&p, 2, 2);
        else if (rows > TILE_ROWS)
            product(&p, 2, 1);
        else if (columns > 1)
            product(&p, 1, 2);
        else
            product(&p, 1, 1);
    }
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

/* As attention_exponentials, in powers of two: `factor` is the scale of scores, over ln 2. */
VEC_INLINE void exponentials(const struct scratch *s, int64_t r, int64_t n, int64_t all,
                             int64_t padded, float factor)
{
    const float *scores = s->scores + r * KEYS;
    vec least = vec_set(-INFINITY), most = least;
    for (int64_t i = 0; i < n; i += VEC_LANES) {
        vec x = vec_load(NATIVE_F32, scores, i);
        most = vec_max(n - i < VEC_LANES ? vec_first(x, n - i, least) : x, most);
    }
    float before = s->most[r], now = vec_greatest(most) * factor;
    vec total = vec_load(NATIVE_F32, s->totals, r * VEC_LANES);
    if (now > before) {
        vec by = exp2_short(vec_set(before - now));
        total = vec_mul(total, by);
        for (int64_t d = 0; d < padded && before > -INFINITY; d += VEC_LANES)
            vec_store(NATIVE_F32, s->sums, r * padded + d,
                      vec_mul(vec_load(NATIVE_F32, s->sums, r * padded + d), by));
        s->most[r] = before = now;
    }
    vec minus = vec_set(before == -INFINITY ? 0 : before), times = vec_set(factor);
    for (int64_t i = 0; i < all; i += PAIR) {
        vec y[2] = {vec_set(0), vec_set(0)};
        for (int j = 0; j < 2; j++) {
            int64_t left = n - i - j * VEC_LANES;
            if (left <= 0)
                continue;
            vec x = vec_load(NATIVE_F32, scores, i + j * VEC_LANES);
            y[j] = exp2_short(_mm512_fmsub_ps(x, times, minus));
            if (left < VEC_LANES)
                y[j] = vec_first(y[j], left, vec_set(0));
            total = vec_add(total, y[j]);
        }
        _mm512_store_si512(s->p + r * KEYS + i, (__m512i)_mm512_cvtne2ps_pbh(y[1], y[0]));
    }
    vec_store(NATIVE_F32, s->totals, r * VEC_LANES, total);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void keys_of_rows(const struct attention_job *job, struct rows q, int64_t row, int64_t rows,
                         int64_t key, int64_t keys, const struct scratch *s)
{
    int64_t padded = padded_dim(job), all = attention_round_up(keys, PAIR);
    float factor = job->scale * 0x1.715476p0f; /* 1 / ln 2 */
    struct product scores = {
        .a = q,
        .b = s->k + (size_t)(key * padded * 2),
        .b_step = TILE,
        .b_column = (size_t)(TILE_ROWS * padded * 2),
        .steps = padded / PAIR,
        .c = s->scores,
        .c_stride = KEYS * sizeof(float),
    };
    multiply(scores, rows, (keys + TILE_ROWS - 1) / TILE_ROWS);
    for (int64_t r = 0; r < rows; r++) {
        int64_t sees = attention_keys(job, row + r + 1) - key;
        exponentials(s, r, sees < 0 ? 0 : attention_least(sees, keys), all, padded, factor);
    }
    struct product answers = {
        .a = {s->p, KEYS * sizeof *s->p},
        .b = s->v + (size_t)(key * padded * 2),
        .b_step = (size_t)(PAIR * padded * 2),
        .b_column = TILE,
        .steps = all / PAIR,
        .c = s->sums,
        .c_stride = (size_t)padded * sizeof(float),
        .add = key > 0,
    };
    multiply(answers, rows, padded / TILE_ROWS);
}

/* Of two tiles' columns, four come from the first, then four from the second. */
static void finish(const struct attention_job *job, const struct attention_head *head, int64_t row,
                   int64_t rows, const struct scratch *s)
{
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    int64_t padded = padded_dim(job);
    for (int64_t r = 0; r < rows; r++) {
        vec by = vec_set(1 / vec_sum(vec_load(NATIVE_F32, s->totals, r * VEC_LANES)));
        uint16_t *to = (uint16_t *)head->out + head->out_at + (row + r) * job->heads * job->dim;
        for (int64_t d = 0; d < job->dim; d += PAIR) {
            const float *from = s->sums + r * padded + d;
            vec a = vec_mul(_mm512_load_ps(from), by), b = vec_mul(_mm512_load_ps(from + 16), by);
            __m512i y = _mm512_permutexvar_epi64(order, (__m512i)_mm512_cvtne2ps_pbh(b, a));
            int64_t left = job->dim - d;
            __mmask32 mask = left >= PAIR ? ~UINT32_C(0) : (UINT32_C(1) << left) - 1;
            _mm512_mask_storeu_epi16(to + d, mask, y);
        }
    }
}

static void block(const struct attention_job *job, const struct attention_head *head, int64_t row,
                  const struct scratch *s)
{
    int64_t rows = attention_least(job->seq - row, ROWS), keys = attention_keys(job, row + rows);
    struct rows q = rows_of_q(job, head, row, rows, s);
    for (int64_t r = 0; r < rows; r++) {
        s->most[r] = -INFINITY;
        vec_store(NATIVE_F32, s->totals, r * VEC_LANES, vec_set(0));
    }
    for (int64_t key = 0; key < keys; key += KEYS)
        keys_of_rows(job, q, row, rows, key, attention_least(keys - key, KEYS), s);
    finish(job, head, row, rows, s);
}

static void share(const struct attention_job *job, const struct assay_args *args, int64_t begin,
                  int64_t end, void *scratch)
{
    struct scratch s = lay_out(job, scratch);
    int64_t blocks = (job->seq + ROWS - 1) / ROWS;
    assay_cpu_tiles_open();
    for (int64_t b = begin; b < end;) {
        struct attention_head head = attention_head_of(job, args, b / blocks);
        int64_t stop = attention_least(end, (b / blocks + 1) * blocks);
        pack_keys(job, &head, s.k);
        pack_values(job, &head, s.v);
        if (stop < end && job->seq <= SHORT_SEQ) {
            struct attention_head next = attention_head_of(job, args, b / blocks + 1);
            prefetch_head(job, &next);
        }
        for (; b < stop; b++)
            block(job, &head, b % blocks * ROWS, &s);
    }
    assay_cpu_tiles_close();
}

static const struct attention_body body = {ROWS, scratch_bytes, share};

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    (void)problem;
    return assay_cpu_need(
        ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16 | ASSAY_CPU_AMX_TILE | ASSAY_CPU_AMX_BF16, why);
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
