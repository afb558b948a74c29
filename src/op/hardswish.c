#include "op/common.h"

static double hardswish(double x)
{
    double gate = x + 3;
    gate = gate < 0 ? 0 : gate > 6 ? 6 : gate;
    return x * gate / 6;
}

/* Inputs with twice the usual spread, so that both bounds (-3 and 3) are met. */
static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    assay_tensor_fill_scaled(&p->inputs[index], data, seed, 2, 0);
}

ASSAY_ELEMENTWISE_OP(hardswish, "HardSwish", "x * min(max(x + 3, 0), 6) / 6", NULL, hardswish,
                     "x * fminf(fmaxf(x + 3, 0), 6) / 6", 4, 1, .fill = fill,
                     .example = ASSAY_EXAMPLE(1, 6, .in = {{-4, -3, -1, 1, 3, 4}},
                                              .want = {0, 0, -1.0 / 3, 2.0 / 3, 3, 4}));

/* ---- backward -------------------------------------------------------------------------------- */

/* At both bounds, where it has no derivative, what it has beyond them. */
static double hardswish_backward(double dy, double x)
{
    return x <= -3 ? 0 : x >= 3 ? dy : dy * (x / 3 + 0.5);
}

static void fill_backward(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    assay_tensor_fill_scaled(&p->inputs[index], data, seed, index == 1 ? 2 : 1, 0);
}

ASSAY_ELEMENTWISE_GRADIENT(hardswish, "HardSwish",
                           "dx = dy times 0 for x <= -3, 1 for x >= 3, else x / 3 + 1 / 2",
                           ASSAY_FROM_INPUT, hardswish_backward,
                           "b[i] <= -3 ? 0 : b[i] >= 3 ? a[i] : a[i] * (b[i] / 3 + 0.5f)", 4, 1,
                           .fill = fill_backward, .kinked = true,
                           .example = ASSAY_EXAMPLE(1, 5,
                                                    .in = {{6, 6, 6, 6, 6}, {-3, -1.5, 1.5, 3, 4}},
                                                    .want = {0, 0, 6, 6, 6}));
