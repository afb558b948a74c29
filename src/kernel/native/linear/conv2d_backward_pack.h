/* conv2d_backward_pack.h: columns of the matrix of windows as panels: struct conv2d_backward_body
 * in conv2d_backward_native.h. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_CONV2D_BACKWARD_PACK_H
#define ASSAY_KERNEL_NATIVE_CONV2D_BACKWARD_PACK_H

#include "kernel/native/linear/conv2d_backward_native.h"
#include "kernel/native/linear/linear_backward_pack.h"

/* Columns of a panel that lie side by side in x: channels of one tap. */
struct unfold_run {
    int64_t ky, kx, channel;
    int column, n;
};
struct unfold_columns {
    struct unfold_run runs[16];
    int n;
};

static struct unfold_columns unfold_columns_of(const struct assay_conv *c, int64_t panel)
{
    struct unfold_columns columns = {.n = 0};
    int64_t all = c->kernel * c->kernel * c->in,
            end = (panel + 1) * 16 < all ? panel * 16 + 16 : all;
    for (int64_t at = panel * 16; at < end;) {
        int64_t tap = at / c->in, left = (tap + 1) * c->in - at;
        struct unfold_run run = {.ky = tap / c->kernel,
                                 .kx = tap % c->kernel,
                                 .channel = at % c->in,
                                 .column = (int)(at - panel * 16),
                                 .n = (int)(left < end - at ? left : end - at)};
        columns.runs[columns.n++] = run;
        at += run.n;
    }
    return columns;
}

/* A pixel of y, and its number. */
struct unfold_pixel {
    int64_t image, y, x, number;
};

static struct unfold_pixel unfold_pixel_of(const struct assay_conv *c, int64_t number)
{
    return (struct unfold_pixel){number / (c->out_height * c->out_width),
                                 number / c->out_width % c->out_height, number % c->out_width,
                                 number};
}

VEC_INLINE void unfold_next(const struct assay_conv *c, struct unfold_pixel *pixel)
{
    pixel->number++;
    if (++pixel->x < c->out_width)
        return;
    pixel->x = 0;
    if (++pixel->y == c->out_height) {
        pixel->y = 0;
        pixel->image++;
    }
}

/* Where a run begins in x; NULL in the padding. */
VEC_INLINE const char *unfold_run_at(const struct conv2d_windows *from,
                                     const struct unfold_pixel *pixel, const struct unfold_run *run,
                                     size_t size)
{
    const struct assay_conv *c = from->conv;
    int64_t y = pixel->y * c->stride - c->pad + run->ky,
            x = pixel->x * c->stride - c->pad + run->kx;
    if (y < 0 || y >= c->height || x < 0 || x >= c->width)
        return NULL;
    return (const char *)from->x +
           (size_t)(((pixel->image * c->height + y) * c->width + x) * c->in + run->channel) * size;
}

static const _Alignas(64) unsigned char unfold_zeros[64];

/* 16 columns of a pixel's window; 0 where the pixel is not among those that are meant. */
VEC_INLINE const void *unfold_piece(const struct conv2d_windows *from,
                                    const struct unfold_columns *columns, size_t size,
                                    const struct unfold_pixel *pixel, void *buffer)
{
    if (pixel->number >= from->pixel_end)
        return unfold_zeros;
    memset(buffer, 0, 16 * size);
    for (int i = 0; i < columns->n; i++) {
        const struct unfold_run *run = &columns->runs[i];
        const char *at = unfold_run_at(from, pixel, run, size);
        if (at)
            memcpy((char *)buffer + (size_t)run->column * size, at, (size_t)run->n * size);
    }
    return buffer;
}

/* A line of a panel is a pixel, or two in 16 bits. */
VEC_INLINE void unfold_lines(const struct conv2d_windows *from, bool halves, int64_t lines,
                             const struct unfold_columns *columns, uint32_t *restrict to)
{
    struct unfold_pixel pixel = unfold_pixel_of(from->conv, from->pixel);
    uint32_t one[16], other[16];
    for (int64_t l = 0; l < lines; l++, to += 16) {
        if (halves) {
            const void *upper = unfold_piece(from, columns, 2, &pixel, one);
            unfold_next(from->conv, &pixel);
            columns_pairs(upper, unfold_piece(from, columns, 2, &pixel, other), to);
        } else {
            memcpy(to, unfold_piece(from, columns, 4, &pixel, one), 64);
        }
        unfold_next(from->conv, &pixel);
    }
}

/* Channels of one tap for a row of pixels of y: those of [begin, end) lie `step` bytes apart, the
 * others in the padding. */
struct unfold_row {
    uintptr_t first; /* of pixel 0, wherever that is */
    size_t step;
    int64_t begin, end;
};

static struct unfold_row unfold_row_of(const struct conv2d_windows *from,
                                       const struct unfold_pixel *pixel,
                                       const struct unfold_run *run)
{
    const struct assay_conv *c = from->conv;
    size_t size = assay_dtype_bytes(from->dtype);
    int64_t y = pixel->y * c->stride - c->pad + run->ky, left = run->kx - c->pad;
    int64_t at = ((pixel->image * c->height + y) * c->width + left) * c->in + run->channel;
    struct unfold_row row = {.first = (uintptr_t)from->x + (uintptr_t)at * size,
                             .step = (size_t)(c->stride * c->in) * size};
    if (y < 0 || y >= c->height || left >= c->width)
        return row;
    row.begin = assay_ceil_div(assay_max(-left, 0), c->stride);
    row.end = (c->width - 1 - left) / c->stride + 1;
    return row;
}

VEC_INLINE const void *unfold_at(const struct unfold_row *row, int64_t pixel)
{
    enum { AHEAD = 8 };
    uintptr_t at = row->first + (uintptr_t)pixel * row->step;
    __builtin_prefetch((const void *)(at + AHEAD * row->step));
    return pixel >= row->begin && pixel < row->end ? (const void *)at : unfold_zeros;
}

/* Is a panel 16 channels of one tap, and no line of two rows of pixels? */
static bool unfold_has_rows(const struct conv2d_windows *from, const struct unfold_columns *columns)
{
    bool pairs = from->dtype != ASSAY_DTYPE_F32;
    return columns->runs[0].n == 16 &&
           !(pairs && (from->conv->out_width % 2 || from->pixel % 2 || from->pixel_end % 2));
}

/* The same as unfold_lines where that is so. */
VEC_INLINE void unfold_rows(const struct conv2d_windows *from, bool halves, int64_t lines,
                            const struct unfold_run *run, uint32_t *restrict to)
{
    const uint32_t *end = to + lines * 16;
    struct unfold_pixel pixel = unfold_pixel_of(from->conv, from->pixel);
    while (pixel.number < from->pixel_end) {
        struct unfold_row row = unfold_row_of(from, &pixel, run);
        int64_t n = assay_min(from->conv->out_width - pixel.x, from->pixel_end - pixel.number);
        for (int64_t x = pixel.x; x < pixel.x + n; x += halves ? 2 : 1, to += 16)
            if (halves)
                columns_pairs(unfold_at(&row, x), unfold_at(&row, x + 1), to);
            else
                memcpy(to, unfold_at(&row, x), 64);
        pixel = unfold_pixel_of(from->conv, pixel.number + n);
    }
    memset(to, 0, (size_t)(end - to) * sizeof *to);
}

VEC_INLINE void unfold_panel(const struct conv2d_windows *from, bool halves, int64_t lines,
                             const struct unfold_columns *columns, void *to)
{
    if (unfold_has_rows(from, columns))
        unfold_rows(from, halves, lines, &columns->runs[0], to);
    else
        unfold_lines(from, halves, lines, columns, to);
}

static void unfold_panels(const struct conv2d_windows *from, const struct assay_packed *to,
                          int64_t panel, int64_t panel_end)
{
    unsigned char *at = to->codes;
    for (int64_t p = panel; p < panel_end; p++, at += assay_packed_panel_bytes(to)) {
        struct unfold_columns columns = unfold_columns_of(from->conv, p);
        if (from->dtype == ASSAY_DTYPE_F32)
            unfold_panel(from, false, to->lines, &columns, at);
        else
            unfold_panel(from, true, to->lines, &columns, at);
    }
}

#endif
