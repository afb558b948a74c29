/* conv2d: every output channel is a sum over a window of all input channels; channels are last
 * (conv.h). */
#include "op/common.h"
#include "op/conv_common.h"

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

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A row of the output is one place of an image. */
static void reference_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                           int64_t first, int64_t n, double *out, double *sizes)
{
    struct assay_conv c = assay_conv_of(p);
    int64_t image = row / (c.out_height * c.out_width);
    int64_t top = row / c.out_width % c.out_height * c.stride - c.pad;
    int64_t left = row % c.out_width * c.stride - c.pad;
    int64_t begin = most(0, -left), end = least(c.kernel, c.width - left);
    double unused = 0;
    for (int64_t i = 0; i < n; i++) {
        out[i] = assay_conv_optional(p, in, c.bias, first + i) +
                 assay_conv_optional(p, in, c.residual, row * c.out + first + i);
        if (sizes)
            sizes[i] = 0;
    }
    for (int64_t ky = most(0, -top); ky < least(c.kernel, c.height - top) && begin < end; ky++) {
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
};
