#include "op/common.h"

ASSAY_ELEMENTWISE_OP(sigmoid, "Sigmoid", "1 / (1 + exp(-x))", NULL, assay_scalar_sigmoid,
                     "1 / (1 + expf(-x))", 4, 0,
                     .example = ASSAY_EXAMPLE(1, 3, .in = {{0, ASSAY_LN3, -ASSAY_LN3}},
                                              .want = {0.5, 0.75, 0.25}));

/* ---- backward, from the output --------------------------------------------------------------- */

static double sigmoid_backward(double dy, double y) { return dy * y * (1 - y); }

/* y within (0, 1), most of it near the middle, as sigmoids of normal values are. */
static void fill_backward(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    assay_tensor_fill_scaled(&p->inputs[index], data, seed, index == 1 ? 0.14 : 1,
                             index == 1 ? 0.5 : 0);
}

ASSAY_ELEMENTWISE_GRADIENT(sigmoid, "Sigmoid", "dx = dy y (1 - y), from the output y",
                           ASSAY_FROM_OUTPUT, sigmoid_backward, "a[i] * b[i] * (1 - b[i])", 3, 1,
                           .fill = fill_backward,
                           .example = ASSAY_EXAMPLE(1, 3, .in = {{4, 4, 4}, {0.5, 0.75, 0}},
                                                    .want = {1, 0.75, 0}));
