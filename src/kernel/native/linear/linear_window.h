/* linear_window.h: a convolution's windows as rows of x, for the kernels of `linear`.
 *
 * Channels are last, so the part of a window that lies in one row of the image is one run of
 * kernel * in elements: a line of the window. Lines lie a row of the image apart; those above and
 * below the image are left out. A window that reaches over the left or right edge is gathered
 * first, with zeros for the padding. An infinite weight times such a zero is NaN, which the op's
 * reference, for which padding is nothing at all, does not have. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_WINDOW_H
#define ASSAY_KERNEL_NATIVE_LINEAR_WINDOW_H

#include "kernel/native/linear/linear_native.h"

#include <string.h>

/* Where a window begins: its image, and its first row and column, which may be negative. */
struct linear_window {
    int64_t image, top, left;
};

static inline struct linear_window linear_window_at(const struct assay_conv *c, int64_t row)
{
    int64_t pixels = c->out_height * c->out_width, pixel = row % pixels;
    return (struct linear_window){
        .image = row / pixels,
        .top = pixel / c->out_width * c->stride - c->pad,
        .left = pixel % c->out_width * c->stride - c->pad,
    };
}

/* Elements of a line, and the bytes from one to the next. */
static inline int64_t linear_window_line(const struct linear_job *job)
{
    return job->windows.kernel * job->windows.in;
}
static inline size_t linear_window_stride(const struct linear_job *job)
{
    return (size_t)(job->windows.width * job->windows.in) * assay_dtype_bytes(job->dtype);
}

static inline const unsigned char *linear_window_pixel(const struct linear_call *call,
                                                       int64_t image, int64_t y, int64_t x)
{
    const struct assay_conv *c = &call->job->windows;
    return (const unsigned char *)call->x +
           (size_t)(((image * c->height + y) * c->width + x) * c->in) *
               assay_dtype_bytes(call->job->dtype);
}

/* The lines of a window that lie in the image: `lines` of them from line `line` on, which begins at
 * `first`. */
struct linear_lines {
    const unsigned char *first; /* NULL: they are not to be used where they lie */
    int64_t line, lines;
};

/* Those of row `row` of x and of the rows - 1 after it, whose lines lie stride * in elements apart,
 * if they can be used where they lie: if all are windows of one row of pixels, none reaches over
 * the left or right edge, and lines are whole multiples of `unit` elements. */
static inline struct linear_lines linear_window_lines(const struct linear_call *call, int64_t row,
                                                      int64_t rows, int64_t unit)
{
    const struct assay_conv *c = &call->job->windows;
    if (c->kernel == 0 || linear_window_line(call->job) % unit)
        return (struct linear_lines){0};
    struct linear_window w = linear_window_at(c, row);
    int64_t span = (rows - 1) * c->stride; /* from the first to the last */
    if (w.left < 0 || w.left + span + c->kernel > c->width ||
        w.left + span > (c->out_width - 1) * c->stride - c->pad)
        return (struct linear_lines){0};
    int64_t begin = w.top < 0 ? -w.top : 0;
    int64_t end = c->height - w.top < c->kernel ? c->height - w.top : c->kernel;
    return (struct linear_lines){linear_window_pixel(call, w.image, w.top + begin, w.left), begin,
                                 end - begin};
}

/* The same row in one piece: where it lies, for windows of one pixel, or copied into `buffer`. */
static inline const void *linear_window_row(const struct linear_call *call, int64_t row,
                                            void *buffer)
{
    const struct assay_conv *c = &call->job->windows;
    struct linear_window w = linear_window_at(c, row);
    if (c->kernel == 1)
        return linear_window_pixel(call, w.image, w.top, w.left);
    size_t pixel = (size_t)c->in * assay_dtype_bytes(call->job->dtype);
    int64_t begin = w.left < 0 ? -w.left : 0;
    int64_t end = c->width - w.left < c->kernel ? c->width - w.left : c->kernel;
    unsigned char *to = buffer;
    for (int64_t y = w.top; y < w.top + c->kernel; y++, to += (size_t)c->kernel * pixel) {
        if (y < 0 || y >= c->height || begin >= end) {
            memset(to, 0, (size_t)c->kernel * pixel);
            continue;
        }
        if (begin > 0)
            memset(to, 0, (size_t)begin * pixel);
        memcpy(to + (size_t)begin * pixel, linear_window_pixel(call, w.image, y, w.left + begin),
               (size_t)(end - begin) * pixel);
        if (end < c->kernel)
            memset(to + (size_t)end * pixel, 0, (size_t)(c->kernel - end) * pixel);
    }
    return buffer;
}

#endif
