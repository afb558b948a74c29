/* conv2d: every output channel is a sum over a window of all input channels; channels are last
 * (conv.h). */
#include "base/math.h"
#include "op/common.h"
#include "op/conv_common.h"
#include "op/reference/product.h"

#include "base/alloc.h"

/* A window's row and a filter's, both contiguous over kernel columns and channels. */
static double dot(const struct assay_problem *p, const void *const *in, int64_t x, int64_t w,
                  int64_t n, double *squares)
{
    enum { BLOCK = 256 };
    double a[BLOCK], b[BLOCK], sum = 0;
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t count = n - first < BLOCK ? n - first : BLOCK;
        assay_dtype_load(p->inputs[ASSAY_CONV_X].dtype, in[ASSAY_CONV_X], x + first, count, a);
        assay_dtype_load(p->inputs[ASSAY_CONV_W].dtype, in[ASSAY_CONV_W], w + first, count, b);
        for (int64_t i = 0; i < count; i++) {
            double term = a[i] * b[i];
            sum += term;
            *squares += term * term;
        }
    }
    return sum;
}

/* A row of the output is one pixel of an image. */
static void reference_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                           int64_t first, int64_t n, double *out, double *sizes)
{
    struct assay_conv c = assay_conv_of(p);
    int64_t image = row / (c.out_height * c.out_width);
    int64_t top = row / c.out_width % c.out_height * c.stride - c.pad;
    int64_t left = row % c.out_width * c.stride - c.pad;
    int64_t begin = assay_max(0, -left), end = assay_min(c.kernel, c.width - left);
    double unused = 0;
    for (int64_t i = 0; i < n; i++) {
        out[i] = assay_conv_optional(p, in, c.bias, first + i) +
                 assay_conv_optional(p, in, c.residual, row * c.out + first + i);
        if (sizes)
            sizes[i] = 0;
    }
    for (int64_t ky = assay_max(0, -top); ky < assay_min(c.kernel, c.height - top) && begin < end;
         ky++) {
        int64_t x = ((image * c.height + top + ky) * c.width + left + begin) * c.in;
        for (int64_t i = 0; i < n; i++) {
            int64_t w = (((first + i) * c.kernel + ky) * c.kernel + begin) * c.in;
            out[i] += dot(p, in, x, w, (end - begin) * c.in, sizes ? &sizes[i] : &unused);
        }
    }
    if (sizes)
        assay_conv_sizes(p, in, row, first, n, out, sizes);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    reference_sums(p, in, row, first, n, out, NULL);
}

static struct assay_cost cost(const struct assay_problem *p)
{
    struct assay_cost c = assay_conv_cost(p);
    c.math = p->dtype == ASSAY_DTYPE_BF16  ? ASSAY_MATH_BF16
             : p->dtype == ASSAY_DTYPE_F16 ? ASSAY_MATH_F16
                                           : ASSAY_MATH_F32;
    return c;
}

static const char *const aliases[] = {"conv", NULL};

/* ---- in a model ------------------------------------------------------------------------------ */

/* What the filter sees at one pixel of the output: kernel * kernel * in values, zeros outside. */
static void patch_of(const struct assay_conv *c, const float *x, int64_t row, float *out)
{
    int64_t image = row / (c->out_height * c->out_width);
    int64_t top = row / c->out_width % c->out_height * c->stride - c->pad;
    int64_t left = row % c->out_width * c->stride - c->pad;
    for (int64_t ky = 0; ky < c->kernel; ky++)
        for (int64_t kx = 0; kx < c->kernel; kx++) {
            int64_t y = top + ky, at = left + kx;
            bool inside = y >= 0 && y < c->height && at >= 0 && at < c->width;
            float *to = out + (ky * c->kernel + kx) * c->in;
            if (inside)
                memcpy(to, x + ((image * c->height + y) * c->width + at) * c->in,
                       (size_t)c->in * sizeof *to);
            else
                memset(to, 0, (size_t)c->in * sizeof *to);
        }
}

/* Patches times filters, a block of rows at a time. */
static enum assay_status node_whole(const struct assay_problem *p, const void *const *in,
                                    double *out, struct assay_error *err)
{
    enum { AT_ONCE = 512 };
    struct assay_conv c = assay_conv_of(p);
    int64_t rows = assay_op_rows(p), depth = c.kernel * c.kernel * c.in;
    float *patches = assay_calloc((size_t)(AT_ONCE * depth), sizeof *patches);
    if (!patches)
        return assay_error_nomem(err);
    for (int64_t first = 0; first < rows; first += AT_ONCE) {
        int64_t n = rows - first < AT_ONCE ? rows - first : AT_ONCE;
        double *to = out + first * c.out;
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < n; i++)
            patch_of(&c, in[ASSAY_CONV_X], first + i, patches + i * depth);
        assay_product(patches, in[ASSAY_CONV_W], n, c.out, depth, to);
        const float *bias = c.bias >= 0 ? in[c.bias] : NULL;
        for (int64_t i = 0; i < n * c.out && bias; i++)
            to[i] += (double)bias[i % c.out];
    }
    assay_free(patches);
    return ASSAY_OK;
}

static int32_t residual_of(const struct assay_problem *p) { return assay_conv_of(p).residual; }

static const struct assay_absorbed absorbs[] = {{"add", ASSAY_CONV_ADD, 1, 0, false, residual_of},
                                                {0}};

static const struct assay_op_node node = {
    .values = 1,
    .keys =
        {{"batch", 0}, {"height", 0}, {"width", 0}, {"features", 0}, {"kernel", 0}, {"stride", 1}},
    .has_mode = true,
    .axes = assay_node_image_axes,
    .refuse = assay_conv_node_refuse,
    .rows_axis = ASSAY_CONV2D_BATCH,
    .mixes_rows = true,
    .absorbs = absorbs,
    .whole = node_whole,
};

const struct assay_op assay_op_conv2d = {
    .name = "conv2d",
    .title = "Conv2d",
    .summary = "convolution, channels last: x [batch,height,width,in], W [out,kernel,kernel,in]",
    .aliases = aliases,
    .axis_names = {"batch", "height", "width", "in", "out", "kernel", "stride"},
    .param_names = {"pad", "bias", "add"},
    .params = {-1},
    .shapes = assay_conv_shapes,
    .fill = assay_conv_fill,
    .reference = reference,
    .reference_sums = reference_sums,
    .cost = cost,
    .tolerance = assay_conv_tolerance,
    .modes = "padN (zeros around the image; else half the kernel), bias, add (a residual), "
             "pad0+bias, …",
    .set_mode = assay_conv_set_mode,
    .check = assay_conv_check,
    .is_weight = assay_conv_is_weight,
    .fill_exact = assay_conv_fill_exact,
    .can_be_exact = assay_conv_can_be_exact,
    .usual_shapes = "4x64x64x128x256x3x1",
    .sample_shapes = "1x14x14x64x64x3x1,2x28x28x64x128x3x1,1x27x25x32x48x1x1",
    .size_words = "batch, height, width, channels in and out, kernel, stride",
    .help = "\nImages have their channels last. conv2d takes --shape @ORDER@, @SHAPES@ where not "
            "given,",
    .skeleton = {"conv2d", NULL, "1x16x16x16x32x3x1, 2x7x9x3x5x3x2"},
    .node = &node,
};
