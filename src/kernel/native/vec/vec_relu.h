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

/* ---- their gradients, from dy and x; NaN is less than nothing ---------------
 */

/* Nothing lies between 0 and the smallest float. */
VEC_INLINE vec vec_relu_gradient(vec dy, vec x)
{
    return vec_select(vec_less(x, vec_set(0x1p-149f)), vec_set(0.0f), dy);
}

VEC_INLINE vec vec_leakyrelu_gradient(vec dy, vec x, vec slope)
{
    return vec_select(vec_less(vec_set(0.0f), x), dy, vec_mul(dy, slope));
}

/* Nor between 6 and the float before it. */
VEC_INLINE vec vec_relu6_gradient(vec dy, vec x)
{
    dy = vec_select(vec_less(vec_set(0x1.7ffffep2f), x), vec_set(0.0f), dy);
    return vec_relu_gradient(dy, x);
}

/* (2 x + 3) / 6 in the middle: 0 for -1.5, as x / 3 + 1 / 2 is. Beyond the floats next to ±3 it is
 * 0 or 1. */
VEC_INLINE vec vec_hardswish_gradient(vec dy, vec x)
{
    vec slope = vec_mul(vec_fma(x, vec_set(2.0f), vec_set(3.0f)), vec_set(1 / 6.0f));
    vec middle = vec_mul(dy, slope);
    middle = vec_select(vec_less(vec_set(0x1.7ffffep1f), x), dy, middle);
    return vec_select(vec_less(x, vec_set(-0x1.7ffffep1f)), vec_set(0.0f), middle);
}

#endif
