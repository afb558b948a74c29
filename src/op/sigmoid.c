#include "op/common.h"

ASSAY_ELEMENTWISE_OP(sigmoid, "Sigmoid", "1 / (1 + exp(-x))", NULL, assay_scalar_sigmoid, 4, 0,
                     .fill = NULL);
