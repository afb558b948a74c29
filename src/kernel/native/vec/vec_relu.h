/* vec_relu.h: relu and the other activations that need no exp, for element-wise kernels and for
 * the epilogue of `linear`. The order of the operands of max and min lets NaN through. Include a
 * vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_VEC_RELU_H
#define ASSAY_KERNEL_NATIVE_VEC_RELU_H

VEC_INLINE vec vec_relu(vec x) { return vec_max(vec_set(0.0f), x); }

VEC_INLINE vec vec_leakyrelu(vec x, vec slope)
{
    return vec_select(vec_less(x, vec_set(0.0f)), vec_mul(x, slope), x);
}

VEC_INLINE vec vec_relu6(vec x) { return vec_min(vec_set(6.0f), vec_max(vec_set(0.0f), x)); }

/* The gate is divided by 6 before the product, which could overflow. 6 * (1 / 6.0f) is 1. */
VEC_INLINE vec vec_hardswish(vec x)
{
    vec gate = vec_relu6(vec_add(x, vec_set(3.0f)));
    return vec_mul(x, vec_mul(gate, vec_set(1 / 6.0f)));
}

#endif
