#include "op/common.h"

static double relu(double x) { return x < 0 ? 0 : x; } /* NaN stays NaN */

ASSAY_ELEMENTWISE_OP(relu, "ReLU", "max(x, 0)", NULL, relu, "x < 0 ? 0 : x", 1, 0,
                     .example = ASSAY_EXAMPLE(1, 3, .in = {{-2, 0, 3}}, .want = {0, 0, 3}));

/* ---- backward -------------------------------------------------------------------------------- */

static double relu_backward(double dy, double x) { return x <= 0 ? 0 : dy; }

ASSAY_ELEMENTWISE_GRADIENT(relu, "ReLU", "dx = x > 0 ? dy : 0", ASSAY_FROM_INPUT, relu_backward,
                           "b[i] <= 0 ? 0 : a[i]", 1, 0, .kinked = true,
                           .example = ASSAY_EXAMPLE(1, 3, .in = {{5, 6, 7}, {-2, 0, 3}},
                                                    .want = {0, 0, 7}));
