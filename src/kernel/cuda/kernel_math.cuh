// kernel_math.cuh: what the CUDA kernels of the ops on one tensor share: streaming accesses of 16
// bytes, fast elementary functions, gelu, slopes of activations. Include types.cuh first, with ELEMENT defined.
//
// Everything that is not plain C++ stands here, behind small functions.
#ifndef ASSAY_KERNEL_MATH_CUH
#define ASSAY_KERNEL_MATH_CUH

// ---- memory -------------------------------------------------------------------------------------

// 16 bytes that are read once: not kept in L1, so that gamma and beta stay there. Where not
// `wanted`, no access, and every word is `fill`. Predicated and volatile: compilers keep the order
// in which a thread's accesses are written, all its loads before the first is used.
DEVICE uint4 load_once(const void *from, bool wanted, u32 fill)
{
    uint4 v;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %5, 0;\n\t"
                 "mov.b32 %0, %6;\n\tmov.b32 %1, %6;\n\tmov.b32 %2, %6;\n\tmov.b32 %3, %6;\n\t"
                 "@p ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
                 : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
                 : "l"(from), "r"((u32)wanted), "r"(fill));
    return v;
}

// 16 bytes that many blocks read; 0 where not wanted.
DEVICE uint4 load_kept(const void *from, bool wanted)
{
    uint4 v;
    asm("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %5, 0;\n\t"
        "mov.b32 %0, 0;\n\tmov.b32 %1, 0;\n\tmov.b32 %2, 0;\n\tmov.b32 %3, 0;\n\t"
        "@p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
        : "l"(from), "r"((u32)wanted));
    return v;
}

// 16 bytes that nobody reads soon: first to leave L2. Predicated too: a branch would keep what
// belongs to the next store from being done before this one.
DEVICE void store_once(void *to, uint4 v, bool wanted)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %5, 0;\n\t"
                 "@p st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};\n\t}" ::"l"(to),
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"((u32)wanted));
}

// ---- functions ----------------------------------------------------------------------------------

DEVICE float fast_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// 1 / x within an ulp; 0 from 2^126 on.
DEVICE float fast_reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Greater and lesser; NaN if one is.
DEVICE float max_nan(float a, float b)
{
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}

DEVICE float min_nan(float a, float b)
{
    float y;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}

// The greater of each half; a number where one is NaN.
#if ELEMENT == 17
DEVICE u32 pair_max(u32 a, u32 b)
{
    u32 y;
    asm("max.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}
#elif ELEMENT == 16
DEVICE u32 pair_max(u32 a, u32 b)
{
    u32 y;
    asm("max.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}
#endif

// exp(x). To f32 as exact as expf (8 instructions, error 2 ulp). To 16 bits the argument of exp2 is
// rounded once: off by |x| 2^-24, which is at most 6e-6 and less than 1/100 of a bf16's unit; what
// is left of f16 there (x > -17) is off by 1e-6, 1/500 of its unit.
DEVICE float element_exp(float x)
{
#if ELEMENT == 32
    return expf(x);
#else
    return fast_exp2(x * 1.44269504f);
#endif
}

// gelu(x) = x Phi(x) = max(x, 0) - |x| Phi(-|x|), Phi the normal distribution function.
//
// With h = x / 2 and a = |h| the first term is h + a, which, as the op has it, is NaN for
// -infinity. log2 Phi(-2a) is nearly a parabola: the second term is a 2^(a Q(a)), Q of degree 5,
// fitted (Lawson, 30 digits) so that the error of gelu stays below 8.3e-8 for a <= 2.8; from there
// on what is taken away is 6e-8. 11 instructions, one of them exp2, and exact enough for f32 (the
// op allows 9.5e-7): erff has 25. Measured on a CPU with all roundings and an exp2 that is off by
// 2 ulp, in steps of 4e-6: 1.4e-7 for negative x, 1/8 of the tolerance at worst.
DEVICE float gelu(float x)
{
    float h = 0.5f * x, a = fminf(fabsf(h), 2.8f);
    float q = fmaf(1.91510998e-3f, a, -2.36758162e-2f);
    q = fmaf(q, a, 0.127639195f);
    q = fmaf(q, a, -0.425905415f);
    q = fmaf(q, a, -1.83566273f);
    q = fmaf(q, a, -2.30229417f);
    return fmaf(-a, fast_exp2(q * a), h + fabsf(h));
}

// ---- slopes, for gradients ----------------------------------------------------------------------

// NaN stays NaN.
DEVICE float held(float x, float most) { return max_nan(min_nan(x, most), -most); }

// Phi(x) + x phi(x), phi the density: f for x < 0 and 1 - f above, where f = Phi(-|x|) - |x|
// phi(x). With t = |x| / 2, f = (1 - t / 3.125)^8 P(t), P of degree 12, as the CPU's kernels have it
// (vec_math.h): the error of f stays below 1.6e-7. 24 instructions, none of them exp2.
DEVICE float gelu_slope(float x)
{
    float t = min_nan(fabsf(0.5f * x), 3.125f), u = t * t, w = fmaf(t, -1 / 3.125f, 1.0f);
    float even = fmaf(-0.028782587498426437f, u, -1.5307700634002686f);
    float odd = fmaf(0.3284417688846588f, u, 3.625053644180298f);
    even = fmaf(even, u, -4.33607292175293f);
    odd = fmaf(odd, u, 2.3258774280548096f);
    even = fmaf(even, u, -1.4873080253601074f);
    odd = fmaf(odd, u, 2.2870562076568604f);
    even = fmaf(even, u, 0.7851791381835938f);
    odd = fmaf(odd, u, -1.7744159698486328f);
    even = fmaf(even, u, -2.2428739070892334f);
    odd = fmaf(odd, u, -0.31574746966362f);
    even = fmaf(even, u, 0.49999991059303284f);
    w *= w;
    w *= w;
    w *= w;
    float f = w * fmaf(odd, t, even);
    return x < 0.0f ? f : 1.0f - f;
}

// s = sigmoid(u) and s (1 - s), from e = exp(-u): 1 - s is e s, which does not cancel. |u| < 88, so
// that neither e nor s leaves the range of floats.
struct gate {
    float s, slope;
};
DEVICE struct gate gate_of(float u)
{
    float e = element_exp(-u), s = fast_reciprocal(1.0f + e);
    return {s, s * (e * s)};
}

// s + x s (1 - s); beyond ±87 it is 0 or 1.
DEVICE float silu_slope(float x)
{
    x = held(x, 87.0f);
    struct gate gate = gate_of(x);
    return fmaf(x, gate.slope, gate.s);
}

// s + x s (1 - s) 2u', s = sigmoid(2u), u as gelu_tanh has it; 2u is within 87.3 for |x| <= 10,
// where the slope is 0 or 1.
DEVICE float gelu_tanh_slope(float x)
{
    x = held(x, 10.0f);
    float square = x * x, slope = fmaf(square, 3 * 0.0713548163f, 1.59576912f);
    struct gate gate = gate_of(x * fmaf(square, 0.0713548163f, 1.59576912f));
    return fmaf(x * slope, gate.slope, gate.s);
}

#endif
