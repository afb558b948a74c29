#include "op/common.h"

/* The slope is 0.01f, not 0.01: a kernel in f32 cannot know more of it. */
static double leakyrelu(double x) { return x < 0 ? (double)0.01f * x : x; }

static const char *const aliases[] = {"leaky_relu", NULL};

ASSAY_ELEMENTWISE_OP(leakyrelu, "LeakyReLU", "x < 0 ? 0.01 x : x", aliases, leakyrelu,
                     "x < 0 ? 0.01f * x : x", 2, 0, .param_names = {"slope"}, .params = {0.01},
                     .example = ASSAY_EXAMPLE(1, 3, .in = {{-4, 0, 5}},
                                              .want = {-4 * (double)0.01f, 0, 5}));

/* ---- backward -------------------------------------------------------------------------------- */

static double leakyrelu_backward(double dy, double x) { return x > 0 ? dy : (double)0.01f * dy; }

ASSAY_ELEMENTWISE_GRADIENT(leakyrelu, "LeakyReLU", "dx = x > 0 ? dy : 0.01 dy", ASSAY_FROM_INPUT,
                           leakyrelu_backward, "b[i] > 0 ? a[i] : 0.01f * a[i]", 2, 0,
                           .param_names = {"slope"}, .params = {0.01}, .kinked = true,
                           .example = ASSAY_EXAMPLE(1, 3, .in = {{5, 6, 7}, {-4, 0, 5}},
                                                    .want = {5 * (double)0.01f, 6 * (double)0.01f,
                                                             7}));
