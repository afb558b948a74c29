/* gelu: the exact form, x times the normal distribution function. */
#include "op/common.h"

/* gelu(1) = Phi(1) = 0.84134474606854293, gelu(-1) = -(1 - Phi(1)). */
ASSAY_ELEMENTWISE_OP(gelu, "GELU", "x * Phi(x), the erf form", NULL, assay_scalar_gelu,
                     "0.5f * x * erfcf(-0.70710678f * x)", 6, 1,
                     .example = ASSAY_EXAMPLE(1, 4, .in = {{0, 1, -1, 40}},
                                              .want = {0, 0.84134474606854293, -0.15865525393145705,
                                                       40}));
