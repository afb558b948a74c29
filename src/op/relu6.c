#include "op/common.h"

static double relu6(double x) { return x < 0 ? 0 : x > 6 ? 6 : x; } /* NaN stays NaN */

/* Inputs with three times the usual spread, so that the upper bound is met too. */
static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    assay_tensor_fill_scaled(&p->inputs[index], data, seed, 3, 0);
}

ASSAY_ELEMENTWISE_OP(relu6, "ReLU6", "min(max(x, 0), 6)", NULL, relu6, "x < 0 ? 0 : x > 6 ? 6 : x",
                     2, 0, .fill = fill,
                     .example = ASSAY_EXAMPLE(1, 4, .in = {{-1, 3, 6, 7}}, .want = {0, 3, 6, 6}));
