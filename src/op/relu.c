#include "op/common.h"

static double relu(double x) { return x < 0 ? 0 : x; } /* NaN stays NaN */

ASSAY_ELEMENTWISE_OP(relu, "ReLU", "max(x, 0)", NULL, relu, "x < 0 ? 0 : x", 1, 0,
                     .example = ASSAY_EXAMPLE(1, 3, .in = {{-2, 0, 3}}, .want = {0, 0, 3}));
