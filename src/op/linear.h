/* linear.h: the parameters of the op `linear`, for its kernels. */
#ifndef ASSAY_OP_LINEAR_H
#define ASSAY_OP_LINEAR_H

#include "op/op.h"

/* x [m, k] and W [n, k] give y [m, n] = act(x W^T + bias). */
enum { ASSAY_LINEAR_M, ASSAY_LINEAR_K, ASSAY_LINEAR_N };          /* axes */
enum { ASSAY_LINEAR_BIAS, ASSAY_LINEAR_ACTIVATION };              /* params; bias is 0 or 1 */
enum { ASSAY_LINEAR_X, ASSAY_LINEAR_W, ASSAY_LINEAR_BIAS_INPUT }; /* inputs */

enum assay_linear_activation {
    ASSAY_LINEAR_NONE,
    ASSAY_LINEAR_SIGMOID,
    ASSAY_LINEAR_RELU,
    ASSAY_LINEAR_LEAKYRELU, /* slope 0.01 */
    ASSAY_LINEAR_RELU6,
    ASSAY_LINEAR_GELU, /* with erf */
    ASSAY_LINEAR_SILU,
    ASSAY_LINEAR_HARDSWISH,
    ASSAY_LINEAR_ACTIVATIONS
};

#endif
