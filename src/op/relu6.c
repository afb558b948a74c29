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

/* ---- backward -------------------------------------------------------------------------------- */

static double relu6_backward(double dy, double x) { return x <= 0 || x >= 6 ? 0 : dy; }

static void fill_backward(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    assay_tensor_fill_scaled(&p->inputs[index], data, seed, index == 1 ? 3 : 1, 0);
}

ASSAY_ELEMENTWISE_GRADIENT(relu6, "ReLU6", "dx = 0 < x < 6 ? dy : 0", ASSAY_FROM_INPUT,
                           relu6_backward, "b[i] <= 0 || b[i] >= 6 ? 0 : a[i]", 2, 0,
                           .fill = fill_backward, .kinked = true,
                           .example = ASSAY_EXAMPLE(1, 4, .in = {{5, 6, 7, 8}, {-1, 3, 6, 7}},
                                                    .want = {0, 6, 0, 0}));
