/* linear_amx.c: linear on the matrix unit: tiles of 16 rows of 64 bytes, bf16 or 8-bit integers.
 *
 * Both types run through the same code. A k-step is what one tile multiplication takes of k: 64
 * bytes of a row of x, 32 bf16 or 64 s8, and 16 lines of a panel of weights (quant.h). Weights of
 * bf16 and s8 products are used as they are packed; other codes are brought back to bf16, which is
 * exact for s8 and e4m3 (their scale comes in the epilogue) and rounded once for 4- and 8-bit codes
 * with groups.
 *
 * The order of work, from the outside: blocks of panels whose weights fit the L2 cache (with all of
 * k, or, where k is long, a part of it at a time); blocks of 32 rows of x, packed as tiles when
 * first met; chunks of k whose tiles of x fit the L1 cache; pairs of panels. The innermost loop
 * makes 2 x 2 tiles of sums from 4 tile loads, two of which come from L1: two tiles from L2 in 64
 * cycles is what the L2 cache gives. Sums of unfinished chunks wait in scratch memory.
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
    CHUNK_STEPS = 16,                   /* 2 x 16 tiles of x: 32 KiB of the 48 KiB of L1 */
    L2_SHARE = 1 << 20,                 /* of the L2 cache, for a block of weights */
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
    bool integer;       /* s8 products */
    bool direct;        /* packed weights are tiles already */
    int64_t steps;      /* k-steps */
    int64_t blocks;     /* of 32 rows */
    int64_t block_steps;  /* k-steps of a block of weights */
    int64_t block_panels; /* its panels */
    unsigned char *x_tiles;  /* [block][step][2 tiles] */
    float *x_scales;         /* of each row */
    unsigned char *w_tiles;  /* [panel of the block][step], where they are not direct */
    unsigned char *sums;     /* squares: [block][pair], or [pair] where k is not cut */
};

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

/* Sizes: how weights are cut, and where things lie in the scratch memory. Returns its size. */
static size_t lay_out(const struct linear_job *job, const struct linear_part *part,
                      unsigned char *scratch, struct plan *p)
{
    int64_t panels = (part->panel_end - part->panel + 1) / 2 * 2;
    p->integer = is_integer(job);
    p->direct = is_direct(job);
    p->steps = steps_of(job);
    p->blocks = (part->row_end - part->row + BLOCK_ROWS - 1) / BLOCK_ROWS;
    p->block_steps = p->steps;
    p->block_panels = most(L2_SHARE / TILE_BYTES / p->steps / 2 * 2, 2);
    if (p->block_panels < 16 && p->blocks > 1) { /* too narrow to reuse x: cut k instead */
        p->block_panels = 16;
        p->block_steps = L2_SHARE / TILE_BYTES / 16;
    }
    p->block_panels = least(p->block_panels, panels);
    bool cut = p->block_steps < p->steps;
    size_t at = 0;
    p->x_tiles = scratch + at;
    at += (size_t)(p->blocks * p->steps * 2) * TILE_BYTES;
    p->sums = scratch + at;
    at += (size_t)((cut ? p->blocks : 1) * ((p->block_panels + 1) / 2)) * SQUARE_BYTES;
    p->w_tiles = scratch + at;
    if (!p->direct)
        at += (size_t)most(p->block_panels * p->block_steps, 4 * 4) * TILE_BYTES;
    p->x_scales = (float *)(void *)(scratch + at);
    at += (size_t)p->blocks * BLOCK_ROWS * sizeof(float);
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

/* Packs (and quantises) one block of up to 32 rows as tiles: [step][tile][row][64 bytes]. */
static void pack_x(const struct plan *p, int64_t block)
{
    const struct linear_job *job = p->call->job;
    int64_t per_step = p->integer ? 64 : 32;
    size_t stride = (size_t)job->k * assay_dtype_bytes(job->dtype);
    unsigned char *to = p->x_tiles + (size_t)(block * p->steps * 2) * TILE_BYTES;
    int64_t tiles = p->part->row_end - p->part->row - block * BLOCK_ROWS > 16 ? 2 : 1;
    for (int64_t r = 0; r < tiles * 16; r++) {
        int64_t row = p->part->row + block * BLOCK_ROWS + r;
        unsigned char *line = to + (size_t)(r / 16) * TILE_BYTES + (size_t)(r % 16) * 64;
        if (row >= p->part->row_end) {
            for (int64_t s = 0; s < p->steps; s++, line += 2 * TILE_BYTES)
                _mm512_store_si512((void *)line, _mm512_setzero_si512());
            continue;
        }
        const unsigned char *from = (const unsigned char *)p->call->x + (size_t)row * stride;
        float scale = x_scale(p->call, row);
        p->x_scales[block * BLOCK_ROWS + r] = scale;
        for (int64_t s = 0; s < p->steps; s++, line += 2 * TILE_BYTES)
            _mm512_store_si512((void *)line, x_line(p->call, from, s * per_step,
                                                    least(job->k - s * per_step, per_step),
                                                    1.0f / scale));
    }
}

static void activations(const struct linear_call *call, const struct linear_part *part,
                        void *scratch)
{
    struct plan plan = {.call = call, .part = part};
    lay_out(call->job, part, scratch, &plan);
    for (int64_t block = 0; block < plan.blocks; block++)
        pack_x(&plan, block);
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

/* Brings a block of weights back into the scratch memory. */
static void decode_block(const struct plan *p, int64_t panel, int64_t panels, int64_t step,
                         int64_t steps)
{
    for (int64_t i = 0; i < panels; i++)
        for (int64_t s = 0; s < steps; s++)
            decode_step(p->call->w, panel + i, step + s,
                        p->w_tiles + (size_t)(i * p->block_steps + s) * TILE_BYTES);
}

/* ---- sums ------------------------------------------------------------------------------------ */

#define MULTIPLY_BF16(c, a, b) _tile_dpbf16ps(c, a, b)
#define MULTIPLY_S8(c, a, b) _tile_dpbssd(c, a, b)

/* 2 x 2 tiles: x tiles from `a` (2 KiB a step), weights from b0 and b1 (1 KiB a step). The lines
 * from `ahead` on are asked for on the way, two a step. */
#define DEFINE_SQUARE(name, multiply)                                                              \
    static void name(const unsigned char *a, const unsigned char *b0, const unsigned char *b1,     \
                     int64_t steps, unsigned char *sums, bool load, const unsigned char *ahead)    \
    {                                                                                              \
        if (load) {                                                                                \
            _tile_loadd(0, sums, 128);                                                             \
            _tile_loadd(1, sums + 64, 128);                                                        \
            _tile_loadd(2, sums + 2048, 128);                                                      \
            _tile_loadd(3, sums + 2048 + 64, 128);                                                 \
        } else {                                                                                   \
            _tile_zero(0);                                                                         \
            _tile_zero(1);                                                                         \
            _tile_zero(2);                                                                         \
            _tile_zero(3);                                                                         \
        }                                                                                          \
        for (int64_t s = 0; s < steps; s++) {                                                      \
            _tile_loadd(6, b0, 64);                                                                \
            _tile_loadd(4, a, 64);                                                                 \
            _tile_loadd(7, b1, 64);                                                                \
            multiply(0, 4, 6);                                                                     \
            _tile_loadd(5, a + TILE_BYTES, 64);                                                    \
            multiply(1, 4, 7);                                                                     \
            multiply(2, 5, 6);                                                                     \
            multiply(3, 5, 7);                                                                     \
            _mm_prefetch(ahead, _MM_HINT_T1);                                                      \
            _mm_prefetch(ahead + 64, _MM_HINT_T1);                                                 \
            ahead += 128;                                                                          \
            a += 2 * TILE_BYTES;                                                                   \
            b0 += TILE_BYTES;                                                                      \
            b1 += TILE_BYTES;                                                                      \
        }                                                                                          \
        _tile_stored(0, sums, 128);                                                                \
        _tile_stored(1, sums + 64, 128);                                                           \
        _tile_stored(2, sums + 2048, 128);                                                         \
        _tile_stored(3, sums + 2048 + 64, 128);                                                    \
    }

DEFINE_SQUARE(square_bf16, MULTIPLY_BF16)
DEFINE_SQUARE(square_s8, MULTIPLY_S8)

/* Finishes rows [row, row + rows) of y, 16 columns from panel `panel` on, from sums 128 or 256 bytes
 * apart. */
static void finish(const struct plan *p, int64_t block, int64_t rows, int64_t panel,
                   const unsigned char *sums, size_t stride)
{
    struct tile_finish f = tile_finish_of(p->call, panel, p->integer);
    for (int64_t r = 0; r < rows; r++)
        tile_finish_row(&f, p->part->row + block * BLOCK_ROWS + r,
                          p->x_scales[block * BLOCK_ROWS + r], sums + (size_t)r * stride);
}

/* Where the x that the next block of rows needs lies: its rows when x is first met, its tiles
 * later. */
static const unsigned char *next_x(const struct plan *p, int64_t block, bool packed)
{
    const struct linear_job *job = p->call->job;
    int64_t next = block + 1 < p->blocks ? block + 1 : block;
    if (packed)
        return p->x_tiles + (size_t)(next * p->steps * 2) * TILE_BYTES;
    return (const unsigned char *)p->call->x +
           (size_t)(p->part->row + next * BLOCK_ROWS) * (size_t)job->k *
               assay_dtype_bytes(job->dtype);
}

/* All pairs of panels of a block of weights with one block of rows, over its part of k. */
static void multiply_rows(const struct plan *p, int64_t block, int64_t panel, int64_t panels,
                          int64_t step, int64_t steps)
{
    bool cut = p->block_steps < p->steps, last = step + steps == p->steps;
    const unsigned char *x = p->x_tiles + (size_t)((block * p->steps + step) * 2) * TILE_BYTES;
    const unsigned char *ahead = next_x(p, block, panel > p->part->panel || step > 0);
    int64_t rows = least(p->part->row_end - p->part->row - block * BLOCK_ROWS, BLOCK_ROWS);
    int64_t chunk = p->blocks > 1 ? CHUNK_STEPS : steps;
    unsigned char *sums =
        p->sums + (cut ? (size_t)(block * p->block_panels / 2) * SQUARE_BYTES : 0);
    for (int64_t s = 0; s < steps; s += chunk) {
        int64_t n = least(chunk, steps - s);
        for (int64_t i = 0; i < panels; i += 2) {
            int64_t second = i + 1 < panels ? i + 1 : i;
            const unsigned char *b0, *b1;
            if (p->direct) {
                b0 = w_tile(p, panel + i, step + s);
                b1 = w_tile(p, panel + second, step + s);
            } else {
                b0 = p->w_tiles + (size_t)(i * p->block_steps + s) * TILE_BYTES;
                b1 = p->w_tiles + (size_t)(second * p->block_steps + s) * TILE_BYTES;
            }
            unsigned char *square = sums + (size_t)(i / 2) * SQUARE_BYTES;
            (p->integer ? square_s8 : square_bf16)(x + (size_t)(s * 2) * TILE_BYTES, b0, b1, n,
                                                   square, step + s > 0, ahead);
            ahead += n * 128;
            if (last && s + n == steps) {
                finish(p, block, rows, panel + i, square, 128);
                if (i + 1 < panels)
                    finish(p, block, rows, panel + i + 1, square + 64, 128);
            }
        }
    }
}

static void multiply(const struct plan *p)
{
    int64_t end = p->part->panel_end;
    for (int64_t panel = p->part->panel; panel < end; panel += p->block_panels) {
        int64_t panels = least(p->block_panels, end - panel);
        for (int64_t step = 0; step < p->steps; step += p->block_steps) {
            int64_t steps = least(p->block_steps, p->steps - step);
            if (!p->direct)
                decode_block(p, panel, panels, step, steps);
            for (int64_t block = 0; block < p->blocks; block++) {
                if (panel == p->part->panel && step == 0)
                    pack_x(p, block);
                multiply_rows(p, block, panel, panels, step, steps);
            }
        }
    }
}

/* ---- few rows -------------------------------------------------------------------------------- */

enum { STRIP = 4, STRIP_AHEAD = 2048, STRIP_DECODED = 4 };

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
    pack_x(p, 0);
    for (int64_t panel = p->part->panel; panel < end; panel += STRIP) {
        int64_t panels = least(STRIP, end - panel);
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        (p->direct ? strip_direct : strip_decoded)(p, panel, panels);
        _tile_stored(0, p->sums, 256);
        _tile_stored(1, p->sums + 64, 256);
        _tile_stored(2, p->sums + 128, 256);
        _tile_stored(3, p->sums + 192, 256);
        for (int64_t i = 0; i < panels; i++)
            finish(p, 0, rows, panel + i, p->sums + i * 64, 256);
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
