/* linear_amx.c: linear on the matrix unit: tiles of 16 rows of 64 bytes, bf16 or 8-bit integers.
 *
 * Both types run through the same code. A k-step is what one tile multiplication takes of k: 64
 * bytes of a row of x, 32 bf16 or 64 s8, and 16 lines of a panel of weights (quant.h). Weights of
 * bf16 and s8 products are used as they are packed; other codes are decoded to bf16, which is
 * exact for s8 and e4m3 (their scale comes in the epilogue) and rounded once for 4- and 8-bit codes
 * with groups.
 *
 * The order of work, from the outside: blocks of panels whose weights fit the L2 cache (with all of
 * k, or, where k is long, a part of it at a time, whose tiles are then copied side by side); 32
 * rows of x at a time, packed as tiles when they are first come to; chunks of k; pairs of panels.
 * The innermost loop makes 2 x 2 tiles of sums from 4 tile loads; all four from L2 would be 64
 * bytes a cycle, which L2 does not give. So the first of the two tiles of x is left in L1; the
 * second and the weights pass by with the load that does not claim L1. Sums of chunks that are not
 * the last wait in scratch memory, which costs more than x from L2: a chunk is longer than what L1
 * would hold of both tiles.
 *
 * Where plain rows of x lie well for L1, the first 16 of 32 are used from where they are; from L2
 * rows load slower than tiles, so the other 16 are copied. Windows of a convolution share their
 * pixels and stay in L1, where they can be used from where they are: all 32.
 *
 * Tiles of x lie a line more than a power of two apart, so that the lines of one row do not fall on
 * the same few sets of the L1 cache while it is packed. docs/notebook/linear.md tells what else
 * was tried.
 *
 * An f16 is the sum of two bf16, exactly (tile_split): x and the weights are split while they are
 * packed and decoded, and the four products of parts go into the same sums. Codes of s8 and
 * e4m3 need no second part, so with them it is two products; of codes with groups 16 bits are kept.
 * Infinities and NaNs give what they give in other kernels.
 *
 * Up to 16 rows of x make one tile; then four panels at a time share it while the weights are
 * streamed.
 */
#include "base/math.h"
#include "device/cpu/cpu_tiles_amx.h"
#include "kernel/native/linear/linear_bodies.h"
#include "kernel/native/linear/linear_tile_amx.h"

#include "kernel/native/linear/linear_columns.h"
#include "kernel/native/linear/linear_rows.h"

#include <math.h>
#include <stdio.h>

enum {
    TILE_BYTES = 1024,
    BLOCK_ROWS = 32,
    REGBLOCK_BYTES = BLOCK_ROWS * 32 * 4, /* the sums of 2 x 2 tiles */
    STEP_BYTES = 2 * TILE_BYTES + 64,     /* two tiles of x and a gap, see above */
    SPLIT_BYTES = 4 * TILE_BYTES + 64,    /* the same of f16: upper parts, then rests */
    CHUNK_STEPS = 32,                     /* of x */
    SPLIT_NEAR_STEPS = 9,                 /* of a chunk of x in two parts: 37 KiB of the 48 of L1 */
    L2_LEAST = 1 << 18,                   /* of the L2 cache, where it is small or unknown */
    STREAM_PART = 4,                      /* of an L2 share: a smaller y is not worth it */
    LEAST_PANELS = 16,                    /* of a block: else x passes by too often */
    GATHER_ROW_BLOCKS = 8,                /* from so many on copying a block of weights pays off */
    FAST_PANELS = 24, /* with fewer, prefetching two lines of x a step is too late */
};

/* What a part needs to know all the way down. */
struct plan {
    const struct linear_call *call;
    const struct linear_part *part;
    bool integer;           /* s8 products */
    bool direct;            /* packed weights are tiles already */
    bool gathers;           /* … but those of a block are copied, to lie together */
    bool x_split, w_split;  /* two tiles hold what one would: f16 */
    bool careful, *odd;     /* see tile_split; *odd: an infinity or NaN was met */
    size_t x_step, w_step;  /* bytes of a k-step: 32 rows of x, one panel of weights */
    int64_t steps;          /* k-steps */
    int64_t row_blocks;     /* of 32 rows */
    int64_t block_steps;    /* k-steps of a block of weights */
    int64_t block_panels;   /* its panels */
    bool stays;             /* the first 16 of 32 rows are used as they came */
    bool windows_stay;      /* so are windows, 16 side by side */
    bool keeps;             /* all tiles of x are kept, else those of 32 rows */
    bool streams;           /* y by streaming stores */
    void *row_scratch;      /* for a normalised row; it comes first, see amax */
    unsigned char *x_tiles; /* [32 rows][step] */
    float *x_scales;        /* of each row */
    unsigned char *w_tiles; /* [panel of the block][step], where they are not direct */
    unsigned char *sums;    /* of 2 x 2 tiles: [32 rows][pair], or [pair] where k is not cut */
};

enum { STRIP = 4, STRIP_AHEAD = 2048, STRIP_DECODED = 4 };

static bool is_integer(const struct linear_job *job)
{
    return job->dtype == ASSAY_DTYPE_S8 || job->recipe.activation == ASSAY_DTYPE_S8;
}

static int64_t steps_of(const struct linear_job *job)
{
    int64_t per_step = is_integer(job) ? 64 : 32;
    return (job->k + per_step - 1) / per_step;
}

/* f16 that is not quantised. */
static bool is_split(const struct linear_job *job)
{
    return job->dtype == ASSAY_DTYPE_F16 && job->recipe.activation == ASSAY_DTYPE_NONE;
}

/* Its weights need two tiles as well, save codes of s8 and e4m3. */
static bool splits_weights(const struct linear_job *job)
{
    enum assay_dtype code = job->recipe.code;
    return is_split(job) && code != ASSAY_DTYPE_S8 && code != ASSAY_DTYPE_E4M3;
}

static bool is_direct(const struct linear_job *job)
{
    return is_integer(job) || (job->recipe.code == ASSAY_DTYPE_NONE && !is_split(job));
}

static size_t y_bytes(const struct linear_job *job)
{
    return job->dtype == ASSAY_DTYPE_S8 ? 4 : assay_dtype_bytes(linear_y_dtype(job));
}

/* Bytes of a block of weights: half of L2, the rest is for what passes by. */
static int64_t l2_share(void)
{
    return assay_max((int64_t)assay_cpu_info()->l2_bytes / 2, L2_LEAST);
}

/* Where x is only to be packed, threads cut the weights if that brings fewer bytes to each: all
 * weights of its part once, and its rows of x for each block of them. */
static bool cuts_weights(const struct linear_job *job, int32_t threads)
{
    int64_t w = job->k * job->n * (is_integer(job) ? 1 : 2), part = w / threads;
    int64_t x = job->m * job->k * (int64_t)assay_dtype_bytes(job->dtype), share = l2_share();
    if (is_split(job) || job->norm != ASSAY_LINEAR_NO_NORM || job->windows.kernel ||
        job->recipe.activation != ASSAY_DTYPE_NONE || job->columns ||
        job->n < (int64_t)threads * LEAST_PANELS * ASSAY_PANEL_ROWS)
        return false;
    return part + (part + share - 1) / share * x < w + (w + share - 1) / share * (x / threads);
}

/* From a row of x to the next, where it is no image. */
static size_t x_stride(const struct linear_job *job)
{
    return (size_t)job->k * assay_dtype_bytes(job->dtype);
}

/* Do the lines of a chunk of 16 rows fall on different sets of the L1 cache (64 sets of 8 or 12
 * ways), with some left for what passes by? */
static bool lies_well(size_t stride)
{
    unsigned char lines[64] = {0};
    for (size_t row = 0; row < 16; row++)
        for (size_t line = 0; line < CHUNK_STEPS; line++)
            if (++lines[(row * stride / 64 + line) % 64] > 9)
                return false;
    return true;
}

/* Are x's tiles kept for the blocks of weights behind the first? Normalising, quantising, splitting
 * or transposing it again costs more than that. Copying rows again does only where there are many
 * blocks, and none of the rows can be used where they are: kept tiles push the weights out of L2.
 */
static bool keeps_tiles(const struct linear_job *job, int64_t blocks)
{
    enum { MANY = 3 };
    if (is_split(job) || job->norm != ASSAY_LINEAR_NO_NORM || job->columns ||
        job->recipe.activation != ASSAY_DTYPE_NONE)
        return blocks > 1;
    return blocks >= MANY && job->windows.kernel == 0 && !lies_well(x_stride(job));
}

/* Sizes: how weights are cut, and where things lie in the scratch memory. Returns its size. */
static size_t lay_out(const struct linear_job *job, const struct linear_part *part,
                      unsigned char *scratch, struct plan *p)
{
    int64_t panels = (part->panel_end - part->panel + 1) / 2 * 2, share = l2_share();
    p->integer = is_integer(job);
    p->direct = is_direct(job);
    p->x_split = is_split(job);
    p->w_split = splits_weights(job);
    p->x_step = p->x_split ? SPLIT_BYTES : STEP_BYTES;
    p->w_step = p->w_split ? 2 * TILE_BYTES : TILE_BYTES;
    int64_t tiles = share / (int64_t)p->w_step;
    p->steps = p->block_steps = steps_of(job);
    p->row_blocks = (part->row_end - part->row + BLOCK_ROWS - 1) / BLOCK_ROWS;
    p->block_panels = assay_max(tiles / p->steps / 2 * 2, 2);
    if (p->block_panels < LEAST_PANELS && p->row_blocks > 1) {
        p->block_panels = LEAST_PANELS;
        p->block_steps = assay_min(tiles / LEAST_PANELS, p->steps);
    }
    p->block_panels = assay_min(p->block_panels, panels);
    bool cut = p->block_steps < p->steps;
    p->gathers = p->direct && cut && p->row_blocks >= GATHER_ROW_BLOCKS;
    size_t at = linear_row_bytes(job);
    p->row_scratch = scratch;
    p->x_tiles = scratch + at;
    p->keeps =
        cut || keeps_tiles(job, (panels + p->block_panels - 1) / assay_max(p->block_panels, 1));
    at += (size_t)((p->keeps ? p->row_blocks : 1) * p->steps) * p->x_step;
    p->sums = scratch + at;
    at += (size_t)((cut ? p->row_blocks : 1) * assay_max(p->block_panels / 2, 1)) * REGBLOCK_BYTES;
    p->w_tiles = scratch + at;
    if (!p->direct || p->gathers)
        at +=
            (size_t)assay_max(p->block_panels * p->block_steps, STRIP * STRIP_DECODED) * p->w_step;
    p->x_scales = (float *)(void *)(scratch + at);
    at += (size_t)p->row_blocks * BLOCK_ROWS * sizeof(float);
    return at;
}

static size_t scratch_bytes(const struct linear_job *job, const struct linear_part *part)
{
    struct plan plan;
    return lay_out(job, part, NULL, &plan);
}

/* ---- x ------------------------------------------------------------------------------------- */

/* 64 bytes of a quantised row of x: elements [first, first + count), count up to 32 or 64, the rest
 * 0. */
static inline __m512i x_line(const struct linear_call *call, const unsigned char *row,
                             int64_t first, int64_t count, float inverse)
{
    enum assay_dtype dtype = call->job->dtype;
    if (call->job->recipe.activation == ASSAY_DTYPE_S8)
        return tile_quantise_s8(dtype, row, first, count, inverse);
    return tile_quantise_e4m3(dtype, row, first, count, inverse);
}

static float amax(const struct linear_call *call, int64_t row, int64_t row_end, void *scratch)
{
    const struct linear_job *job = call->job;
    float found = 0;
    for (; row < row_end; row++) {
        const void *x = linear_x_row(tile_kind(job->dtype), call, row, scratch);
        float own = tile_row_amax(job->dtype, x, 0, job->k);
        found = found >= own ? found : own;
        if (isnan(found))
            break;
    }
    return found;
}

/* The scale of a row of x; its inverse is what values are multiplied with. */
static float x_scale(const struct linear_call *call, const void *x)
{
    const struct linear_job *job = call->job;
    const struct assay_recipe *recipe = &job->recipe;
    if (recipe->activation_scope == ASSAY_SCOPE_ROW)
        return assay_quant_scale(recipe->activation, tile_row_amax(job->dtype, x, 0, job->k));
    return recipe->activation_scope == ASSAY_SCOPE_TENSOR ? call->x_scale : 1;
}

/* Row r of the part, of which there may be fewer: its scale, or the one it came with. */
static void set_scale(const struct plan *p, int64_t r, float scale)
{
    int64_t row = p->part->row + r;
    bool given = p->call->x_scales && row < p->part->row_end;
    p->x_scales[r] = given ? p->call->x_scales[row] : scale;
}

static unsigned char *x_tiles_of(const struct plan *p, int64_t row_block)
{
    return p->x_tiles + (p->keeps ? (size_t)(row_block * p->steps) * p->x_step : 0);
}

static const unsigned char *x_row(const struct plan *p, int64_t row)
{
    return (const unsigned char *)p->call->x +
           (size_t)(p->part->row + row) * x_stride(p->call->job);
}

/* Can the first 16 rows be multiplied from where they are? Copying half of x less is worth 4 %; for
 * a few blocks of rows it is not worth the check. */
static bool can_stay(const struct linear_call *call, const struct plan *p)
{
    const struct linear_job *job = call->job;
    size_t stride = x_stride(job);
    return !p->x_split && p->row_blocks >= 4 && job->norm == ASSAY_LINEAR_NO_NORM &&
           job->windows.kernel == 0 && !job->columns &&
           job->recipe.activation == ASSAY_DTYPE_NONE && stride % 64 == 0 &&
           (uintptr_t)call->x % 64 == 0 && lies_well(stride);
}

/* Should y be written by streaming stores? An ordinary store reads its line first. Where x, the
 * weights and y do not fit L2 together, that pushes out what is multiplied, and y is not found
 * there later either. Lines are written whole, by one panel or by two. */
static bool wants_stream(const struct linear_call *call, const struct linear_part *part)
{
    const struct linear_job *job = call->job;
    int64_t rows = part->row_end - part->row, share = l2_share();
    int64_t columns = (part->panel_end - part->panel) * ASSAY_PANEL_ROWS;
    int64_t y = rows * columns * (int64_t)y_bytes(job);
    int64_t operands = (rows + columns) * job->k * (is_integer(job) ? 1 : 2);
    bool whole = linear_y_dtype(job) == ASSAY_DTYPE_BF16 ? part->panel % 2 == 0 : y_bytes(job) == 4;
    return whole && (size_t)job->n * y_bytes(job) % 64 == 0 && (uintptr_t)call->y % 64 == 0 &&
           y >= share / STREAM_PART && y + operands > 2 * share;
}

static bool in_place(const struct plan *p, int64_t row_block)
{
    return p->stays && p->part->row_end - p->part->row - row_block * BLOCK_ROWS > 16;
}

/* Can windows be multiplied from where they are? The pixels of 32 must leave room in L1. */
static bool windows_can_stay(const struct linear_call *call, const struct plan *p)
{
    enum { NEAR_BYTES = 32 << 10 };
    const struct assay_conv *c = &call->job->windows;
    int64_t pixels = (BLOCK_ROWS * c->stride + c->kernel) * c->kernel;
    return c->kernel && !p->x_split && p->row_blocks > 1 && c->in % 32 == 0 &&
           (uintptr_t)call->x % 64 == 0 && pixels * c->in * 2 <= NEAR_BYTES;
}

/* The first of the 16 windows that are half `half` of 32 rows; NULL where they are to be packed. */
static const unsigned char *windows_in_place(const struct plan *p, int64_t row_block, int64_t half)
{
    int64_t row = p->part->row + row_block * BLOCK_ROWS + half * 16;
    if (!p->windows_stay || row + 16 > p->part->row_end)
        return NULL;
    struct linear_lines lines = linear_window_lines(p->call, row, 16, 32);
    return lines.lines == p->call->job->windows.kernel ? lines.first : NULL;
}

/* k elements of f16 as lines of two tiles each. */
static void pack_split(const struct plan *p, const unsigned char *row, int64_t k,
                       unsigned char *line)
{
    struct tile_way way = {.rest = 2 * TILE_BYTES, .careful = p->careful};
    bool odd = false;
    for (int64_t first = 0; first < k; first += 32, line += SPLIT_BYTES) {
        __mmask32 mask = k - first >= 32 ? ~UINT32_C(0) : (UINT32_C(1) << (k - first)) - 1;
        odd |= tile_split_f16(_mm512_maskz_loadu_epi16(mask, row + first * 2), way, line);
    }
    if (odd)
        *p->odd = true;
}

static void pack_zeros(const struct plan *p, unsigned char *line)
{
    for (int64_t s = 0; s < p->steps; s++, line += p->x_step) {
        _mm512_store_si512((void *)line, _mm512_setzero_si512());
        if (p->x_split)
            _mm512_store_si512((void *)(line + 2 * TILE_BYTES), _mm512_setzero_si512());
    }
}

/* The same of bytes that are multiplied as they are. */
static void copy_lines(const unsigned char *from, int64_t bytes, unsigned char *line)
{
    for (; bytes >= 64; bytes -= 64, from += 64, line += STEP_BYTES)
        _mm512_store_si512((void *)line, _mm512_loadu_si512(from));
    if (bytes > 0)
        _mm512_store_si512((void *)line, _mm512_maskz_loadu_epi8((UINT64_C(1) << bytes) - 1, from));
}

/* k elements as lines of tiles. */
static void pack_lines(const struct plan *p, const unsigned char *from, int64_t k, float inverse,
                       unsigned char *line)
{
    int64_t per_step = p->integer ? 64 : 32;
    if (p->x_split)
        pack_split(p, from, k, line);
    else if (p->call->job->recipe.activation == ASSAY_DTYPE_NONE)
        copy_lines(from, k * 64 / per_step, line);
    else
        for (int64_t first = 0; first < k; first += per_step, line += STEP_BYTES)
            _mm512_store_si512((void *)line, x_line(p->call, from, first,
                                                    assay_min(k - first, per_step), inverse));
}

/* Row `row` of x, if it is a window whose lines can be packed from where they are. */
static bool pack_window(const struct plan *p, int64_t row, unsigned char *line)
{
    const struct linear_job *job = p->call->job;
    struct linear_lines from = linear_window_lines(p->call, row, 1, 32);
    if (!from.first || from.lines < job->windows.kernel)
        return false;
    int64_t k = linear_window_line(job);
    for (int64_t y = 0; y < from.lines; y++) {
        pack_lines(p, from.first, k, 1, line);
        from.first += linear_window_stride(job);
        line += (size_t)(k / 32) * p->x_step;
    }
    return true;
}

/* Packs (and normalises, and quantises) row `r` of 32 as lines of their tiles: [step][tile][row][64
 * bytes]. Of rows behind the last one only what fills up a tile is there, zeros. */
static void pack_row(const struct plan *p, int64_t row_block, int64_t r)
{
    const struct linear_job *job = p->call->job;
    int64_t row = p->part->row + row_block * BLOCK_ROWS + r;
    unsigned char *line =
        x_tiles_of(p, row_block) + (size_t)(r / 16) * TILE_BYTES + (size_t)(r % 16) * 64;
    if (row >= p->part->row_end) {
        pack_zeros(p, line);
        return;
    }
    set_scale(p, row_block * BLOCK_ROWS + r, 1);
    if (pack_window(p, row, line))
        return;
    const unsigned char *from = linear_x_row(tile_kind(job->dtype), p->call, row, p->row_scratch);
    float scale = x_scale(p->call, from);
    set_scale(p, row_block * BLOCK_ROWS + r, scale);
    pack_lines(p, from, job->k, 1.0f / scale, line);
}

/* 16 rows that are columns of x: what lies side by side in a line are two elements down a column,
 * so that a block of lines, turned, is a tile. */
static void pack_columns(const struct plan *p, int64_t row_block, int64_t half)
{
    const struct linear_job *job = p->call->job;
    struct linear_matrix x = {p->call->x, job->k, job->m, job->dtype};
    int64_t column = p->part->row + row_block * BLOCK_ROWS + half * 16;
    unsigned char *tile = x_tiles_of(p, row_block) + (size_t)half * TILE_BYTES;
    for (int64_t s = 0; s < p->steps; s++, tile += p->x_step) {
        union {
            uint32_t dwords[256];
            float floats[256];
        } lines, rows;
        columns_lines(&x, true, s * 32, column, lines.dwords);
        columns_turn(lines.floats, rows.floats);
        if (p->x_split)
            for (int64_t r = 0; r < 16; r++)
                pack_split(p, (const unsigned char *)(rows.dwords + r * 16), 32, tile + r * 64);
        else
            memcpy(tile, rows.dwords, TILE_BYTES);
    }
    for (int64_t r = half * 16; r < half * 16 + 16; r++)
        set_scale(p, row_block * BLOCK_ROWS + r, 1);
}

static void pack_rows(const struct plan *p, int64_t row_block)
{
    int64_t rows = p->part->row_end - p->part->row - row_block * BLOCK_ROWS;
    for (int64_t half = 0; half < (rows > 16 ? 2 : 1); half++) {
        bool stays = windows_in_place(p, row_block, half) || (half == 0 && in_place(p, row_block));
        if (p->call->job->columns) {
            pack_columns(p, row_block, half);
            continue;
        }
        for (int64_t r = half * 16; r < half * 16 + 16; r++)
            if (stays)
                set_scale(p, row_block * BLOCK_ROWS + r, 1);
            else
                pack_row(p, row_block, r);
    }
}

static void activations(const struct linear_call *call, const struct linear_part *part,
                        void *scratch)
{
    bool odd = false;
    struct plan p = {.call = call, .part = part, .odd = &odd};
    lay_out(call->job, part, scratch, &p);
    for (int64_t row_block = 0; row_block < p.row_blocks; row_block++)
        pack_rows(&p, row_block);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* k-step `step` of a panel, decoded to bf16: 16 lines, or two times as many. */
static inline void decode_step(const struct plan *p, int64_t panel, int64_t step, unsigned char *to)
{
    struct tile_way way = {.rest = p->w_split ? TILE_BYTES : 0, .careful = p->careful};
    if (tile_decode(p->call->w, panel, step, way, to))
        *p->odd = true;
}

static const unsigned char *w_tile(const struct plan *p, int64_t panel, int64_t step)
{
    const struct assay_packed *w = p->call->w;
    return w->codes + (size_t)panel * assay_packed_panel_bytes(w) + (size_t)step * TILE_BYTES;
}

/* Brings a block of weights into the scratch memory, back to bf16 where it is not tiles already. A
 * part of k of each panel, these a power of two apart, would compete for a part of the L2 cache. */
static void fill_block(const struct plan *p, int64_t panel, int64_t panels, int64_t step,
                       int64_t steps)
{
    for (int64_t i = 0; i < panels; i++) {
        unsigned char *to = p->w_tiles + (size_t)(i * p->block_steps) * p->w_step;
        if (p->gathers)
            memcpy(to, w_tile(p, panel + i, step), (size_t)steps * p->w_step);
        for (int64_t s = 0; s < steps && !p->gathers; s++)
            decode_step(p, panel + i, step + s, to + (size_t)s * p->w_step);
    }
}

/* Panel `i` of the block from panel `panel` and step `step` on, `s` steps further. */
static const unsigned char *w_at(const struct plan *p, int64_t panel, int64_t i, int64_t step,
                                 int64_t s)
{
    if (p->direct && !p->gathers)
        return w_tile(p, panel + i, step + s);
    return p->w_tiles + (size_t)(i * p->block_steps + s) * p->w_step;
}

/* ---- sums ------------------------------------------------------------------------------------ */

#define MULTIPLY_BF16(c, a, b) _tile_dpbf16ps(c, a, b)
#define MULTIPLY_S8(c, a, b) _tile_dpbssd(c, a, b)

/* Finishes up to 16 rows from two tiles of sums side by side, or of one panel. */
VEC_INLINE void epilogue_tiles(const struct plan *p, int64_t row, int64_t rows,
                               const struct tile_epilogue *f, int64_t n, const unsigned char *sums)
{
    const struct linear_job *job = p->call->job;
    const float *x_scales = p->x_scales + row;
    size_t element = y_bytes(job), stride = (size_t)job->n * element;
    size_t at = (size_t)((p->part->row + row) * job->n + f->column) * element;
    if (n == 2 && linear_y_dtype(job) == ASSAY_DTYPE_BF16 && f[1].columns == ASSAY_PANEL_ROWS) {
        tile_epilogue_pair(&f[0], &f[1], rows, x_scales, sums, sums + TILE_BYTES, at, stride);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        tile_epilogue(&f[i], rows, x_scales, sums + i * TILE_BYTES,
                      at + (size_t)(i * ASSAY_PANEL_ROWS) * element, stride);
}

/* How a row of sums becomes one of y. All but ANY_EPILOGUE are for 32 columns. */
enum epilogue { ROUND_BF16, SCALE_BF16, ROUND_F16, PUT_S32, ANY_EPILOGUE };

/* What overlaps with the products of a register block, 2 x 2 tiles: a little at each k-step. */
struct overlap {
    const unsigned char *x; /* of the next rows, to be prefetched */
    bool x_fast;            /* four lines of it a step, else two */
    unsigned char *y;       /* that this block will write, to be prefetched: two rows a step */
    int64_t y_pairs;        /* such steps, 0 where y is not due yet */
    size_t y_stride;
    /* The block before: where its sums go, which are still in the tiles (NULL: nowhere), and how
     * many of its rows then get their epilogue. */
    unsigned char *pending;
    int64_t pending_rows;
    /* Those rows: one in a step, or two. */
    const unsigned char *sums;
    unsigned char *to;
    int64_t row, rows, rows_a_step;
    enum epilogue epilogue;
    const struct plan *plan;
    int64_t first, n; /* its first row in the part, its panels */
    struct tile_epilogue panels[2];
};

/* Not inlined: the code of all activations would be in every loop over tiles. */
static __attribute__((noinline)) void epilogue_row(const struct overlap *e,
                                                   const unsigned char *sums)
{
    epilogue_tiles(e->plan, e->first + e->row, 1, e->panels, e->n, sums);
}

/* 16 sums with the scales of their row and columns, and the bias. */
VEC_INLINE vec scaled(const struct overlap *e, const unsigned char *sums, int64_t panel)
{
    const struct tile_epilogue *f = &e->panels[panel];
    vec y = f->integer ? _mm512_cvtepi32_ps(_mm512_load_si512(sums)) : _mm512_load_ps(sums);
    return vec_fma(vec_mul(y, vec_set(e->plan->x_scales[e->first + e->row])), f->scale, f->bias);
}

static inline void round_row(struct overlap *e)
{
    const unsigned char *sums = e->sums + e->row / 16 * 2 * TILE_BYTES + e->row % 16 * 64;
    if (e->epilogue == ROUND_BF16) {
        __m512 low = _mm512_load_ps(sums), high = _mm512_load_ps(sums + TILE_BYTES);
        tile_put_line(e->plan->streams, e->to, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    } else if (e->epilogue == SCALE_BF16) {
        vec low = scaled(e, sums, 0), high = scaled(e, sums + TILE_BYTES, 1);
        tile_put_line(e->plan->streams, e->to, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    } else if (e->epilogue == PUT_S32) {
        tile_put_line(e->plan->streams, e->to, _mm512_load_si512(sums));
        tile_put_line(e->plan->streams, e->to + 64, _mm512_load_si512(sums + TILE_BYTES));
    } else if (e->epilogue == ROUND_F16) {
        vec_store(NATIVE_F16, e->to, 0, _mm512_load_ps(sums));
        vec_store(NATIVE_F16, e->to, VEC_LANES, _mm512_load_ps(sums + TILE_BYTES));
    } else {
        epilogue_row(e, sums);
    }
    e->to += e->y_stride;
    e->row++;
}

static inline void overlap_step(struct overlap *e, int64_t step)
{
    _mm_prefetch(e->x, _MM_HINT_T1);
    _mm_prefetch(e->x + 64, _MM_HINT_T1);
    e->x += 128;
    if (e->x_fast) {
        _mm_prefetch(e->x, _MM_HINT_T1);
        _mm_prefetch(e->x + 64, _MM_HINT_T1);
        e->x += 128;
    }
    if (step < e->y_pairs) {
        const unsigned char *y = e->y + 2 * (size_t)step * e->y_stride;
        __builtin_prefetch(y, 1, 3);
        __builtin_prefetch(y + e->y_stride, 1, 3);
    }
    for (int64_t i = 0; i < e->rows_a_step && e->row < e->rows; i++)
        round_row(e);
}

/* The sums of the block before have been stored: its rows are next. */
static inline void begin_rounding(struct overlap *e, int64_t steps)
{
    e->sums = e->pending;
    e->pending = NULL;
    e->row = 0;
    e->rows = e->pending_rows;
    e->rows_a_step = e->rows > steps ? 2 : 1;
}

/* Where 16 rows of x are: as a tile, or as they came. */
struct x_side {
    const unsigned char *at;
    size_t stride, step; /* from row to row, from k-step to k-step */
    size_t jump;         /* more, behind the last step of a window's line */
};

/* 32 rows; windows are at the end of a line after `left` steps, and then after each `line`. */
struct x_rows {
    struct x_side side[2];
    int64_t left, line;
};

/* Puts away what tile `i` held, and gives it what it starts with. */
#define BEGIN_TILE(i)                                                                              \
    do {                                                                                           \
        if (overlap->pending)                                                                      \
            _tile_stored(i, overlap->pending + (i)*TILE_BYTES, 64);                                \
        if (load)                                                                                  \
            _tile_loadd(i, sums + (i)*TILE_BYTES, 64);                                             \
        else                                                                                       \
            _tile_zero(i);                                                                         \
    } while (0)

#define BEGIN_TILES                                                                                \
    do {                                                                                           \
        BEGIN_TILE(0);                                                                             \
        BEGIN_TILE(1);                                                                             \
        BEGIN_TILE(2);                                                                             \
        BEGIN_TILE(3);                                                                             \
    } while (0)

/* One k-step of 2 x 2 tiles. Of x, the first tile stays in L1, the second passes by. The first step
 * of a register block begins a tile where its product is next: one is stored while another
 * multiplies. */
#define REGBLOCK_STEP(multiply, begin)                                                             \
    do {                                                                                           \
        _tile_stream_loadd(6, b0, 64);                                                             \
        _tile_loadd(4, a, x->side[0].stride);                                                      \
        begin(0);                                                                                  \
        _tile_stream_loadd(7, b1, 64);                                                             \
        multiply(0, 4, 6);                                                                         \
        begin(1);                                                                                  \
        _tile_stream_loadd(5, second, x->side[1].stride);                                          \
        multiply(1, 4, 7);                                                                         \
        begin(2);                                                                                  \
        multiply(2, 5, 6);                                                                         \
        begin(3);                                                                                  \
        multiply(3, 5, 7);                                                                         \
        overlap_step(overlap, s);                                                                  \
        a += x->side[0].step;                                                                      \
        second += x->side[1].step;                                                                 \
        if (--left == 0) {                                                                         \
            a += x->side[0].jump;                                                                  \
            second += x->side[1].jump;                                                             \
            left = x->line;                                                                        \
        }                                                                                          \
        b0 += TILE_BYTES;                                                                          \
        b1 += TILE_BYTES;                                                                          \
    } while (0)

/* The same with x in two parts, and the weights. Of upper parts (u) and rests (r) the order is uu,
 * ru, rr, ur: each time only one side's tiles change. */
#define SPLIT_STEP(w_split, load_x)                                                                \
    do {                                                                                           \
        _tile_stream_loadd(6, b0, 64);                                                             \
        load_x(4, a, 64);                                                                          \
        _tile_stream_loadd(7, b1, 64);                                                             \
        _tile_dpbf16ps(0, 4, 6);                                                                   \
        load_x(5, a + TILE_BYTES, 64);                                                             \
        _tile_dpbf16ps(1, 4, 7);                                                                   \
        load_x(4, a + 2 * TILE_BYTES, 64);                                                         \
        _tile_dpbf16ps(2, 5, 6);                                                                   \
        _tile_dpbf16ps(3, 5, 7);                                                                   \
        load_x(5, a + 3 * TILE_BYTES, 64);                                                         \
        _tile_dpbf16ps(0, 4, 6);                                                                   \
        _tile_dpbf16ps(1, 4, 7);                                                                   \
        _tile_dpbf16ps(2, 5, 6);                                                                   \
        _tile_dpbf16ps(3, 5, 7);                                                                   \
        if (w_split) {                                                                             \
            _tile_stream_loadd(6, b0 + TILE_BYTES, 64);                                            \
            _tile_stream_loadd(7, b1 + TILE_BYTES, 64);                                            \
            _tile_dpbf16ps(0, 4, 6);                                                               \
            _tile_dpbf16ps(1, 4, 7);                                                               \
            load_x(4, a, 64);                                                                      \
            _tile_dpbf16ps(2, 5, 6);                                                               \
            _tile_dpbf16ps(3, 5, 7);                                                               \
            load_x(5, a + TILE_BYTES, 64);                                                         \
            _tile_dpbf16ps(0, 4, 6);                                                               \
            _tile_dpbf16ps(1, 4, 7);                                                               \
            _tile_dpbf16ps(2, 5, 6);                                                               \
            _tile_dpbf16ps(3, 5, 7);                                                               \
        }                                                                                          \
        overlap_step(overlap, s);                                                                  \
        a += SPLIT_BYTES;                                                                          \
        b0 += w_split ? 2 * TILE_BYTES : TILE_BYTES;                                               \
        b1 += w_split ? 2 * TILE_BYTES : TILE_BYTES;                                               \
    } while (0)

#define NOTHING_TO_BEGIN(i)

/* 2 x 2 tiles: weights from b0 and b1 (1 KiB a step). The sums stay in the tiles until the next
 * register block begins. Where `load` is set they go on from `sums`, four tiles one by one. */
#define DEFINE_REGBLOCK(name, first_step, near_steps, near_step, far_step)                         \
    static void name(const struct x_rows *x, const unsigned char *b0, const unsigned char *b1,     \
                     int64_t steps, unsigned char *sums, bool load, struct overlap *overlap)       \
    {                                                                                              \
        const unsigned char *a = x->side[0].at, *second = x->side[1].at;                           \
        int64_t s = 0, left = x->left;                                                             \
        (void)second, (void)left;                                                                  \
        first_step;                                                                                \
        if (overlap->pending)                                                                      \
            begin_rounding(overlap, steps - s);                                                    \
        for (; s < (near_steps) && s < steps; s++)                                                 \
            near_step;                                                                             \
        for (; s < steps; s++)                                                                     \
            far_step;                                                                              \
        while (overlap->row < overlap->rows)                                                       \
            round_row(overlap);                                                                    \
        overlap->pending = sums;                                                                   \
        overlap->pending_rows = 0;                                                                 \
    }

#define FIRST_STEP(multiply)                                                                       \
    do {                                                                                           \
        REGBLOCK_STEP(multiply, BEGIN_TILE);                                                       \
        s++;                                                                                       \
    } while (0)

DEFINE_REGBLOCK(regblock_bf16, FIRST_STEP(MULTIPLY_BF16), 0, (void)0,
                REGBLOCK_STEP(MULTIPLY_BF16, NOTHING_TO_BEGIN))
DEFINE_REGBLOCK(regblock_s8, FIRST_STEP(MULTIPLY_S8), 0, (void)0,
                REGBLOCK_STEP(MULTIPLY_S8, NOTHING_TO_BEGIN))
DEFINE_REGBLOCK(regblock_split, BEGIN_TILES, SPLIT_NEAR_STEPS, SPLIT_STEP(true, _tile_loadd),
                SPLIT_STEP(true, _tile_stream_loadd))
DEFINE_REGBLOCK(regblock_split_x, BEGIN_TILES, SPLIT_NEAR_STEPS, SPLIT_STEP(false, _tile_loadd),
                SPLIT_STEP(false, _tile_stream_loadd))

/* Stores the sums that are still in the tiles. */
static void put_away(struct overlap *e)
{
    if (!e->pending)
        return;
    _tile_stored(0, e->pending, 64);
    _tile_stored(1, e->pending + TILE_BYTES, 64);
    _tile_stored(2, e->pending + 2 * TILE_BYTES, 64);
    _tile_stored(3, e->pending + 3 * TILE_BYTES, 64);
    begin_rounding(e, 1);
}

static void (*regblock_of(const struct plan *p))(const struct x_rows *, const unsigned char *,
                                                 const unsigned char *, int64_t, unsigned char *,
                                                 bool, struct overlap *)
{
    if (p->x_split)
        return p->w_split ? regblock_split : regblock_split_x;
    return p->integer ? regblock_s8 : regblock_bf16;
}

/* The epilogue that overlaps with the next register block; false where it is better done at once.
 * An activation does not show behind the products, if there are as many k-steps as rows; a residual
 * would cost more there than it does. */
static bool leaves(const struct linear_job *job, const struct tile_epilogue *f, int64_t n,
                   int64_t steps, struct overlap *overlap)
{
    enum assay_dtype y = linear_y_dtype(job);
    bool bf16 = y == ASSAY_DTYPE_BF16, f16 = y == ASSAY_DTYPE_F16;
    bool whole = n == 2 && f[1].columns == ASSAY_PANEL_ROWS;
    bool scales = job->activation == ASSAY_LINEAR_NONE && !f[0].call->residual;
    overlap->epilogue = ANY_EPILOGUE;
    if (whole && f[0].plain && (bf16 || f16))
        overlap->epilogue = bf16 ? ROUND_BF16 : ROUND_F16;
    else if (whole && scales && bf16)
        overlap->epilogue = SCALE_BF16;
    else if (whole && job->dtype == ASSAY_DTYPE_S8)
        overlap->epilogue = PUT_S32;
    return overlap->epilogue != ANY_EPILOGUE ||
           (job->activation != ASSAY_LINEAR_NONE && steps >= BLOCK_ROWS);
}

/* The epilogue of a register block of `steps` k-steps, now or while the next one multiplies. */
static void epilogue_regblock(const struct plan *p, int64_t row_block, int64_t panel, int64_t n,
                              int64_t steps, const unsigned char *sums, struct overlap *overlap)
{
    struct tile_epilogue f[2];
    int64_t row = row_block * BLOCK_ROWS, rows = p->part->row_end - p->part->row - row;
    for (int64_t i = 0; i < n; i++)
        f[i] = tile_epilogue_of(p->call, panel + i, p->integer, p->streams);
    if (leaves(p->call->job, f, n, steps, overlap)) {
        overlap->first = row;
        overlap->n = n;
        memcpy(overlap->panels, f, sizeof f[0] * (size_t)n);
        overlap->to = overlap->y;
        overlap->pending_rows = assay_min(rows, BLOCK_ROWS);
        return;
    }
    put_away(overlap);
    epilogue_tiles(p, row, assay_min(rows, 16), f, n, sums);
    if (rows > 16)
        epilogue_tiles(p, row + 16, assay_min(rows - 16, 16), f, n, sums + 2 * TILE_BYTES);
}

/* A block of weights: panels and k-steps. */
struct block {
    int64_t panel, panels, step, steps;
    bool packs; /* x is met for the first time */
    bool last;  /* of k: y gets its epilogue */
};

/* Where the x that the next 32 rows need lies: the rows when x is first met, tiles later. */
static const unsigned char *next_x(const struct plan *p, const struct block *b, int64_t row_block)
{
    const struct linear_job *job = p->call->job;
    int64_t next = row_block + 1 < p->row_blocks ? row_block + 1 : row_block;
    if (!b->packs || job->columns)
        return x_tiles_of(p, next) + (size_t)b->step * p->x_step;
    if (job->windows.kernel) { /* the last row of the image that the next windows take */
        struct linear_window w = linear_window_at(&job->windows, p->part->row + next * BLOCK_ROWS);
        int64_t y = assay_min(w.top + job->windows.kernel, job->windows.height) - 1;
        return linear_window_pixel(p->call, w.image, y, assay_max(w.left, 0));
    }
    return x_row(p, next * BLOCK_ROWS);
}

/* The residual of `rows` rows from `y` on, all at once: it is due behind the products. */
static void prefetch_residual(const struct plan *p, const unsigned char *y, size_t stride,
                              int64_t rows)
{
    if (!p->call->residual)
        return;
    const unsigned char *residual =
        (const unsigned char *)p->call->residual + (y - (const unsigned char *)p->call->y);
    for (int64_t r = 0; r < rows; r++, residual += stride)
        _mm_prefetch(residual, _MM_HINT_T1);
}

/* Has the y that a register block will write prefetched. */
static void prefetch_y(const struct plan *p, int64_t row_block, int64_t panel,
                       struct overlap *overlap)
{
    const struct linear_job *job = p->call->job;
    int64_t row = p->part->row + row_block * BLOCK_ROWS;
    overlap->y = (unsigned char *)p->call->y + (size_t)row * overlap->y_stride +
                 (size_t)(panel * ASSAY_PANEL_ROWS) * y_bytes(job);
    int64_t rows = assay_min(p->part->row_end - row, BLOCK_ROWS);
    overlap->y_pairs = p->streams ? 0 : rows / 2;
    prefetch_residual(p, overlap->y, overlap->y_stride, rows);
}

/* Half of 32 rows, from k-step `step` on. */
static struct x_side side_of(const struct plan *p, int64_t row_block, int64_t half, int64_t step)
{
    const struct linear_job *job = p->call->job;
    const unsigned char *windows = windows_in_place(p, row_block, half);
    if (windows) {
        int64_t line = linear_window_line(job) / 32;
        size_t stride = linear_window_stride(job);
        return (struct x_side){windows + (size_t)(step / line) * stride + step % line * 64,
                               (size_t)(job->windows.stride * job->windows.in) * 2, 64,
                               stride - (size_t)line * 64};
    }
    if (half == 0 && in_place(p, row_block))
        return (struct x_side){x_row(p, row_block * BLOCK_ROWS) + step * 64, x_stride(job), 64, 0};
    return (struct x_side){x_tiles_of(p, row_block) + (size_t)step * p->x_step + half * TILE_BYTES,
                           64, p->x_step, 0};
}

static struct x_rows x_rows_of(const struct plan *p, int64_t row_block, int64_t step)
{
    int64_t line = p->windows_stay ? linear_window_line(p->call->job) / 32 : INT64_MAX;
    return (struct x_rows){
        {side_of(p, row_block, 0, step), side_of(p, row_block, 1, step)}, line - step % line, line};
}

/* All pairs of panels of a block of weights with 32 rows. */
static void multiply_rows(const struct plan *p, const struct block *b, int64_t row_block,
                          struct overlap *overlap)
{
    bool cut = p->block_steps < p->steps;
    int64_t chunk = p->row_blocks > 1 ? CHUNK_STEPS : b->steps;
    unsigned char *sums =
        p->sums + (cut ? (size_t)(row_block * (p->block_panels / 2)) * REGBLOCK_BYTES : 0);
    bool waits = cut || chunk < b->steps; /* else all register blocks share one buffer */
    overlap->x = next_x(p, b, row_block);
    overlap->x_fast =
        p->row_blocks > 1 && b->panels < FAST_PANELS && p->call->job->windows.kernel == 0;
    for (int64_t s = 0; s < b->steps; s += chunk) {
        int64_t count = assay_min(chunk, b->steps - s);
        bool last = b->last && s + count == b->steps;
        struct x_rows x = x_rows_of(p, row_block, b->step + s);
        overlap->y_pairs = 0;
        for (int64_t i = 0; i < b->panels; i += 2) {
            int64_t n = i + 1 < b->panels ? 2 : 1;
            unsigned char *own = sums + (waits ? (size_t)(i / 2) * REGBLOCK_BYTES : 0);
            if (last)
                prefetch_y(p, row_block, b->panel + i, overlap);
            regblock_of(p)(&x, w_at(p, b->panel, i, b->step, s),
                           w_at(p, b->panel, i + n - 1, b->step, s), count, own, b->step + s > 0,
                           overlap);
            if (last)
                epilogue_regblock(p, row_block, b->panel + i, n, count, own, overlap);
        }
    }
}

static void multiply_block(const struct plan *p, const struct block *b, struct overlap *overlap)
{
    if (!p->direct || p->gathers)
        fill_block(p, b->panel, b->panels, b->step, b->steps);
    for (int64_t row_block = 0; row_block < p->row_blocks; row_block++) {
        if (b->packs)
            pack_rows(p, row_block);
        multiply_rows(p, b, row_block, overlap);
    }
}

static void multiply(const struct plan *p)
{
    const struct linear_job *job = p->call->job;
    struct overlap overlap = {.plan = p, .y_stride = (size_t)job->n * y_bytes(job)};
    int64_t end = p->part->panel_end;
    for (int64_t panel = p->part->panel; panel < end; panel += p->block_panels)
        for (int64_t step = 0; step < p->steps; step += p->block_steps) {
            struct block block = {.panel = panel,
                                  .panels = assay_min(p->block_panels, end - panel),
                                  .step = step,
                                  .steps = assay_min(p->block_steps, p->steps - step)};
            block.packs = !p->keeps || (panel == p->part->panel && step == 0);
            block.last = step + block.steps == p->steps;
            multiply_block(p, &block, &overlap);
        }
    put_away(&overlap);
    while (overlap.row < overlap.rows)
        round_row(&overlap);
}

/* ---- few rows -------------------------------------------------------------------------------- */

/* One tile of x (2 KiB a step) with four panels, a KiB a step each: adds to tiles 0 to 3. Weights
 * as stored are prefetched; those just decoded are in L1. */
#define DEFINE_STRIP(name, multiply)                                                               \
    static inline void name(const unsigned char *a, const unsigned char *const *b, int64_t steps,  \
                            bool far)                                                              \
    {                                                                                              \
        for (int64_t s = 0; s < steps; s++) {                                                      \
            size_t at = (size_t)s * TILE_BYTES;                                                    \
            for (size_t i = 0; i < TILE_BYTES && far; i += 64)                                     \
                for (int j = 0; j < STRIP; j++)                                                    \
                    _mm_prefetch(b[j] + at + STRIP_AHEAD + i, _MM_HINT_T0);                        \
            _tile_loadd(4, a + (size_t)s * STEP_BYTES, 64);                                        \
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

/* The same with x in two parts, both times the same weights. */
#define STRIP_SPLIT_PANEL(j, w)                                                                    \
    do {                                                                                           \
        _tile_loadd(w, b[j] + (size_t)s * TILE_BYTES, 64);                                         \
        _tile_dpbf16ps(j, 4, w);                                                                   \
        _tile_dpbf16ps(j, 5, w);                                                                   \
    } while (0)

static void strip_split_x(const unsigned char *a, const unsigned char *const *b, int64_t steps)
{
    for (int64_t s = 0; s < steps; s++, a += SPLIT_BYTES) {
        _tile_loadd(4, a, 64);
        _tile_loadd(5, a + 2 * TILE_BYTES, 64);
        STRIP_SPLIT_PANEL(0, 6);
        STRIP_SPLIT_PANEL(1, 7);
        STRIP_SPLIT_PANEL(2, 6);
        STRIP_SPLIT_PANEL(3, 7);
    }
}

static void strip_direct(const struct plan *p, int64_t panel, int64_t panels)
{
    const unsigned char *b[STRIP];
    for (int64_t i = 0; i < STRIP; i++)
        b[i] = w_tile(p, panel + assay_min(i, panels - 1), 0);
    if (p->integer)
        strip_s8(p->x_tiles, b, p->steps, true);
    else
        strip_bf16(p->x_tiles, b, p->steps, true);
}

/* A few steps of the four panels at a time are decoded, into L1. */
static void strip_decoded(const struct plan *p, int64_t panel, int64_t panels)
{
    const unsigned char *b[STRIP];
    for (int64_t i = 0; i < STRIP; i++)
        b[i] = p->w_tiles + (size_t)(i * STRIP_DECODED) * p->w_step;
    for (int64_t step = 0; step < p->steps; step += STRIP_DECODED) {
        int64_t steps = assay_min(STRIP_DECODED, p->steps - step);
        for (int64_t i = 0; i < panels; i++)
            for (int64_t s = 0; s < steps; s++)
                decode_step(p, panel + i, step + s,
                            p->w_tiles + (size_t)(i * STRIP_DECODED + s) * p->w_step);
        const unsigned char *x = p->x_tiles + (size_t)step * p->x_step;
        if (p->x_split)
            strip_split_x(x, b, steps);
        else
            strip_bf16(x, b, steps, false);
    }
}

static void multiply_strip(const struct plan *p)
{
    int64_t end = p->part->panel_end, rows = p->part->row_end - p->part->row;
    pack_rows(p, 0);
    for (int64_t panel = p->part->panel; panel < end; panel += STRIP) {
        int64_t panels = assay_min(STRIP, end - panel);
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
            struct tile_epilogue f = tile_epilogue_of(p->call, panel + i, p->integer, p->streams);
            epilogue_tiles(p, 0, rows, &f, 1, p->sums + i * TILE_BYTES);
        }
    }
}

/* Where both sides are split and an infinity or NaN turns up, all is done again, with care. */
static void compute(const struct linear_call *call, const struct linear_part *part, void *scratch)
{
    bool odd = false;
    struct plan plan = {.call = call, .part = part, .odd = &odd};
    lay_out(call->job, part, scratch, &plan);
    plan.stays = can_stay(call, &plan);
    plan.streams = wants_stream(call, part);
    plan.windows_stay = windows_can_stay(call, &plan);
    assay_cpu_tiles_open();
    if (part->row_end - part->row <= 16 && !plan.w_split)
        multiply_strip(&plan);
    else
        multiply(&plan);
    if (odd && plan.w_split) {
        plan.careful = true;
        multiply(&plan);
    }
    assay_cpu_tiles_close();
    if (plan.streams)
        vec_stream_end();
}

const struct linear_body assay_linear_amx = {scratch_bytes, compute, activations, amax,
                                             cuts_weights};

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

/* x that is not quantised must be bf16 or s8, or f16, which is split; f32 has too many bits. From
 * which m on splitting is faster than FMA in f32 was measured. */
static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    enum { LEAST_SPLIT_X = 12, LEAST_SPLIT = 32 };
    uint32_t isa = ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16 | ASSAY_CPU_AMX_TILE |
                   ASSAY_CPU_AMX_BF16 | ASSAY_CPU_AMX_INT8;
    enum assay_status status = assay_linear_can_run(problem, isa, &takes, why);
    if (status != ASSAY_OK || !problem)
        return status;
    struct linear_job job = {.dtype = problem->dtype};
    assay_recipe_parse(problem->recipe, &job.recipe, NULL);
    if (problem->dtype == ASSAY_DTYPE_F32 && job.recipe.activation == ASSAY_DTYPE_NONE)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "x in f32 does not go into tiles");
    int64_t least_m = splits_weights(&job) ? LEAST_SPLIT : is_split(&job) ? LEAST_SPLIT_X : 0;
    if (problem->axes[ASSAY_LINEAR_M] < least_m)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "f16: for %lld rows of x and more",
                               (long long)least_m);
    return ASSAY_OK;
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return assay_linear_setup(problem, &assay_linear_amx, state, err);
}

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    struct linear_job job = {.dtype = problem->dtype};
    assay_recipe_parse(problem->recipe, &job.recipe, NULL);
    if (is_split(&job))
        snprintf(text, size, "f16 as the sum of two bf16, %d products, sums in f32",
                 splits_weights(&job) ? 4 : 2);
}

extern const struct assay_kernel assay_kernel_linear_amx;
const struct assay_kernel assay_kernel_linear_amx = {
    LINEAR_FIELDS("linear_amx", 50),
    .note = note,
    .units = ASSAY_UNIT_MATRIX,
};
