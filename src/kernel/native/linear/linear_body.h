/* linear_body.h: a body of `linear` (struct linear_body in linear_native.h): the loops around the
 * tiles.
 *
 * Rows of x are packed (linear_pack.h), as many as fit a quarter of the L2 cache for a slice of k.
 * For these rows, panels of weights pass by: a tile (linear_inner.h) takes a few rows and a few
 * panels and runs along a slice of k; what it leaves becomes y (linear_epilogue.h) after the last
 * slice. Weights that are not multiplied as they lie are decoded in one of two ways: for few rows
 * in the tile, so that memory is read once and nothing is written; for many rows a slice of the
 * panels is decoded first, into memory that stays in the cache.
 *
 * Products of 8-bit integers are summed in f32 too, which is exact as long as a sum of 2^14 * count
 * stays within 2^24: the sums of each slice, of less than 1024, are then added up in s32.
 *
 * Windows of a convolution in f32 need no packing where they lie side by side inside the image:
 * then a tile takes them from there.
 *
 * Include a vec_*.h and a linear_line_*.h first. Define LINEAR_STREAM for the bodies that compute
 * in f32. The others define LINEAR_DOT (linear_inner.h), and:
 * - LINEAR_OWN: the code that is multiplied as it lies;
 * - LINEAR_PER: elements of x in a dword;
 * - LINEAR_INTEGERS: 1 if the sums are s32;
 * - linear_decode_panel(…), where there are weights in other codes: decodes blocks
 *   [b, b + count) of a panel, a KiB each;
 * - LINEAR_STREAMS(code, rows): do tiles decode that code; then also stream_inner and
 *   linear_pack_stream, as linear_inner.h has them for f32;
 * - linear_pack_row(…): what pack_f32_row does, for these dwords;
 * - linear_correct(…): what is missing from the sums of a tile. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_BODY_H
#define ASSAY_KERNEL_NATIVE_LINEAR_BODY_H

#include "kernel/native/linear/linear_columns.h"
#include "kernel/native/linear/linear_epilogue.h"
#include "kernel/native/linear/linear_pack.h"
#include "kernel/native/linear/linear_inner.h"

#ifdef LINEAR_STREAM
#define LINEAR_OWN LINEAR_F32
#define LINEAR_PER 1
#define LINEAR_INTEGERS 0
#define LINEAR_MOST_IN_ONE LINE_TALL_ROWS
#define LINEAR_STREAMS(code, rows) ((code) != LINEAR_OWN && (rows) <= LINE_STREAM_ROWS)
#define linear_pack_row pack_f32_row
#define linear_correct(call, tile, sums) ((void)0)

static void linear_decode_panel(const struct assay_packed *w, enum linear_code code, int64_t panel,
                                int64_t b, int64_t count, float *to)
{
    struct linear_inner t = {.w = w->codes + (size_t)panel * assay_packed_panel_bytes(w)};
    if (w->group) {
        size_t groups = (size_t)(panel * (w->k / w->group)) * 16 * assay_dtype_bytes(w->dtype);
        t.scale_kind = linear_kind_of(w->dtype);
        t.scales = (const char *)w->scales + groups;
        t.zeros = (const char *)w->zeros + groups;
        t.group_blocks = w->group / 16;
    }
    slice_decode(code, &t, b, count, to);
}
#else
#define LINEAR_MOST_IN_ONE LINE_WIDE_ROWS
#endif

/* Slices of k, in blocks of 16 dwords of x (1 KiB of a panel of lines); what is only a little
 * longer stays whole. Measured: 1024 whole is 5 % faster than in two, 4096 in six 2 % faster than
 * in four. LINEAR_SUMS_BYTES are for sums that wait for the next slice. */
enum {
    LINEAR_SHORT_BLOCKS = 16,
    LINEAR_SLICE_BLOCKS = 48,
    LINEAR_WHOLE_BLOCKS = 80,
    LINEAR_SUMS_BYTES = 512 * 1024
};

/* How a part is cut, and where its scratch memory lies. */
struct linear_cut {
    enum linear_code code;
    bool stream;       /* tiles decode */
    bool slices;       /* slices are decoded before the tiles */
    bool next;         /* tiles prefetch the next slice's weights, which fit the L2 cache */
    bool stays;        /* all weights fit it */
    bool fold;         /* f32 sums of integers: added up as s32 slice by slice */
    int64_t times;     /* how often rows are packed */
    int64_t rows;      /* packed at once, at most */
    int64_t tile_rows; /* of the largest tile */
    int64_t panels;    /* of a tile */
    int64_t blocks, slice_blocks;
    int64_t panels_at_once; /* whose sums are kept between slices */
    int64_t group_blocks, groups;
    size_t x_at, x_scales_at, x_sums_at, sums_at, tile_at, slice_at, bytes;
};

static int64_t at_least_1(int64_t a) { return a > 1 ? a : 1; }

static size_t cut_take(struct linear_cut *cut, int64_t dwords)
{
    size_t at = cut->bytes;
    cut->bytes += ((size_t)dwords * 4 + 63) / 64 * 64;
    return at;
}

static int64_t tile_count(const struct linear_cut *cut, int64_t rows)
{
    if (cut->stream || rows <= LINEAR_MOST_IN_ONE)
        return 1;
    return (rows + LINE_PLAIN_ROWS - 1) / LINE_PLAIN_ROWS;
}

static void cut_tiles(struct linear_cut *cut, int64_t rows, bool stream)
{
    int64_t tiles = tile_count(cut, rows);
    cut->tile_rows = (rows + tiles - 1) / tiles;
    cut->panels = INNER_MAX_PANELS;
#ifdef LINEAR_STREAMS
    cut->stream = stream && LINEAR_STREAMS(cut->code, rows);
    if (cut->stream) {
        while (!stream_inner[cut->code][cut->tile_rows][1])
            cut->tile_rows++;
        while (!stream_inner[cut->code][cut->tile_rows][cut->panels])
            cut->panels--;
        return;
    }
#endif
    (void)stream;
    cut->slices = cut->code != LINEAR_OWN;
    while (!plain_inner[cut->tile_rows][cut->panels])
        cut->panels--;
}

/* Without `stream` no tile decodes. */
static struct linear_cut linear_cut(const struct linear_job *job, const struct linear_part *part,
                                    bool stream)
{
    struct linear_cut cut = {.code = linear_code_of(job)};
    int64_t all = part->row_end - part->row, panels = part->panel_end - part->panel;
    cut.blocks = (job->k + 16 * LINEAR_PER - 1) / (16 * LINEAR_PER);
    int64_t l2 = (int64_t)assay_cpu_info()->l2_bytes, longest = cut.blocks;
    l2 = l2 ? l2 : 1024 * 1024;
    cut.fold = !LINEAR_INTEGERS && cut.code == LINEAR_S8 &&
               (job->dtype == ASSAY_DTYPE_S8 || job->recipe.activation == ASSAY_DTYPE_S8);
    bool few = all * cut.blocks * 64 <= l2 / 4;
    if (cut.code != LINEAR_OWN && few)
        longest = LINEAR_SHORT_BLOCKS;
    else if (cut.fold || (!few && cut.blocks > LINEAR_WHOLE_BLOCKS))
        longest = LINEAR_SLICE_BLOCKS;
    int64_t slices = (cut.blocks + longest - 1) / longest;
    cut.slice_blocks = (cut.blocks + slices - 1) / slices;
    int64_t most = l2 / 4 / (cut.slice_blocks * 64);
    cut.times = (all + at_least_1(most) - 1) / at_least_1(most);
    cut.rows = (all + cut.times - 1) / cut.times;
    cut_tiles(&cut, cut.rows, stream);
    if (cut.stream && !cut.fold)
        cut.slice_blocks = cut.blocks;
    bool passes = cut.slices || cut.rows > LINE_PLAIN_ROWS;
    cut.next = passes && cut.panels * cut.slice_blocks * 1024 <= l2 / 4;
    cut.stays = panels * cut.blocks * 1024 <= l2 / 4 * 3;
    cut.panels_at_once = panels;
    if (cut.stream)
        cut.panels_at_once = cut.panels;
    else if (cut.slice_blocks < cut.blocks)
        cut.panels_at_once = LINEAR_SUMS_BYTES / 64 / cut.rows / cut.panels * cut.panels;
    if (cut.panels_at_once < cut.panels)
        cut.panels_at_once = cut.panels;
    if (job->recipe.group)
        cut.group_blocks = job->recipe.group / (16 * LINEAR_PER);
    else if (cut.stream && LINEAR_PER == 2) /* their sums are taken off what a stream sums up */
        cut.group_blocks = cut.blocks < LINEAR_SHORT_BLOCKS ? cut.blocks : LINEAR_SHORT_BLOCKS;
    if (cut.group_blocks)
        cut.groups = (cut.blocks + cut.group_blocks - 1) / cut.group_blocks;
    int64_t x_rows = cut.stream ? cut.tile_rows : cut.rows;
    cut_take(&cut, (int64_t)linear_row_bytes(job) / 4); /* first, as linear_amax has it */
    cut.x_at = cut_take(&cut, x_rows * cut.blocks * 16);
    cut.x_scales_at = cut_take(&cut, cut.rows);
    cut.x_sums_at = cut_take(&cut, cut.stream ? x_rows * cut.groups : 0);
    cut.tile_at = cut_take(&cut, LINE_TALL_ROWS * cut.panels * 16);
    bool keep = cut.fold || cut.slice_blocks < cut.blocks;
    cut.sums_at = cut_take(&cut, keep ? x_rows * cut.panels_at_once * 16 : 0);
    cut.slice_at = cut_take(&cut, cut.slices ? cut.panels * cut.slice_blocks * 256 : 0);
    return cut;
}

static size_t linear_scratch_bytes(const struct linear_job *job, const struct linear_part *part)
{
    size_t with = linear_cut(job, part, true).bytes, without = linear_cut(job, part, false).bytes;
    return with > without ? with : without;
}

/* ---- packing ----------------------------------------------------------------------------------
 */

/* The rows of tile number i of `tiles`. */
static int64_t tile_start(const struct linear_cut *cut, int64_t rows, int64_t i)
{
    return rows * i / tile_count(cut, rows);
}

/* Can a tile of rows [row, row + rows) of x be multiplied from where it lies? Returns the
 * lines of the first. */
static struct linear_lines tile_in_place(const struct linear_call *call,
                                         const struct linear_cut *cut, int64_t row, int64_t rows)
{
#ifdef LINEAR_STREAM
    if (call->job->dtype == ASSAY_DTYPE_F32 && window_inner[rows][1][0] &&
        window_inner[rows][cut->panels][0])
        return linear_window_lines(call, row, rows, 16);
#endif
    (void)call, (void)cut, (void)row, (void)rows;
    return (struct linear_lines){0};
}

/* Packs one row of x and returns its scale; what it does not fill of its last block becomes 0. */
static float pack_x(const struct linear_call *call, const struct linear_cut *cut, int64_t row,
                    int64_t tile_rows, void *buffer, float *to)
{
    const struct linear_job *job = call->job;
    struct linear_lines lines = linear_window_lines(call, row, 1, 16 * LINEAR_PER);
    if (lines.first && lines.lines == job->windows.kernel) {
        struct linear_job part = *job;
        part.k = linear_window_line(job);
        for (int64_t y = 0; y < lines.lines; y++, lines.first += linear_window_stride(job))
            linear_pack_row(&part, lines.first, 1, tile_rows,
                            to + y * (part.k / LINEAR_PER) * tile_rows);
        return 1;
    }
    const void *from = linear_x_row(linear_kind_of(job->dtype), call, row, buffer);
    float scale = pack_scale(call, from);
    memset(to + (cut->blocks - 1) * tile_rows * 16, 0, 64);
    linear_pack_row(job, from, scale, tile_rows, to);
    return scale;
}

#if LINEAR_PER <= 2 /* no integers */
/* Where packed rows go, one after the other: into tiles of `size` rows, and of one more as often as
 * it takes to come out even, as tile_start has it. */
struct pack_place {
    int64_t tiles, least, more, rest; /* of the tiles so far: what is left of a row */
    int64_t size, row;                /* of this tile, and in it */
    float *tile;
};

static void place_tile(struct pack_place *p)
{
    p->rest += p->more;
    p->size = p->least + (p->rest >= p->tiles);
    p->rest -= p->rest >= p->tiles ? p->tiles : 0;
    p->row = 0;
}

static struct pack_place place_first(const struct linear_cut *cut, int64_t rows, float *x)
{
    int64_t tiles = tile_count(cut, rows);
    struct pack_place p = {.tiles = tiles, .least = rows / tiles, .more = rows % tiles, .tile = x};
    place_tile(&p);
    if (cut->stream)
        p.size = cut->tile_rows;
    return p;
}

/* 16 dwords of block b of the next row. */
static inline float *place_next(const struct linear_cut *cut, struct pack_place *p, int64_t b)
{
    if (p->row == p->size) {
        p->tile += p->size * cut->blocks * 16;
        place_tile(p);
    }
    return p->tile + (b * p->size + p->row++) * 16;
}

/* 16 columns of x from `column` on, 16 dwords of each from element `at` on, as rows. */
static void pack_turned(const struct linear_matrix *x, int64_t at, int64_t column, float *rows)
{
    union {
        uint32_t dwords[256];
        float floats[256];
    } lines;
#if LINEAR_PER == 2
    columns_lines(x, true, at, column, lines.dwords);
#else
    if (x->dtype == ASSAY_DTYPE_BF16)
        columns_floats(NATIVE_BF16, x, at, column, lines.floats);
    else if (x->dtype == ASSAY_DTYPE_F16)
        columns_floats(NATIVE_F16, x, at, column, lines.floats);
    else
        columns_floats(NATIVE_F32, x, at, column, lines.floats);
#endif
    columns_turn(lines.floats, rows);
}

/* linear_pack for x that is stored the other way round. */
static void linear_pack_columns(const struct linear_call *call, const struct linear_cut *cut,
                                int64_t row, int64_t rows, float *to)
{
    struct linear_matrix x = {call->x, call->job->k, call->job->m, call->job->dtype};
    if (cut->stream) /* rows that are not there */
        memset(to, 0, (size_t)(cut->tile_rows * cut->blocks) * 64);
    for (int64_t b = 0; b < cut->blocks; b++) {
        struct pack_place place = place_first(cut, rows, to);
        for (int64_t r = 0; r < rows; r += 16) {
            float turned[256];
            pack_turned(&x, b * 16 * LINEAR_PER, row + r, turned);
            for (int64_t i = 0; i < 16 && i < rows - r; i++)
                memcpy(place_next(cut, &place, b), turned + i * 16, 64);
        }
    }
}
#endif

static void linear_pack_rows(const struct linear_call *call, const struct linear_cut *cut,
                             int64_t row, int64_t rows, void *scratch)
{
    float *x = (float *)(void *)((char *)scratch + cut->x_at);
    float *x_scales = (float *)((char *)scratch + cut->x_scales_at);
    for (int64_t i = 0; i < tile_count(cut, rows); i++) {
        int64_t start = tile_start(cut, rows, i), end = tile_start(cut, rows, i + 1);
        int64_t tile_rows = cut->stream ? cut->tile_rows : end - start;
        float *to = x + start * cut->blocks * 16;
        if (tile_in_place(call, cut, row + start, end - start).first)
            continue;
        /* Rows that are not there. */
        if (tile_rows > end - start)
            memset(to, 0, (size_t)(tile_rows * cut->blocks) * 64);
        for (int64_t r = 0; r < end - start; r++, to += 16)
            x_scales[start + r] = pack_x(call, cut, row + start + r, tile_rows, scratch, to);
    }
}

static void linear_pack(const struct linear_call *call, const struct linear_cut *cut, int64_t row,
                        int64_t rows, void *scratch)
{
    float *x = (float *)(void *)((char *)scratch + cut->x_at);
#if LINEAR_PER <= 2
    if (call->job->columns)
        linear_pack_columns(call, cut, row, rows, x);
    else
#endif
        linear_pack_rows(call, cut, row, rows, scratch);
    (void)x;
#ifdef LINEAR_STREAMS
    struct linear_inner t = {
        .blocks = cut->blocks, .group_blocks = cut->group_blocks, .groups = cut->groups};
    if (cut->stream)
        linear_pack_stream(&t, cut->code, x, cut->tile_rows,
                           (float *)((char *)scratch + cut->x_sums_at));
#endif
}

/* ---- the loops --------------------------------------------------------------------------------
 */

struct linear_run {
    const struct linear_call *call;
    struct linear_cut cut;
    int64_t row, rows; /* those packed now */
    char *scratch;
};

/* Adds sums of integers in f32 to those in s32, or sets them. */
static void fold_sums(int32_t *to, const float *from, int64_t n, bool set)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (set ? 0 : to[i]) + (int32_t)from[i];
}

/* A rectangle of panels and blocks of k. */
struct linear_slice {
    int64_t panel, panels, block, blocks;
    int64_t next_panel, next_block; /* where the next one begins */
    float *sums;                    /* where these panels' sums stay between slices */
};

/* Has the tiles of a slice prefetch the next slice's weights, each its share: while one pass of
 * several over the same weights reads them from memory, the others would leave memory idle. */
static void slice_next(const struct linear_run *run, const struct linear_slice *s,
                       struct linear_inner *t)
{
    const struct linear_cut *cut = &run->cut;
    size_t tiles = (size_t)tile_count(cut, run->rows);
    size_t bytes = cut->slices ? 64 * LINEAR_PER / (size_t)linear_code_per(cut->code) : 64;
    t->next_stride = assay_packed_panel_bytes(run->call->w);
    t->next = run->call->w->codes + (size_t)s->next_panel * t->next_stride +
              (size_t)s->next_block * 16 * bytes;
    t->next_step = (bytes + tiles - 1) / tiles;
}

/* The weights of a slice, as the tiles take them. */
static struct linear_inner slice_weights(const struct linear_run *run, const struct linear_slice *s)
{
    const struct linear_cut *cut = &run->cut;
    const struct assay_packed *w = run->call->w;
    size_t panel_bytes = assay_packed_panel_bytes(w);
    size_t line_blocks =
        cut->stream ? 1024 * LINEAR_PER / (size_t)linear_code_per(cut->code) : 1024;
    struct linear_inner t = {
        .w = w->codes + (size_t)s->panel * panel_bytes,
        .stride = panel_bytes,
        .blocks = s->blocks,
        .prefetch = !assay_cpu_info()->reads_ahead,
        .x_sums = (const float *)(run->scratch + cut->x_sums_at),
        .group_blocks = cut->group_blocks,
        .groups = cut->groups,
    };
#ifdef LINEAR_STREAMS
    size_t group_bytes = (size_t)(cut->groups * 16) * assay_dtype_bytes(w->dtype);
    t.scale_kind = linear_kind_of(w->dtype);
    if (w->scales) {
        t.scales = (const char *)w->scales + (size_t)s->panel * group_bytes;
        t.zeros = (const char *)w->zeros + (size_t)s->panel * group_bytes;
    }
#endif
    if (cut->slices) {
        float *slice = (float *)(run->scratch + cut->slice_at);
        for (int64_t p = 0; p < s->panels; p++)
            linear_decode_panel(w, cut->code, s->panel + p, s->block, s->blocks,
                                slice + p * s->blocks * 256);
        t.w = (const unsigned char *)slice;
        t.stride = (size_t)s->blocks * 1024;
        slice_next(run, s, &t);
        return t;
    }
    t.w += (size_t)s->block * line_blocks;
    t.jump = (size_t)s->panels * panel_bytes - (size_t)s->blocks * line_blocks;
    if (!cut->stream && cut->next)
        slice_next(run, s, &t);
    return t;
}

static linear_inner_fn *plain(int64_t rows, int64_t panels, bool next)
{
    linear_inner_fn *fn = next ? next_inner[rows][panels] : NULL;
    return fn ? fn : plain_inner[rows][panels];
}

#ifdef LINEAR_STREAM
/* Multiplies windows where they lie: those of the slice's blocks that are in the image. */
static void tile_windows(const struct linear_run *run, const struct linear_lines *lines,
                         const struct linear_slice *s, int64_t rows, struct linear_inner t)
{
    const struct linear_job *job = run->call->job;
    int64_t per_line = linear_window_line(job) / 16, first = lines->line * per_line;
    int64_t begin = s->block > first ? s->block : first, end = first + lines->lines * per_line;
    end = s->block + s->blocks < end ? s->block + s->blocks : end;
    if (begin >= end) {
        if (!t.add)
            memset(t.sums, 0, (size_t)(rows * s->panels) * 64);
        return;
    }
    int64_t down = (begin - first) / per_line, across = (begin - first) % per_line;
    size_t stride = linear_window_stride(job);
    t.x = (const float *)(const void *)(lines->first + (size_t)down * stride + across * 64);
    t.w += (size_t)(begin - s->block) * 1024;
    t.blocks = end - begin;
    t.window_step = (size_t)(job->windows.stride * job->windows.in) * sizeof(float);
    t.line_left = per_line - across;
    t.line_blocks = per_line;
    t.line_jump = stride - (size_t)per_line * 64;
    window_inner[rows][s->panels][t.next && !run->cut.stays](&t);
}
#endif

/* The products of one tile, of the packed rows from `start` on, with the weights and for the sums
 * of t. */
static void tile_multiply(const struct linear_run *run, const struct linear_slice *s, int64_t start,
                          int64_t rows, struct linear_inner *t)
{
    const struct linear_cut *cut = &run->cut;
    int64_t tile_rows = cut->stream ? cut->tile_rows : rows;
    t->x = (const float *)(run->scratch + cut->x_at) +
           (start * cut->blocks + s->block * tile_rows) * 16;
#ifdef LINEAR_STREAM
    struct linear_lines windows = tile_in_place(run->call, cut, run->row + start, rows);
    if (windows.first) {
        tile_windows(run, &windows, s, rows, *t);
        return;
    }
#endif
#ifdef LINEAR_STREAMS
    if (cut->stream) {
        stream_inner[cut->code][tile_rows][s->panels](t);
        return;
    }
#endif
    plain(tile_rows, s->panels, t->next)(t);
}

/* Prefetches the y that a tile will write, and the residual it adds, while it multiplies. */
static void prefetch_y(const struct linear_run *run, const struct linear_slice *s, int64_t start,
                       int64_t rows)
{
    const struct linear_job *job = run->call->job;
    size_t bytes = job->dtype == ASSAY_DTYPE_S8 ? 4 : assay_dtype_bytes(linear_y_dtype(job));
    size_t width = (size_t)s->panels * 16 * bytes, stride = (size_t)job->n * bytes;
    size_t at = (size_t)(run->row + start) * stride + (size_t)s->panel * 16 * bytes;
    for (int64_t r = 0; r < rows; r++, at += stride)
        for (size_t i = 0; i < width; i += 64) {
            __builtin_prefetch((const char *)run->call->y + at + i, 1, 3);
            if (run->call->residual)
                __builtin_prefetch((const char *)run->call->residual + at + i, 0, 3);
        }
}

/* All rows that are packed times a slice of weights. */
static void linear_tiles(const struct linear_run *run, const struct linear_slice *s)
{
    const struct linear_cut *cut = &run->cut;
    bool first = s->block == 0, last = s->block + s->blocks == cut->blocks;
    struct linear_inner t = slice_weights(run, s);
    float *own = (float *)(run->scratch + cut->tile_at);
    const unsigned char *next = t.next;
    int64_t tiles = tile_count(cut, run->rows);
    for (int64_t i = 0, start = 0, rows; i < tiles; i++, start += rows) {
        rows = run->rows * (i + 1) / tiles - start; /* as tile_start has it */
        t.next = next ? next + (size_t)(i * s->blocks * 16) * t.next_step : NULL;
        float *kept = s->sums + start * s->panels * 16;
        t.sums = cut->fold || (first && last) ? own : kept;
        t.add = !first && !cut->fold;
        if (last && !cut->stream)
            prefetch_y(run, s, start, rows);
        tile_multiply(run, s, start, rows, &t);
        if (cut->fold)
            fold_sums((int32_t *)(void *)kept, own, rows * s->panels * 16, first);
        if (!last)
            continue;
        struct epilogue_tile tile = {
            .row = run->row + start,
            .rows = rows,
            .panel = s->panel,
            .panels = s->panels,
            .sums = cut->fold ? kept : t.sums,
            .integers = cut->fold || LINEAR_INTEGERS,
        };
        if (run->call->job->recipe.activation != ASSAY_DTYPE_NONE)
            tile.x_scales = (const float *)(run->scratch + cut->x_scales_at) + start;
        if (run->call->x_scales)
            tile.x_scales = run->call->x_scales + tile.row;
        linear_correct(run->call, &tile, t.sums);
        linear_epilogue(run->call, &tile);
    }
}

/* Panels of a tile: with one row less than the cut was made for, its tiles may be other ones. */
static int64_t tile_panels(const struct linear_run *run)
{
    const struct linear_cut *cut = &run->cut;
    int64_t tiles = tile_count(cut, run->rows), least = run->rows / tiles;
    int64_t greatest = (run->rows + tiles - 1) / tiles;
    if (cut->stream || (plain_inner[least][cut->panels] && plain_inner[greatest][cut->panels]))
        return cut->panels;
    return 1;
}

/* All rows that are packed times panels [panel, end), whose sums fit. */
static void linear_panels(const struct linear_run *run, int64_t panel, int64_t end)
{
    const struct linear_cut *cut = &run->cut;
    int64_t kept_rows = cut->stream ? cut->tile_rows : run->rows, panels = tile_panels(run);
    for (int64_t b = 0; b < cut->blocks; b += cut->slice_blocks) {
        struct linear_slice s = {.block = b, .sums = (float *)(run->scratch + cut->sums_at)};
        s.blocks = cut->blocks - b < cut->slice_blocks ? cut->blocks - b : cut->slice_blocks;
        for (s.panel = panel; s.panel < end; s.panel += s.panels) {
            s.panels = end - s.panel >= panels ? panels : 1;
            bool more = s.panel + s.panels < end;
            s.next_panel = more ? s.panel + s.panels : panel;
            s.next_block = more ? b : b + s.blocks;
            linear_tiles(run, &s);
            s.sums += kept_rows * s.panels * 16;
        }
    }
}

/* What a stream does with groups, scale * sum + zero * (sum of x), is not what infinite x give in
 * the sum of products: then weights are decoded first, and only then multiplied. So they are where
 * linear_pack_stream left a NaN. */
static bool sums_finite(const struct linear_cut *cut, const char *scratch)
{
    const float *sums = (const float *)(scratch + cut->x_sums_at);
    int64_t n = cut->stream ? cut->groups * cut->tile_rows : 0;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(sums[i]))
            return false;
    return true;
}

/* Where the rows begin that are packed the i-th time. */
static int64_t rows_start(const struct linear_cut *cut, const struct linear_part *part, int64_t i)
{
    return part->row + (part->row_end - part->row) * i / cut->times;
}

static void linear_compute(const struct linear_call *call, const struct linear_part *part,
                           void *scratch)
{
    struct linear_run run = {call, linear_cut(call->job, part, true), 0, 0, scratch};
    for (int64_t i = 0; i < run.cut.times; i++) {
        run.row = rows_start(&run.cut, part, i);
        run.rows = rows_start(&run.cut, part, i + 1) - run.row;
        linear_pack(call, &run.cut, run.row, run.rows, scratch);
        if (!sums_finite(&run.cut, scratch)) {
            run.cut = linear_cut(call->job, part, false);
            linear_pack(call, &run.cut, run.row, run.rows, scratch);
        }
        int64_t step = run.cut.panels_at_once;
        for (int64_t panel = part->panel; panel < part->panel_end; panel += step) {
            int64_t end = part->panel_end - panel < step ? part->panel_end : panel + step;
            linear_panels(&run, panel, end);
        }
    }
}

static void linear_activations(const struct linear_call *call, const struct linear_part *part,
                               void *scratch)
{
    struct linear_cut cut = linear_cut(call->job, part, true);
    for (int64_t i = 0; i < cut.times; i++) {
        int64_t row = rows_start(&cut, part, i);
        linear_pack(call, &cut, row, rows_start(&cut, part, i + 1) - row, scratch);
    }
}

/* The body's struct, by a name of its own. */
#define LINEAR_BODY(ident)                                                                         \
    const struct linear_body ident = {                                                             \
        .scratch_bytes = linear_scratch_bytes,                                                     \
        .compute = linear_compute,                                                                 \
        .activations = linear_activations,                                                         \
        .amax = linear_amax,                                                                       \
    }

#endif
