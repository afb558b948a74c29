/* linear_activation.h: the activations of `linear`. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_ACTIVATION_H
#define ASSAY_KERNEL_NATIVE_LINEAR_ACTIVATION_H

#include "kernel/native/vec/vec_math.h"
#include "kernel/native/vec/vec_relu.h"
#include "op/linear.h"

VEC_INLINE vec linear_activate(enum assay_linear_activation activation, vec y)
{
    switch (activation) {
    case ASSAY_LINEAR_SIGMOID:
        return vec_sigmoid(y);
    case ASSAY_LINEAR_RELU:
        return vec_relu(y);
    case ASSAY_LINEAR_LEAKYRELU:
        return vec_leakyrelu(y, vec_set(0.01f));
    case ASSAY_LINEAR_RELU6:
        return vec_relu6(y);
    case ASSAY_LINEAR_GELU:
        return vec_gelu(y);
    case ASSAY_LINEAR_SILU:
        return vec_silu(y);
    case ASSAY_LINEAR_HARDSWISH:
        return vec_hardswish(y);
    default:
        return y;
    }
}

#endif
