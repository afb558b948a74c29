/* vec_math.h: exp, gelu, sigmoid, silu and slopes of them over any vector type.
 *
 * The polynomials are minimax fits (Remez, 40 digits), their coefficients then rounded to float.
 * Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_VEC_MATH_H
#define ASSAY_KERNEL_NATIVE_VEC_MATH_H

/* exp(sign * x) for sign = 1 or -1, a constant, and sign * x from -105 to 89.
 *
 * sign * x = n ln 2 + sign * r, |r| <= ln 2 / 2. n comes from adding and taking away 1.5 * 2^23,
 * which leaves no bits for a fraction; vec_minus_ln2 gives r. exp on that interval is 1 + r + r^2
 * P(r), P of degree 3 with a relative error of 1.05e-7; measured with all roundings, 1.9 ulp for
 * |x| < 20 and, with the one-step vec_minus_ln2 of the CPUs that have fma, 5 ulp towards the ends.
 * At -105 the result is 0 and at 89 infinity, so that x can be held to this range; the order of the
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

/* gelu(x) = x Phi(x), Phi the normal distribution function (1 + erf(x / sqrt 2)) / 2.
 *
 * That is max(x, 0) - |x| Phi(-|x|). With h = x / 2 and t = |h| the first term is h + t, which, as
 * the op has it, is NaN for -infinity; and the second is t (1 - t / 3.125)^8 P(t), P of degree 11.
 * The eighth power has roughly the tail's shape, which saves P four degrees, and vanishes from
 * 3.125 on (the eighth power of 2e-8 is not a float): nothing is subtracted there. P(0) = 1, so
 * that small x give x / 2. P is fitted so that max(|x|, 1) times the error of Phi stays below
 * 1.1e-7; with the roundings gelu is within 2e-7 for negative x and within 6.3e-7 of the result for
 * positive x (measured in steps of 1e-5).
 *
 * Even and odd powers of P are summed apart: two short chains instead of a long one, because the
 * CPU's queue of waiting instructions holds only a few vectors' worth of a long one. */
VEC_INLINE vec vec_gelu(vec x)
{
    static const float c[12] = {1.0f,          0.964205027f,   -0.397846788f,
                                -0.897466779f, -0.0313339978f, 0.241239697f,
                                0.449843556f,  -0.396050066f,  -0.00295552379f,
                                0.0978063643f, -0.0364395157f, 0.00427113287f};
    vec h = vec_mul(x, vec_set(0.5f)), t = vec_abs(h), positive = vec_add(h, t);
    t = vec_min(vec_set(3.125f), t);
    vec w = vec_fnma(t, vec_set(1 / 3.125f), vec_set(1.0f)), u = vec_mul(t, t);
    vec odd = vec_set(c[11]), even = vec_set(c[10]);
    for (int i = 9; i >= 1; i -= 2) {
        odd = vec_fma(odd, u, vec_set(c[i]));
        even = vec_fma(even, u, vec_set(c[i - 1]));
    }
    w = vec_mul(w, w);
    w = vec_mul(w, w);
    w = vec_mul(w, w);
    return vec_fnma(t, vec_mul(w, vec_fma(odd, t, even)), positive);
}

VEC_INLINE vec vec_sigmoid(vec x)
{
    return vec_div(vec_set(1.0f), vec_add(vec_set(1.0f), vec_exp_minus(x)));
}

VEC_INLINE vec vec_silu(vec x) { return vec_div(x, vec_add(vec_set(1.0f), vec_exp_minus(x))); }

/* ---- slopes, for gradients. NaN stays NaN. --------------------------------------------------- */

/* x held to ±most. */
VEC_INLINE vec vec_held(vec x, float most)
{
    return vec_min(vec_set(most), vec_max(vec_set(-most), x));
}

/* s = sigmoid(u) and s (1 - s), from e = exp(-u): 1 - s is e s, which does not cancel. |u| < 88, so
 * that neither e nor s leaves the range of floats. */
struct vec_gate {
    vec s, slope;
};
VEC_INLINE struct vec_gate vec_gate(vec u)
{
    vec e = vec_exp_minus(u), s = vec_div(vec_set(1.0f), vec_add(vec_set(1.0f), e));
    return (struct vec_gate){s, vec_mul(s, vec_mul(e, s))};
}

/* s + x s (1 - s); beyond ±87 it is 0 or 1. */
VEC_INLINE vec vec_silu_slope(vec x)
{
    x = vec_held(x, 87.0f);
    struct vec_gate gate = vec_gate(x);
    return vec_fma(x, gate.slope, gate.s);
}

/* s + x s (1 - s) 2u', s = sigmoid(2u); 2u is within 87.3 for |x| <= 10, where it is 0 or 1. */
VEC_INLINE vec vec_gelu_tanh_slope(vec x)
{
    x = vec_held(x, 10.0f);
    vec square = vec_mul(x, x);
    vec u = vec_mul(x, vec_fma(square, vec_set(0.0713548163f), vec_set(1.59576912f)));
    vec slope = vec_fma(square, vec_set(3 * 0.0713548163f), vec_set(1.59576912f));
    struct vec_gate gate = vec_gate(u);
    return vec_fma(vec_mul(x, slope), gate.slope, gate.s);
}

/* Phi(x) + x phi(x), the normal distribution and its density: f for x < 0 and 1 - f above, where
 * f = Phi(-|x|) - |x| phi(x). With t = |x| / 2, f = (1 - t / 3.125)^8 P(t), as vec_gelu has it; P
 * of degree 12, fitted so that the error of f stays below 1.6e-7. */
VEC_INLINE vec vec_gelu_slope(vec x)
{
    static const float c[13] = {0.49999991059303284f,  -0.31574746966362f,   -2.2428739070892334f,
                                -1.7744159698486328f,  0.7851791381835938f,  2.2870562076568604f,
                                -1.4873080253601074f,  2.3258774280548096f,  -4.33607292175293f,
                                3.625053644180298f,    -1.5307700634002686f, 0.3284417688846588f,
                                -0.028782587498426437f};
    vec t = vec_min(vec_set(3.125f), vec_abs(vec_mul(x, vec_set(0.5f))));
    vec w = vec_fnma(t, vec_set(1 / 3.125f), vec_set(1.0f)), u = vec_mul(t, t);
    vec even = vec_set(c[12]), odd = vec_set(c[11]);
    for (int i = 10; i >= 2; i -= 2) {
        even = vec_fma(even, u, vec_set(c[i]));
        odd = vec_fma(odd, u, vec_set(c[i - 1]));
    }
    even = vec_fma(even, u, vec_set(c[0]));
    w = vec_mul(w, w);
    w = vec_mul(w, w);
    w = vec_mul(w, w);
    vec f = vec_mul(w, vec_fma(odd, t, even));
    return vec_select(vec_less(x, vec_set(0.0f)), f, vec_sub(vec_set(1.0f), f));
}

#endif
