/* linear_quantise.h: greatest magnitudes, and elements as the values of their codes. Include a
 * vec_*.h and a linear_line_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_QUANTISE_H
#define ASSAY_KERNEL_NATIVE_LINEAR_QUANTISE_H

#include "kernel/native/linear/linear_code.h"

/* The greatest magnitude of n elements; NaN if there is one. */
VEC_INLINE float pack_amax_kind(enum native_kind kind, const void *x, int64_t at, int64_t n)
{
    vec most[4] = {vec_set(0), vec_set(0), vec_set(0), vec_set(0)};
    int64_t i = 0;
    for (; i + 4 * VEC_LANES <= n; i += 4 * VEC_LANES)
        LINEAR_UNROLL for (int j = 0; j < 4; j++) most[j] =
            vec_most(most[j], vec_load(kind, x, at + i + j * VEC_LANES));
    for (; i < n; i += VEC_LANES) {
        int64_t left = n - i < VEC_LANES ? n - i : VEC_LANES;
        most[0] = vec_most(most[0], vec_load_part(kind, x, at + i, left));
    }
    most[0] = vec_most(vec_most(most[0], most[1]), vec_most(most[2], most[3]));
    float lanes[VEC_LANES], greatest = 0;
    vec_store(NATIVE_F32, lanes, 0, most[0]);
    for (int j = 0; j < VEC_LANES; j++)
        if (!(lanes[j] <= greatest)) {
            greatest = lanes[j];
            if (isnan(greatest))
                break;
        }
    return greatest;
}

static inline float pack_amax(enum assay_dtype dtype, const void *x, int64_t at, int64_t n)
{
    enum native_kind kind = linear_kind_of(dtype);
    if (kind == NATIVE_BF16)
        return pack_amax_kind(NATIVE_BF16, x, at, n);
    if (kind == NATIVE_F16)
        return pack_amax_kind(NATIVE_F16, x, at, n);
    return pack_amax_kind(NATIVE_F32, x, at, n);
}

/* a to the nearest multiple of a power of two, ties to even: above 1.5 * 2^23 of its size floats
 * are whole. `magic` is that. */
VEC_INLINE vec pack_nearest(vec a, vec magic) { return vec_sub(vec_add(a, magic), magic); }

/* x / scale as the value of its code. As quant.h has it, NaN has the s8 code 0. An e4m3 has 3 bits
 * after the first, or, below 2^-6, is a multiple of 2^-9; an e5m2 has 2, below 2^-14 it is one of
 * 2^-16. */
VEC_INLINE vec pack_code(enum assay_dtype code, vec x, vec inverse)
{
    if (code == ASSAY_DTYPE_NONE)
        return x;
    bool wide = code == ASSAY_DTYPE_E5M2;
    vec a = vec_mul(x, inverse), limit = vec_set(wide ? 57344.0f : 448.0f);
    if (code == ASSAY_DTYPE_S8) {
        a = vec_min(vec_set(127.0f), vec_max(vec_set(-128.0f), a));
        a = pack_nearest(a, vec_set(0x1.8p23f));
        return vec_select(vec_less(a, limit), a, vec_set(0.0f));
    }
    a = vec_min(limit, vec_max(vec_set(wide ? -57344.0f : -448.0f), a));
    vec least = vec_set(wide ? 0x1p-14f : 0x1p-6f);
    vec magic = vec_mul(vec_max(least, vec_exponent(a)), vec_set(wide ? 0x1.8p21f : 0x1.8p20f));
    return pack_nearest(a, magic);
}

#endif
