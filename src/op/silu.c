/* silu, also called swish. For x = -inf the limit is 0, but -inf * 0 is NaN, as it is in f32. */
#include "op/common.h"

static double silu(double x) { return x * assay_scalar_sigmoid(x); }

static const char *const aliases[] = {"swish", NULL};

ASSAY_ELEMENTWISE_OP(silu, "Swish", "x * sigmoid(x)", aliases, silu, "x / (1 + expf(-x))", 5, 1,
                     .example = ASSAY_EXAMPLE(1, 3, .in = {{0, ASSAY_LN3, -ASSAY_LN3}},
                                              .want = {0, 0.75 * ASSAY_LN3, -0.25 * ASSAY_LN3}));

/* ---- backward -------------------------------------------------------------------------------- */

static double silu_backward(double dy, double x)
{
    double gate = assay_scalar_sigmoid(x);
    return dy * gate * (1 + x * (1 - gate));
}

ASSAY_ELEMENTWISE_GRADIENT(
    silu, "Swish", "dx = dy s (1 + x (1 - s)), where s = sigmoid(x)", ASSAY_FROM_INPUT,
    silu_backward, "a[i] * (1 + b[i] / (1 + expf(b[i]))) / (1 + expf(-b[i]))", 9, 1,
    .example = ASSAY_EXAMPLE(1, 3, .in = {{2, 16, 16}, {0, ASSAY_LN3, -ASSAY_LN3}},
                             .want = {1, 12 + 3 * ASSAY_LN3, 4 - 3 * ASSAY_LN3}));
