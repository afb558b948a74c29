/* silu, also called swish. For x = -inf the limit is 0, but -inf * 0 is NaN, as it is in f32. */
#include "op/common.h"

static double silu(double x) { return x * assay_scalar_sigmoid(x); }

static const char *const aliases[] = {"swish", NULL};

ASSAY_ELEMENTWISE_OP(silu, "Swish", "x * sigmoid(x)", aliases, silu, "x / (1 + expf(-x))", 5, 1,
                     .example = ASSAY_EXAMPLE(1, 3, .in = {{0, ASSAY_LN3, -ASSAY_LN3}},
                                              .want = {0, 0.75 * ASSAY_LN3, -0.25 * ASSAY_LN3}));
