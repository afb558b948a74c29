/* vec_math.h: exp, the normal distribution function, and the element-wise ops, over any vector
 * type.
 *
 * The polynomials are minimax fits (Remez, 40 digits), their coefficients then rounded to float.
 * Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_CPU_VEC_MATH_H
#define ASSAY_KERNEL_CPU_VEC_MATH_H

/* exp(sign * x) for sign = 1 or -1, a constant, and sign * x from -105 to 89.
 *
 * sign * x = n ln 2 + sign * r, |r| <= ln 2 / 2. n comes from adding and taking away 1.5 * 2^23,
 * which leaves no bits for a fraction; vec_minus_ln2 gives r. exp on that interval is 1 + r + r^2
 * P(r), P of degree 3 with a relative error of 1.05e-7, so with the roundings within 2 ulp (4 at
 * the ends of the range, where n is large).
 * At -105 the answer is 0 and at 89 infinity, so that x can be held to this range; the order of the
 * operands of max and min below lets NaN through. */
VEC_INLINE vec vec_exp_core(vec x, float sign)
{
    vec shift = vec_set(0x1.8p23f);
    vec n = vec_sub(vec_fma(x, vec_set(sign * 0x1.715476p0f), shift), shift);
    vec r = vec_minus_ln2(x, n, sign);
    vec p = vec_fma(vec_set(sign * 0.0083124768f), r, vec_set(0.0418903269f));
    p = vec_fma(p, r, vec_set(sign * 0.166671157f));
    p = vec_fma(p, r, vec_set(0.499992311f));
    p = vec_fma(p, r, vec_set(sign));
    p = vec_fma(p, r, vec_set(1.0f));
    return vec_ldexp(p, n);
}

/* exp(-x) */
VEC_INLINE vec vec_exp_minus(vec x)
{
    return vec_exp_core(vec_min(vec_set(105.0f), vec_max(vec_set(-89.0f), x)), -1);
}

/* exp(x) for x <= 0 or NaN */
VEC_INLINE vec vec_exp_nonpositive(vec x) { return vec_exp_core(vec_max(vec_set(-105.0f), x), 1); }

/* The normal distribution function Phi(x) = (1 + erf(x / sqrt 2)) / 2.
 *
 * Phi(x) = 1/2 + x P(x^2) up to |x| = 5.5; beyond, x Phi(x) is x or 0 to within 1.1e-7. P has
 * degree 14 in t = x^2 / 15.125 - 1, which runs from -1 to 1 so that nothing large cancels. It is
 * fitted so that x^2 times its error, the error of x Phi(x), stays below 1.04e-7. Below -5.5 the
 * answer is exactly 0, or large negative x would not give 0. */
VEC_INLINE vec vec_normal_cdf(vec x)
{
    static const float c[15] = {0.128551945f,   -0.0641723871f,  0.047736682f,   -0.0387902856f,
                                0.0320883729f,  -0.0260836482f,  0.0202368442f,  -0.0147869056f,
                                0.0106496653f,  -0.00745326607f, 0.00391651224f, -0.00143017515f,
                                0.00129784795f, -0.00129964994f, 0.000447545841f};
    vec held = vec_min(vec_set(5.5f), vec_max(vec_set(-5.5f), x));
    vec t = vec_fma(vec_mul(held, held), vec_set(1 / 15.125f), vec_set(-1.0f));
    /* Even and odd powers apart: two chains of half the length, because the CPU's queue of waiting
     * instructions holds only a few vectors' worth of one long chain. */
    vec u = vec_mul(t, t), p = vec_set(c[14]), q = vec_set(c[13]);
    for (int i = 12; i >= 2; i -= 2) {
        p = vec_fma(p, u, vec_set(c[i]));
        q = vec_fma(q, u, vec_set(c[i - 1]));
    }
    p = vec_fma(p, u, vec_set(c[0]));
    p = vec_fma(q, t, p);
    p = vec_fma(held, p, vec_set(0.5f));
    return vec_select(vec_less(x, vec_set(-5.5f)), vec_set(0.0f), p);
}

/* The element-wise ops. y is the second operand where there is one, param the op's constant. */

VEC_INLINE vec elt_gelu(vec x, vec y, vec param)
{
    (void)y, (void)param;
    return vec_mul(x, vec_normal_cdf(x));
}

/* x sigmoid(2u) = x / (1 + exp(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3). */
VEC_INLINE vec elt_gelu_tanh(vec x, vec y, vec param)
{
    (void)y, (void)param;
    vec w = vec_fma(vec_mul(x, x), vec_set(0.0713548163f), vec_set(1.59576912f));
    return vec_div(x, vec_add(vec_set(1.0f), vec_exp_minus(vec_mul(x, w))));
}

VEC_INLINE vec elt_silu(vec x, vec y, vec param)
{
    (void)y, (void)param;
    return vec_div(x, vec_add(vec_set(1.0f), vec_exp_minus(x)));
}

VEC_INLINE vec elt_sigmoid(vec x, vec y, vec param)
{
    (void)y, (void)param;
    return vec_div(vec_set(1.0f), vec_add(vec_set(1.0f), vec_exp_minus(x)));
}

VEC_INLINE vec elt_relu(vec x, vec y, vec param)
{
    (void)y, (void)param;
    return vec_max(vec_set(0.0f), x);
}

VEC_INLINE vec elt_leakyrelu(vec x, vec y, vec param)
{
    (void)y;
    return vec_select(vec_less(x, vec_set(0.0f)), vec_mul(x, param), x);
}

VEC_INLINE vec elt_relu6(vec x, vec y, vec param)
{
    (void)y, (void)param;
    return vec_min(vec_set(6.0f), vec_max(vec_set(0.0f), x));
}

/* The gate is divided by 6 before the product, which could overflow. 6 * (1 / 6.0f) is 1. */
VEC_INLINE vec elt_hardswish(vec x, vec y, vec param)
{
    (void)y, (void)param;
    vec gate = vec_add(x, vec_set(3.0f));
    gate = vec_min(vec_set(6.0f), vec_max(vec_set(0.0f), gate));
    return vec_mul(x, vec_mul(gate, vec_set(1 / 6.0f)));
}

VEC_INLINE vec elt_add(vec x, vec y, vec param)
{
    (void)param;
    return vec_add(x, y);
}

#endif
