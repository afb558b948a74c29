/* gelu: the exact form, x times the normal distribution function. */
#include "op/common.h"

/* gelu(1) = Phi(1) = 0.84134474606854293, gelu(-1) = -(1 - Phi(1)). */
ASSAY_ELEMENTWISE_OP(gelu, "GELU", "x * Phi(x), the erf form", NULL, assay_scalar_gelu,
                     "0.5f * x * erfcf(-0.70710678f * x)", 6, 1,
                     .example = ASSAY_EXAMPLE(1, 4, .in = {{0, 1, -1, 40}},
                                              .want = {0, 0.84134474606854293, -0.15865525393145705,
                                                       40}));

/* ---- backward -------------------------------------------------------------------------------- */

static double gelu_backward(double dy, double x) { return dy * assay_scalar_gelu_slope(x); }

/* Phi(1) + phi(1) = 0.84134474606854293 + 0.24197072451914337, and 1 minus that at -1. */
ASSAY_ELEMENTWISE_GRADIENT(gelu, "GELU", "dx = dy (Phi(x) + x phi(x)), the erf form",
                           ASSAY_FROM_INPUT, gelu_backward,
                           "a[i] * (0.5f * erfcf(-0.70710678f * b[i]) + "
                           "0.39894228f * b[i] * expf(-0.5f * b[i] * b[i]))",
                           10, 1,
                           .example = ASSAY_EXAMPLE(1, 3, .in = {{2, 1, 1}, {0, 1, -1}},
                                                    .want = {1, 1.0833154705876863,
                                                             -0.0833154705876863}));
