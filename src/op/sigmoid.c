#include "op/common.h"

ASSAY_ELEMENTWISE_OP(sigmoid, "Sigmoid", "1 / (1 + exp(-x))", NULL, assay_scalar_sigmoid,
                     "1 / (1 + expf(-x))", 4, 0,
                     .example = ASSAY_EXAMPLE(1, 3, .in = {{0, ASSAY_LN3, -ASSAY_LN3}},
                                              .want = {0.5, 0.75, 0.25}));
