#include "op/common.h"

static double relu(double x) { return x < 0 ? 0 : x; } /* NaN stays NaN */

ASSAY_ELEMENTWISE_OP(relu, "ReLU", "max(x, 0)", NULL, relu, 1, 0, .fill = NULL);
