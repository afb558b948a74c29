/* gelu: the exact form, x times the normal distribution function. */
#include "op/common.h"

ASSAY_ELEMENTWISE_OP(gelu, "GELU", "x * Phi(x), the erf form", NULL, assay_scalar_gelu, 6, 1,
                     .fill = NULL);
