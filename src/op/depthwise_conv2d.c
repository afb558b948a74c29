/* depthwise_conv2d: every channel is convolved by itself; channels are last (conv.h). */
#include "op/common.h"
#include "op/conv_common.h"

/* Adds one pixel of the window, n channels of it. */
static void add_products(const struct assay_problem *p, const void *const *in, int64_t x, int64_t w,
                         int64_t n, double *out, double *squares)
{
    enum { BLOCK = 256 };
    double a[BLOCK], b[BLOCK];
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t count = n - first < BLOCK ? n - first : BLOCK;
        assay_dtype_load(p->inputs[ASSAY_CONV_X].dtype, in[ASSAY_CONV_X], x + first, count, a);
        assay_dtype_load(p->inputs[ASSAY_CONV_W].dtype, in[ASSAY_CONV_W], w + first, count, b);
        for (int64_t i = 0; i < count; i++)
            out[first + i] += a[i] * b[i];
        for (int64_t i = 0; i < count && squares; i++)
            squares[first + i] += a[i] * b[i] * a[i] * b[i];
    }
}

/* A row of the output is one pixel of an image. */
static void reference_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                           int64_t first, int64_t n, double *out, double *sizes)
{
    struct assay_conv c = assay_conv_of(p);
    int64_t image = row / (c.out_height * c.out_width);
    int64_t top = row / c.out_width % c.out_height * c.stride - c.pad;
    int64_t left = row % c.out_width * c.stride - c.pad;
    for (int64_t i = 0; i < n; i++)
        out[i] = assay_conv_optional(p, in, c.bias, first + i);
    for (int64_t i = 0; i < n && sizes; i++)
        sizes[i] = 0;
    for (int64_t ky = 0; ky < c.kernel; ky++)
        for (int64_t kx = 0; kx < c.kernel; kx++) {
            int64_t y = top + ky, x = left + kx;
            if (y < 0 || y >= c.height || x < 0 || x >= c.width)
                continue;
            add_products(p, in, ((image * c.height + y) * c.width + x) * c.in + first,
                         (ky * c.kernel + kx) * c.out + first, n, out, sizes);
        }
    if (sizes)
        assay_conv_sizes(p, in, row, first, n, out, sizes);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    reference_sums(p, in, row, first, n, out, NULL);
}

/* ---- in a model ------------------------------------------------------------------------------ */

static const struct assay_op_node node = {
    .values = 1,
    .keys = {{"batch", 0}, {"height", 0}, {"width", 0}, {"kernel", 0}, {"stride", 1}},
    .has_mode = true,
    .axes = assay_node_image_axes,
    .refuse = assay_conv_node_refuse,
    .rows_axis = ASSAY_DEPTHWISE_BATCH,
    .mixes_rows = true,
};

const struct assay_op assay_op_depthwise_conv2d = {
    .name = "depthwise_conv2d",
    .title = "Depthwise Conv2d",
    .summary = "each channel convolved by itself, channels last: x [batch,height,width,channels]",
    .axis_names = {"batch", "height", "width", "channels", "kernel", "stride"},
    .param_names = {"pad", "bias", "add"},
    .params = {-1},
    .shapes = assay_conv_shapes,
    .fill = assay_conv_fill,
    .reference = reference,
    .reference_sums = reference_sums,
    .cost = assay_conv_cost,
    .tolerance = assay_conv_tolerance,
    .modes = "padN (zeros around the image; else half the kernel), bias, pad0+bias",
    .set_mode = assay_conv_set_mode,
    .check = assay_conv_check,
    .is_weight = assay_conv_is_weight,
    .fill_exact = assay_conv_fill_exact,
    .can_be_exact = assay_conv_can_be_exact,
    .usual_shapes = "4x64x64x256x3x1",
    .sample_shapes = "1x14x14x64x3x1,4x56x56x64x3x1,1x27x25x48x5x1",
    .size_words = "batch, height, width, channels, kernel, stride",
    .help = "depthwise_conv2d @ORDER@, @SHAPES@; padding is half the kernel, or what --mode padN "
            "says.",
    .skeleton = {"depthwise_conv2d", NULL, "1x16x16x32x3x1, 2x7x9x5x3x2"},
    .node = &node,
};
