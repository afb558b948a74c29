/* conv_backward.c: the gradients of conv2d and depthwise_conv2d, from dY, x and W (conv.h):
 *     dX[y, x, i]     = sum over taps and o of dY[(y + pad - ky) / stride, …, o] W[o, ky, kx, i],
 *     dW[o, ky, kx, i] = sum over pixels of dY[oy, ox, o] x[oy stride - pad + ky, …, i],
 *     dbias[o]        = sum over pixels of dY[oy, ox, o],
 * where only pixels that are there have terms: a row or column of dY between two strides has none,
 * nor has the padding. In depthwise_conv2d o is i. Nothing is saved by the forward pass but x.
 *
 * No input is a weight here: in a training step W changes with every call, as x and dY do, so
 * kernels may prepare nothing, and what they pack they pack within the timed call. */
#include "op/common.h"
#include "op/conv_common.h"

enum { DY = ASSAY_CONV_BACKWARD_DY, X = ASSAY_CONV_BACKWARD_X, W = ASSAY_CONV_BACKWARD_W };

/* Some elements of a row of a gradient, as sums and the sums of their squared terms. */
struct row_sums {
    const struct assay_problem *p;
    const void *const *in;
    struct assay_conv c;
    bool depthwise;
    int64_t first, n;
    double *out, *squares; /* squares may be NULL */
};

static void load(const struct row_sums *r, int32_t input, int64_t at, int64_t n, double *out)
{
    assay_dtype_load(r->p->inputs[input].dtype, r->in[input], at, n, out);
}

/* Adds dY times the elements of `input` from `at` on: one of its channels, or the same ones. */
static void add(const struct row_sums *r, int64_t dy, int64_t channel, int32_t input, int64_t at)
{
    enum { BLOCK = 256 };
    double factor[BLOCK], values[BLOCK];
    if (!r->depthwise)
        load(r, DY, dy * r->c.out + channel, 1, factor);
    for (int64_t first = 0; first < r->n; first += BLOCK) {
        int64_t n = r->n - first < BLOCK ? r->n - first : BLOCK;
        if (r->depthwise)
            load(r, DY, dy * r->c.out + r->first + first, n, factor);
        load(r, input, at + first, n, values);
        for (int64_t i = 0; i < n; i++) {
            double term = factor[r->depthwise ? i : 0] * values[i];
            r->out[first + i] += term;
            if (r->squares)
                r->squares[first + i] += term * term;
        }
    }
}

/* The pixel of dY along one axis that meets `at` through tap `k`; -1: none. */
static int64_t pixel_of(const struct assay_conv *c, int64_t at, int64_t k, int64_t pixels)
{
    int64_t from = at + c->pad - k;
    return from >= 0 && from % c->stride == 0 && from / c->stride < pixels ? from / c->stride : -1;
}

/* A row is one pixel of x. */
static void add_dx(const struct row_sums *r, int64_t row)
{
    const struct assay_conv *c = &r->c;
    int64_t image = row / (c->height * c->width), taps = c->kernel * c->kernel;
    for (int64_t tap = 0; tap < taps; tap++) {
        int64_t y = pixel_of(c, row / c->width % c->height, tap / c->kernel, c->out_height);
        int64_t x = pixel_of(c, row % c->width, tap % c->kernel, c->out_width);
        int64_t dy = (image * c->out_height + y) * c->out_width + x;
        if (y < 0 || x < 0)
            continue;
        for (int64_t o = 0; o < (r->depthwise ? 1 : c->out); o++)
            add(r, dy, o, W, (o * taps + tap) * c->in + r->first);
    }
}

/* A row is one tap, of one filter where each output channel has its own. */
static void add_dw(const struct row_sums *r, int64_t row)
{
    const struct assay_conv *c = &r->c;
    int64_t taps = c->kernel * c->kernel, pixels = c->batch * c->out_height * c->out_width;
    int64_t ky = row % taps / c->kernel, kx = row % c->kernel;
    for (int64_t dy = 0; dy < pixels; dy++) {
        int64_t y = dy / c->out_width % c->out_height * c->stride - c->pad + ky;
        int64_t x = dy % c->out_width * c->stride - c->pad + kx;
        int64_t image = dy / (c->out_height * c->out_width);
        if (y >= 0 && y < c->height && x >= 0 && x < c->width)
            add(r, dy, row / taps, X, ((image * c->height + y) * c->width + x) * c->in + r->first);
    }
}

static void add_dbias(const struct row_sums *r)
{
    const struct assay_conv *c = &r->c;
    for (int64_t i = 0; i < r->n; i++)
        for (int64_t dy = 0; dy < c->batch * c->out_height * c->out_width; dy++) {
            double term;
            load(r, DY, dy * c->out + r->first + i, 1, &term);
            r->out[i] += term;
            if (r->squares)
                r->squares[i] += term * term;
        }
}

static void gradient(const struct assay_problem *p, const void *const *in, int32_t output,
                     int64_t row, int64_t first, int64_t n, double *out, double *sizes)
{
    struct row_sums r = {p, in, assay_conv_of(p), assay_conv_is_depthwise(p), first, n, out, sizes};
    for (int64_t i = 0; i < n; i++)
        out[i] = 0;
    for (int64_t i = 0; i < n && sizes; i++)
        sizes[i] = 0;
    if (output == ASSAY_CONV_DX)
        add_dx(&r, row);
    else if (output == ASSAY_CONV_DW)
        add_dw(&r, row);
    else
        add_dbias(&r);
    for (int64_t i = 0; i < n && sizes; i++)
        sizes[i] = assay_op_sum_size(out[i], sizes[i]);
}

#define OUTPUT(name, output)                                                                       \
    static void name(const struct assay_problem *p, const void *const *in, int64_t row,            \
                     int64_t first, int64_t n, double *out, double *sizes)                         \
    {                                                                                              \
        gradient(p, in, output, row, first, n, out, sizes);                                        \
    }                                                                                              \
    static struct assay_tolerance tolerance_of_##name(const struct assay_problem *p)               \
    {                                                                                              \
        return assay_conv_backward_tolerance(p, output);                                           \
    }
OUTPUT(dx, ASSAY_CONV_DX)
OUTPUT(dw, ASSAY_CONV_DW)
OUTPUT(dbias, ASSAY_CONV_DBIAS)

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    dx(p, in, row, first, n, out, NULL);
}

static struct assay_cost conv2d_cost(const struct assay_problem *p)
{
    struct assay_cost c = assay_conv_backward_cost(p);
    c.math = p->dtype == ASSAY_DTYPE_BF16  ? ASSAY_MATH_BF16
             : p->dtype == ASSAY_DTYPE_F16 ? ASSAY_MATH_F16
                                           : ASSAY_MATH_F32;
    return c;
}

#define GRADIENT_OF(op)                                                                            \
    (&(const struct assay_gradient){.pass = ASSAY_PASS_BACKWARD,                                   \
                                    .forward = op,                                                 \
                                    .in = {{ASSAY_FROM_GRADIENT, 0},                               \
                                           {ASSAY_FROM_INPUT, ASSAY_CONV_X},                       \
                                           {ASSAY_FROM_INPUT, ASSAY_CONV_W}},                      \
                                    .of = {ASSAY_CONV_X, ASSAY_CONV_W, ASSAY_CONV_W + 1}})

const struct assay_op assay_op_conv2d_backward = {
    .name = "conv2d_backward",
    .title = "Conv2d backward",
    .summary = "dX, dW and dbias of conv2d, from dY [batch,height,width,out], x and W",
    .axis_names = {"batch", "height", "width", "in", "out", "kernel", "stride"},
    .param_names = {"pad", "bias"},
    .params = {-1},
    .shapes = assay_conv_backward_shapes,
    .fill = assay_conv_fill,
    .reference = reference,
    .reference_sums = dx,
    .more = {{.reference_sums = dw, .tolerance = tolerance_of_dw},
             {.reference_sums = dbias, .tolerance = tolerance_of_dbias}},
    .cost = conv2d_cost,
    .tolerance = tolerance_of_dx,
    .modes = "padN (zeros around the image; else half the kernel), bias (dbias, too), pad0+bias",
    .set_mode = assay_conv_set_mode,
    .check = assay_conv_check,
    .fill_exact = assay_conv_fill_exact,
    .can_be_exact = assay_conv_backward_can_be_exact,
    .gradient = GRADIENT_OF("conv2d"),
    .usual_shapes = "4x64x64x128x256x3x1",
    .sample_shapes = "1x14x14x64x64x3x1,2x28x28x64x128x3x2,1x27x25x32x48x1x1",
    .size_words = "batch, height, width, channels in and out, kernel, stride",
    .help = "",
};

const struct assay_op assay_op_depthwise_conv2d_backward = {
    .name = "depthwise_conv2d_backward",
    .title = "Depthwise Conv2d backward",
    .summary = "dX, dW and dbias of depthwise_conv2d, from dY [batch,height,width,channels], x and "
               "W",
    .axis_names = {"batch", "height", "width", "channels", "kernel", "stride"},
    .param_names = {"pad", "bias"},
    .params = {-1},
    .shapes = assay_conv_backward_shapes,
    .fill = assay_conv_fill,
    .reference = reference,
    .reference_sums = dx,
    .more = {{.reference_sums = dw, .tolerance = tolerance_of_dw},
             {.reference_sums = dbias, .tolerance = tolerance_of_dbias}},
    .cost = assay_conv_backward_cost,
    .tolerance = tolerance_of_dx,
    .modes = "padN (zeros around the image; else half the kernel), bias (dbias, too), pad0+bias",
    .set_mode = assay_conv_set_mode,
    .check = assay_conv_check,
    .fill_exact = assay_conv_fill_exact,
    .can_be_exact = assay_conv_backward_can_be_exact,
    .gradient = GRADIENT_OF("depthwise_conv2d"),
    .usual_shapes = "4x64x64x256x3x1",
    .sample_shapes = "1x14x14x64x3x1,4x56x56x64x3x2,1x27x25x48x5x1",
    .size_words = "batch, height, width, channels, kernel, stride",
    .help = "",
};
