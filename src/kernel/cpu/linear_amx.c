/* linear_amx.c: linear on the matrix unit: tiles of 16 rows of 64 bytes, bf16 or 8-bit integers.
 *
 * Both types run through the same code. A k-step is what one tile multiplication takes of k: 64
 * bytes of a row of x, 32 bf16 or 64 s8, and 16 lines of a panel of weights (quant.h). Weights of
 * bf16 and s8 products are used as they are packed; other codes are brought back to bf16, which is
 * exact for s8 and e4m3 (their scale comes in the epilogue) and rounded once for 4- and 8-bit codes
 * with groups.
 *
 * The order of work, from the outside: blocks of rows of x whose tiles fit the L2 cache (with all of
 * k, or, where k is long, a part of it at a time), packed when they are come to; pairs of panels;
 * chunks of k whose tiles of weights fit the L1 cache; 32 rows at a time. The innermost loop makes
 * 2 x 2 tiles of sums from 4 tile loads, two of which, the weights, come from L1; all four from L2
 * would be 64 bytes a cycle, which L2 does not give. x passes by with the load that does not claim
 * L1. Sums of unfinished chunks wait in scratch memory. The next pair of panels is asked for while
 * this one is at work.
 *
 * Up to 16 rows of x make one tile; then four panels at a time share it and the weights stream by.
 */
#include "kernel/cpu/linear.h"
#include "kernel/cpu/linear_tile.h"

#include <string.h>

enum {
    TILE_BYTES = 1024,
    BLOCK_ROWS = 32,
    SQUARE_BYTES = BLOCK_ROWS * 32 * 4, /* the sums of 2 x 2 tiles */
    CHUNK_STEPS = 16,                   /* 2 x 16 tiles of weights: 32 KiB of the 48 KiB of L1 */
    L2_SHARE = 1 << 20,                 /* of the L2 cache, for tiles of x */
    LEAST_ROWS = 256,                   /* of a block: else weights pass by too often */
};

struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t colsb[16];
    uint8_t rows[16];
} __attribute__((aligned(64)));

/* Written as text: the compiler's own intrinsic declares 8 of the 64 bytes it reads. */
static void configure_tiles(void)
{
    struct tile_config config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.colsb[i] = 64;
        config.rows[i] = 16;
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(config) : "memory");
}

static void release_tiles(void) { __asm__ volatile("tilerelease" ::: "memory"); }

/* What a part needs to know all the way down. */
struct plan {
    const struct linear_call *call;
    const struct linear_part *part;
    bool integer;            /* s8 products */
    bool direct;             /* packed weights are tiles already */
    int64_t steps;           /* k-steps */
    int64_t block_rows;      /* of a block of x, a multiple of 32 */
    int64_t block_steps;     /* its k-steps */
    bool in_place;           /* x's rows serve as tiles where they lie, but for the last few */
    unsigned char *x_tiles;  /* [32 rows][step][2 tiles] of what is packed */
    float *x_scales;         /* of each row of the block */
    unsigned char *w_tiles;  /* [panel of the pair][step], where they are not direct */
    unsigned char *sums;     /* squares: [pair][32 rows], or [32 rows] where k is not cut */
};

enum { STRIP = 4, STRIP_AHEAD = 2048, STRIP_DECODED = 4 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static bool is_integer(const struct linear_job *job)
{
    return job->dtype == ASSAY_DTYPE_S8 || job->recipe.activation == ASSAY_DTYPE_S8;
}

static int64_t steps_of(const struct linear_job *job)
{
    int64_t per_step = is_integer(job) ? 64 : 32;
    return (job->k + per_step - 1) / per_step;
}

static bool is_direct(const struct linear_job *job)
{
    return is_integer(job) || job->recipe.code == ASSAY_DTYPE_NONE;
}

/* Tiles can be loaded from rows of x where nothing has to be done to them and they end with a whole
 * step; but rows a multiple of 4 KiB apart would all fall on the same places of the caches. */
static bool can_stay(const struct linear_job *job)
{
    size_t row = (size_t)job->k * assay_dtype_bytes(job->dtype);
    return job->recipe.activation == ASSAY_DTYPE_NONE && row % 64 == 0 && row % 4096 != 0;
}

/* Sizes: how x is cut, and where things lie in the scratch memory. Returns its size. */
static size_t lay_out(const struct linear_job *job, const struct linear_part *part,
                      unsigned char *scratch, struct plan *p)
{
    int64_t rows = (part->row_end - part->row + BLOCK_ROWS - 1) / BLOCK_ROWS * BLOCK_ROWS;
    p->integer = is_integer(job);
    p->direct = is_direct(job);
    p->steps = p->block_steps = steps_of(job);
    p->block_rows = L2_SHARE / 64 / p->steps / BLOCK_ROWS * BLOCK_ROWS;
    if (p->block_rows < LEAST_ROWS && rows > BLOCK_ROWS) {
        p->block_rows = LEAST_ROWS;
        p->block_steps = least(L2_SHARE / 64 / LEAST_ROWS, p->steps);
    }
    if (p->block_rows >= rows || rows <= BLOCK_ROWS)
        p->block_rows = rows;
    else /* blocks of about the same size */
        p->block_rows = ((rows / BLOCK_ROWS - 1) / ((rows - 1) / p->block_rows + 1) + 1) * BLOCK_ROWS;
    p->in_place = can_stay(job);
    int64_t packed_rows = p->in_place ? BLOCK_ROWS : p->block_rows;
    bool cut = p->block_steps < p->steps;
    int64_t pairs = (part->panel_end - part->panel + 1) / 2;
    size_t at = 0;
    p->x_tiles = scratch + at;
    at += (size_t)(packed_rows / BLOCK_ROWS * p->block_steps * 2) * TILE_BYTES;
    p->sums = scratch + at;
    at += (size_t)((cut ? pairs : 1) * (p->block_rows / BLOCK_ROWS)) * SQUARE_BYTES;
    p->w_tiles = scratch + at;
    if (!p->direct)
        at += (size_t)most(2 * p->block_steps, STRIP * STRIP_DECODED) * TILE_BYTES;
    p->x_scales = (float *)(void *)(scratch + at);
    at += (size_t)p->block_rows * sizeof(float);
    return at;
}

static size_t scratch_bytes(const struct linear_job *job, const struct linear_part *part)
{
    struct plan plan;
    return lay_out(job, part, NULL, &plan);
}

/* ---- x ------------------------------------------------------------------------------------- */

/* 64 bytes of a row of x as the product takes it: elements [first, first + count), count up to 32
 * or 64, the rest 0. */
static inline __m512i x_line(const struct linear_call *call, const unsigned char *row,
                             int64_t first, int64_t count, float inverse)
{
    enum assay_dtype dtype = call->job->dtype;
    if (dtype == ASSAY_DTYPE_S8)
        return _mm512_maskz_loadu_epi8(count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1,
                                       row + first);
    if (call->job->recipe.activation == ASSAY_DTYPE_NONE)
        return _mm512_maskz_loadu_epi16(count >= 32 ? ~UINT32_C(0) : (UINT32_C(1) << count) - 1,
                                        row + first * 2);
    if (call->job->recipe.activation == ASSAY_DTYPE_S8)
        return tile_quantise_s8(dtype, row, first, count, inverse);
    return tile_quantise_e4m3(dtype, row, first, count, inverse);
}

static float row_amax(const struct linear_call *call, int64_t row)
{
    int64_t k = call->job->k;
    return tile_row_amax(call->job->dtype, call->x, row * k, k);
}

static float amax(const struct linear_call *call, int64_t row, int64_t row_end)
{
    float found = 0;
    for (; row < row_end; row++) {
        float own = row_amax(call, row);
        found = own > found ? own : found;
    }
    return found;
}

/* The scale of a row of x; its inverse is what values are multiplied with. */
static float x_scale(const struct linear_call *call, int64_t row)
{
    const struct assay_recipe *recipe = &call->job->recipe;
    if (recipe->activation_scope == ASSAY_SCOPE_ROW)
        return assay_quant_scale(recipe->activation, row_amax(call, row));
    return recipe->activation_scope == ASSAY_SCOPE_TENSOR ? call->x_scale : 1;
}

/* Steps [step, step_end) of row `row` of x, as lines of its tiles. */
static inline void pack_row(const struct plan *p, int64_t row, float inverse, int64_t step,
                            int64_t step_end, unsigned char *line)
{
    const struct linear_job *job = p->call->job;
    int64_t per_step = p->integer ? 64 : 32;
    const unsigned char *from = (const unsigned char *)p->call->x +
                                (size_t)row * (size_t)job->k * assay_dtype_bytes(job->dtype);
    for (int64_t s = step; s < step_end; s++, line += 2 * TILE_BYTES)
        _mm512_store_si512((void *)line,
                           x_line(p->call, from, s * per_step,
                                  least(job->k - s * per_step, per_step), inverse));
}

/* Packs (and quantises) steps [first, last) of up to 32 rows from `row` of the block on as tiles:
 * [step][tile][row][64 bytes]. A few steps of all rows at a time: lines of one row lie 2 KiB apart,
 * and more of them than the L1 cache has ways for would push each other out. */
static void pack_rows(const struct plan *p, int64_t block_start, int64_t row, int64_t first,
                      int64_t last)
{
    enum { STEPS = 8 };
    unsigned char *to = p->x_tiles + (size_t)(row / 16 * p->block_steps) * TILE_BYTES;
    int64_t start = block_start + row, rows = least(p->part->row_end - start, BLOCK_ROWS);
    int64_t padded = rows > 16 ? 32 : 16;
    float inverse[BLOCK_ROWS];
    for (int64_t r = 0; r < rows; r++) {
        if (first == 0 && !p->in_place)
            p->x_scales[row + r] = x_scale(p->call, start + r);
        inverse[r] = p->in_place ? 1 : 1.0f / p->x_scales[row + r];
    }
    size_t row_bytes = (size_t)p->call->job->k * assay_dtype_bytes(p->call->job->dtype);
    size_t step_bytes = (size_t)(p->integer ? 64 : 32) * assay_dtype_bytes(p->call->job->dtype);
    const char *x = (const char *)p->call->x + (size_t)start * row_bytes;
    for (int64_t step = first; step < last; step += STEPS) {
        int64_t end = least(step + STEPS, last);
        for (int64_t r = 0; r < rows && end < last; r++)
            for (size_t i = 0; i < STEPS * step_bytes; i += 64)
                _mm_prefetch(x + (size_t)r * row_bytes + (size_t)end * step_bytes + i, _MM_HINT_T0);
        unsigned char *tiles = to + (size_t)(step - first) * 2 * TILE_BYTES;
        for (int64_t r = 0; r < rows; r++)
            pack_row(p, start + r, inverse[r], step, end,
                     tiles + (size_t)(r / 16) * TILE_BYTES + (size_t)(r % 16) * 64);
        for (int64_t r = rows; r < padded; r++)
            for (int64_t s = 0; s < end - step; s++)
                memset(tiles + (size_t)(s * 2 + r / 16) * TILE_BYTES + (size_t)(r % 16) * 64, 0,
                       64);
    }
}

/* A block of x from row `start` on, `rows` of it, steps [first, last): all of it, or the rows at its
 * end that are no whole tiles. */
static void pack_block(const struct plan *p, int64_t start, int64_t rows, int64_t first,
                       int64_t last)
{
    int64_t whole = rows / BLOCK_ROWS * BLOCK_ROWS;
    if (p->in_place && whole < rows)
        pack_rows(p, start + whole, 0, first, last);
    for (int64_t row = 0; row < rows && !p->in_place; row += BLOCK_ROWS)
        pack_rows(p, start, row, first, last);
}

/* Two tiles of x, and how to go on from there. */
struct x_tiles {
    const unsigned char *at;
    size_t row, tile, step; /* bytes from one row to the next, one tile, one step */
};

/* Those of 32 rows from `row` of the block on, at k-step `step` of the block. */
static struct x_tiles x_tiles_of(const struct plan *p, int64_t start, int64_t rows, int64_t row,
                                 int64_t first, int64_t step)
{
    if (p->in_place && row + BLOCK_ROWS <= rows) {
        size_t bytes = (size_t)p->call->job->k * assay_dtype_bytes(p->call->job->dtype);
        const unsigned char *x = p->call->x;
        return (struct x_tiles){x + (size_t)(start + row) * bytes + (size_t)(first + step) * 64,
                                bytes, 16 * bytes, 64};
    }
    int64_t packed = p->in_place ? 0 : row;
    return (struct x_tiles){p->x_tiles +
                                (size_t)(packed / 16 * p->block_steps + step * 2) * TILE_BYTES,
                            64, TILE_BYTES, 2 * TILE_BYTES};
}

static void activations(const struct linear_call *call, const struct linear_part *part,
                        void *scratch)
{
    struct plan p = {.call = call, .part = part};
    lay_out(call->job, part, scratch, &p);
    for (int64_t start = part->row; start < part->row_end; start += p.block_rows)
        for (int64_t step = 0; step < p.steps; step += p.block_steps)
            pack_block(&p, start, least(p.block_rows, part->row_end - start), step,
                       least(step + p.block_steps, p.steps));
}

/* ---- weights --------------------------------------------------------------------------------- */

/* k-step `step` of a panel, brought back to bf16: 16 lines. */
static inline void decode_step(const struct assay_packed *w, int64_t panel, int64_t step,
                               unsigned char *to)
{
    const unsigned char *codes = w->codes + (size_t)panel * assay_packed_panel_bytes(w);
    switch (w->code) {
    case ASSAY_DTYPE_S8:
        tile_decode_s8(codes + (size_t)step * 8 * 64, to);
        break;
    case ASSAY_DTYPE_E4M3:
        tile_decode_e4m3(codes + (size_t)step * 8 * 64, to);
        break;
    case ASSAY_DTYPE_U4:
        tile_decode_u4(codes + (size_t)step * 4 * 64, tile_group_of(w, panel, step * 32),
                         to);
        break;
    default:
        tile_decode_u8(codes + (size_t)step * 8 * 64, tile_group_of(w, panel, step * 32),
                         to);
        break;
    }
}

static const unsigned char *w_tile(const struct plan *p, int64_t panel, int64_t step)
{
    const struct assay_packed *w = p->call->w;
    return w->codes + (size_t)panel * assay_packed_panel_bytes(w) + (size_t)step * TILE_BYTES;
}

/* The tiles of a panel from `step` on: as they are packed, or brought back into place `slot`. */
static const unsigned char *w_tiles(const struct plan *p, int64_t panel, int64_t slot,
                                    int64_t step, int64_t steps)
{
    if (p->direct)
        return w_tile(p, panel, step);
    unsigned char *to = p->w_tiles + (size_t)(slot * p->block_steps) * TILE_BYTES;
    for (int64_t s = 0; s < steps; s++)
        decode_step(p->call->w, panel, step + s, to + (size_t)s * TILE_BYTES);
    return to;
}

/* ---- sums ------------------------------------------------------------------------------------ */

#define MULTIPLY_BF16(c, a, b) _tile_dpbf16ps(c, a, b)
#define MULTIPLY_S8(c, a, b) _tile_dpbssd(c, a, b)

/* 2 x 2 tiles: two tiles of x, weights from b0 and b1 (1 KiB a step). The lines
 * from `ahead` on are asked for on the way, two a step. `sums` are the four tiles, one by one. */
#define DEFINE_SQUARE(name, multiply)                                                              \
    static void name(struct x_tiles x, const unsigned char *b0, const unsigned char *b1,           \
                     int64_t steps, unsigned char *sums, bool load, const unsigned char *ahead)    \
    {                                                                                              \
        const unsigned char *a = x.at;                                                             \
        if (load) {                                                                                \
            _tile_loadd(0, sums, 64);                                                              \
            _tile_loadd(1, sums + TILE_BYTES, 64);                                                 \
            _tile_loadd(2, sums + 2 * TILE_BYTES, 64);                                             \
            _tile_loadd(3, sums + 3 * TILE_BYTES, 64);                                             \
        } else {                                                                                   \
            _tile_zero(0);                                                                         \
            _tile_zero(1);                                                                         \
            _tile_zero(2);                                                                         \
            _tile_zero(3);                                                                         \
        }                                                                                          \
        for (int64_t s = 0; s < steps; s++) {                                                      \
            _tile_stream_loadd(4, a, x.row);                                                       \
            _tile_loadd(6, b0, 64);                                                                \
            _tile_loadd(7, b1, 64);                                                                \
            multiply(0, 4, 6);                                                                     \
            _tile_stream_loadd(5, a + x.tile, x.row);                                              \
            multiply(1, 4, 7);                                                                     \
            multiply(2, 5, 6);                                                                     \
            multiply(3, 5, 7);                                                                     \
            _mm_prefetch(ahead, _MM_HINT_T1);                                                      \
            _mm_prefetch(ahead + 64, _MM_HINT_T1);                                                 \
            ahead += 128;                                                                          \
            a += x.step;                                                                           \
            b0 += TILE_BYTES;                                                                      \
            b1 += TILE_BYTES;                                                                      \
        }                                                                                          \
        _tile_stored(0, sums, 64);                                                                 \
        _tile_stored(1, sums + TILE_BYTES, 64);                                                    \
        _tile_stored(2, sums + 2 * TILE_BYTES, 64);                                                \
        _tile_stored(3, sums + 3 * TILE_BYTES, 64);                                                \
    }

DEFINE_SQUARE(square_bf16, MULTIPLY_BF16)
DEFINE_SQUARE(square_s8, MULTIPLY_S8)

/* Finishes up to 16 rows of y from two tiles of sums side by side, or of one panel. */
static void finish_tiles(const struct plan *p, int64_t start, int64_t row, int64_t rows,
                         const struct tile_finish *panels, int64_t n, const unsigned char *sums)
{
    const float *x_scales = p->x_scales + row;
    if (n == 2 && p->call->job->dtype == ASSAY_DTYPE_BF16 && panels[1].columns == 16) {
        tile_finish_pair(&panels[0], &panels[1], start + row, rows, x_scales, sums,
                         sums + TILE_BYTES);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        tile_finish(&panels[i], start + row, rows, x_scales, sums + i * TILE_BYTES, 64);
}

/* Finishes the square of the block's rows from `row` on. */
static void finish_square(const struct plan *p, int64_t start, int64_t rows, int64_t row,
                          const struct tile_finish *panels, int64_t n, const unsigned char *sums)
{
    const unsigned char *square = sums + (size_t)(row / BLOCK_ROWS) * SQUARE_BYTES;
    int64_t left = least(rows - row, BLOCK_ROWS);
    finish_tiles(p, start, row, least(left, 16), panels, n, square);
    if (left > 16)
        finish_tiles(p, start, row + 16, left - 16, panels, n, square + 2 * TILE_BYTES);
}

/* Asks for the lines of y that a square will be written to: each is in another row, too far apart for
 * the CPU to see them coming, and writing 32 of them at once would wait for memory. */
static void claim_y(const struct plan *p, int64_t row, int64_t rows, int64_t panel)
{
    const struct linear_job *job = p->call->job;
    size_t element = job->dtype == ASSAY_DTYPE_S8 ? 4 : assay_dtype_bytes(job->dtype);
    const char *y = (const char *)p->call->y +
                    (size_t)(row * job->n + panel * ASSAY_PANEL_ROWS) * element;
    for (int64_t r = 0; r < rows; r++, y += (size_t)job->n * element)
        for (size_t i = 0; i < 32 * element; i += 64)
            __asm__ volatile("prefetchw %0" ::"m"(y[i]));
}

/* Multiplies a block of x with a pair of panels, chunk by chunk, and finishes y with the last. */
static void multiply_pair(const struct plan *p, int64_t start, int64_t rows, int64_t panel,
                          int64_t step, int64_t steps)
{
    bool cut = p->block_steps < p->steps, last = step + steps == p->steps;
    int64_t n = panel + 1 < p->part->panel_end ? 2 : 1, squares = p->block_rows / BLOCK_ROWS;
    const unsigned char *b0 = w_tiles(p, panel, 0, step, steps);
    const unsigned char *b1 = n == 2 ? w_tiles(p, panel + 1, 1, step, steps) : b0;
    const unsigned char *ahead = w_tile(p, panel + n < p->part->panel_end ? panel + n : panel, step);
    int64_t pair = (panel - p->part->panel) / 2, chunk = rows > BLOCK_ROWS ? CHUNK_STEPS : steps;
    unsigned char *sums = p->sums + (cut ? (size_t)(pair * squares) * SQUARE_BYTES : 0);
    struct tile_finish f[2] = {tile_finish_of(p->call, panel, p->integer),
                               tile_finish_of(p->call, panel + n - 1, p->integer)};
    for (int64_t s = 0; s < steps; s += chunk) {
        int64_t count = least(chunk, steps - s);
        bool done = last && s + count == steps;
        for (int64_t row = 0; row < rows; row += BLOCK_ROWS) {
            if (done)
                claim_y(p, start + row, least(rows - row, BLOCK_ROWS), panel);
            (p->integer ? square_s8 : square_bf16)(
                x_tiles_of(p, start, rows, row, step, s), b0 + (size_t)s * TILE_BYTES,
                b1 + (size_t)s * TILE_BYTES, count,
                sums + (size_t)(row / BLOCK_ROWS) * SQUARE_BYTES, step + s > 0, ahead);
            ahead += count * 128;
            if (done)
                finish_square(p, start, rows, row, f, n, sums);
        }
    }
}

static void multiply(const struct plan *p)
{
    for (int64_t row = 0; row < p->block_rows && p->in_place; row++)
        p->x_scales[row] = 1;
    for (int64_t start = p->part->row; start < p->part->row_end; start += p->block_rows) {
        int64_t rows = least(p->block_rows, p->part->row_end - start);
        for (int64_t step = 0; step < p->steps; step += p->block_steps) {
            int64_t steps = least(p->block_steps, p->steps - step);
            pack_block(p, start, rows, step, step + steps);
            for (int64_t panel = p->part->panel; panel < p->part->panel_end; panel += 2)
                multiply_pair(p, start, rows, panel, step, steps);
        }
    }
}

/* ---- few rows -------------------------------------------------------------------------------- */

/* One tile of x (2 KiB a step) with four panels, a KiB a step each: adds to tiles 0 to 3. Weights as
 * stored are asked for ahead; those just brought back are in L1. */
#define DEFINE_STRIP(name, multiply)                                                               \
    static inline void name(const unsigned char *a, const unsigned char *const *b, int64_t steps,  \
                            bool far)                                                              \
    {                                                                                              \
        for (int64_t s = 0; s < steps; s++) {                                                      \
            size_t at = (size_t)s * TILE_BYTES;                                                    \
            for (size_t i = 0; i < TILE_BYTES && far; i += 64)                                     \
                for (int j = 0; j < STRIP; j++)                                                    \
                    _mm_prefetch(b[j] + at + STRIP_AHEAD + i, _MM_HINT_T0);                        \
            _tile_loadd(4, a + 2 * at, 64);                                                        \
            _tile_loadd(5, b[0] + at, 64);                                                         \
            multiply(0, 4, 5);                                                                     \
            _tile_loadd(6, b[1] + at, 64);                                                         \
            multiply(1, 4, 6);                                                                     \
            _tile_loadd(7, b[2] + at, 64);                                                         \
            multiply(2, 4, 7);                                                                     \
            _tile_loadd(5, b[3] + at, 64);                                                         \
            multiply(3, 4, 5);                                                                     \
        }                                                                                          \
    }

DEFINE_STRIP(strip_bf16, MULTIPLY_BF16)
DEFINE_STRIP(strip_s8, MULTIPLY_S8)

static void strip_direct(const struct plan *p, int64_t panel, int64_t panels)
{
    const unsigned char *b[STRIP];
    for (int64_t i = 0; i < STRIP; i++)
        b[i] = w_tile(p, panel + least(i, panels - 1), 0);
    if (p->integer)
        strip_s8(p->x_tiles, b, p->steps, true);
    else
        strip_bf16(p->x_tiles, b, p->steps, true);
}

/* A few steps of the four panels at a time are brought back, into L1. */
static void strip_decoded(const struct plan *p, int64_t panel, int64_t panels)
{
    const unsigned char *b[STRIP];
    for (int64_t i = 0; i < STRIP; i++)
        b[i] = p->w_tiles + (size_t)(i * STRIP_DECODED) * TILE_BYTES;
    for (int64_t step = 0; step < p->steps; step += STRIP_DECODED) {
        int64_t steps = least(STRIP_DECODED, p->steps - step);
        for (int64_t i = 0; i < panels; i++)
            for (int64_t s = 0; s < steps; s++)
                decode_step(p->call->w, panel + i, step + s,
                            p->w_tiles + (size_t)(i * STRIP_DECODED + s) * TILE_BYTES);
        strip_bf16(p->x_tiles + (size_t)step * 2 * TILE_BYTES, b, steps, false);
    }
}

static void multiply_strip(const struct plan *p)
{
    int64_t end = p->part->panel_end, rows = p->part->row_end - p->part->row;
    for (int64_t row = 0; row < rows && p->in_place; row++)
        p->x_scales[row] = 1;
    pack_rows(p, p->part->row, 0, 0, p->steps);
    for (int64_t panel = p->part->panel; panel < end; panel += STRIP) {
        int64_t panels = least(STRIP, end - panel);
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        (p->direct ? strip_direct : strip_decoded)(p, panel, panels);
        _tile_stored(0, p->sums, 64);
        _tile_stored(1, p->sums + TILE_BYTES, 64);
        _tile_stored(2, p->sums + 2 * TILE_BYTES, 64);
        _tile_stored(3, p->sums + 3 * TILE_BYTES, 64);
        for (int64_t i = 0; i < panels; i++) {
            struct tile_finish f = tile_finish_of(p->call, panel + i, p->integer);
            tile_finish(&f, p->part->row, rows, p->x_scales, p->sums + i * TILE_BYTES, 64);
        }
    }
}

static void compute(const struct linear_call *call, const struct linear_part *part, void *scratch)
{
    struct plan plan = {.call = call, .part = part};
    lay_out(call->job, part, scratch, &plan);
    configure_tiles();
    if (part->row_end - part->row <= 16)
        multiply_strip(&plan);
    else
        multiply(&plan);
    release_tiles();
}

static const struct linear_body body = {scratch_bytes, compute, activations, amax};

#define FLOATS                                                                                     \
    (ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |                         \
     ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16))

static const struct linear_takes takes = {
    .dtypes = FLOATS | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
    .codes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_NONE) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8) |
             ASSAY_DTYPE_BIT(ASSAY_DTYPE_U4) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_U8) |
             ASSAY_DTYPE_BIT(ASSAY_DTYPE_E4M3),
    .activations = ASSAY_DTYPE_BIT(ASSAY_DTYPE_NONE) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8) |
                   ASSAY_DTYPE_BIT(ASSAY_DTYPE_E4M3),
    .least_m = 4,
};

/* x that is not quantised must be bf16 (or s8): f32 and f16 have more bits than tiles take. */
static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    uint32_t isa = ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16 | ASSAY_CPU_AMX_TILE |
                   ASSAY_CPU_AMX_BF16 | ASSAY_CPU_AMX_INT8;
    enum assay_status status = assay_linear_can_run(problem, isa, &takes, why);
    if (status != ASSAY_OK || !problem)
        return status;
    struct assay_recipe recipe;
    assay_recipe_parse(problem->recipe ? problem->recipe : "baseline", &recipe, NULL);
    bool wide = problem->dtype == ASSAY_DTYPE_F32 || problem->dtype == ASSAY_DTYPE_F16;
    if (wide && recipe.activation == ASSAY_DTYPE_NONE)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "x in %s does not go into tiles",
                               assay_dtype_name(problem->dtype));
    return ASSAY_OK;
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return assay_linear_setup(problem, &body, state, err);
}

extern const struct assay_kernel assay_kernel_linear_amx;
const struct assay_kernel assay_kernel_linear_amx = {
    LINEAR_FIELDS("linear_amx", 50),
    .units = ASSAY_UNIT_MATRIX,
};
