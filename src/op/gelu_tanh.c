/* gelu_tanh: the approximation with tanh, an op in its own right because its outputs differ from
 * gelu's by up to 5e-4. Written with the sigmoid, 0.5 (1 + tanh u) = sigmoid(2u), which does not
 * cancel.
 */
#include "op/common.h"

static double gelu_tanh(double x)
{
    double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x); /* sqrt(2 / pi) */
    return x * assay_scalar_sigmoid(2 * u);
}

/* gelu_tanh(1) = 0.5 (1 + tanh(0.79788456 * 1.044715)). */
ASSAY_ELEMENTWISE_OP(gelu_tanh, "GELU (tanh)", "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
                     NULL, gelu_tanh, "x / (1 + expf(-1.5957691f * (x + 0.044715f * x * x * x)))",
                     8, 1,
                     .example = ASSAY_EXAMPLE(1, 3, .in = {{0, 1, -1}},
                                              .want = {0, 0.84119199060827676,
                                                       -0.15880800939172324}));

/* ---- backward -------------------------------------------------------------------------------- */

/* With s = sigmoid(2u): s + x s (1 - s) 2u', where u' is the derivative of u. */
static double gelu_tanh_backward(double dy, double x)
{
    double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
    double slope = 0.79788456080286535588 * (1 + 3 * 0.044715 * x * x);
    double s = assay_scalar_sigmoid(2 * u);
    return dy * (s + x * s * (1 - s) * 2 * slope);
}

/* By the same formula in more digits. */
ASSAY_ELEMENTWISE_GRADIENT(gelu_tanh, "GELU (tanh)",
                           "dx = dy (s + 2 x s (1 - s) u'), where s = sigmoid(2u) and "
                           "u = sqrt(2/pi) (x + 0.044715 x^3)",
                           ASSAY_FROM_INPUT, gelu_tanh_backward, NULL, 14, 1,
                           .example = ASSAY_EXAMPLE(1, 3, .in = {{2, 1, 1}, {0, 1, -1}},
                                                    .want = {1, 1.0829640838457826,
                                                             -0.0829640838457826}));
