/* gelu_tanh: the approximation with tanh, an op of its own because its answers differ from gelu's
 * by up to 5e-4. Written with the sigmoid, 0.5 (1 + tanh u) = sigmoid(2u), which does not cancel.
 */
#include "op/common.h"

static double gelu_tanh(double x)
{
    double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x); /* sqrt(2 / pi) */
    return x * assay_scalar_sigmoid(2 * u);
}

ASSAY_ELEMENTWISE_OP(gelu_tanh, "GELU (tanh)", "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
                     NULL, gelu_tanh, 8, 1, .fill = NULL);
