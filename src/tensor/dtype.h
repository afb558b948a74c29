/* dtype.h: the table of element types and their exact conversions to and from double. */
#ifndef ASSAY_TENSOR_DTYPE_H
#define ASSAY_TENSOR_DTYPE_H

#include "base/error.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

struct assay_dtype_info {
    enum assay_dtype dtype;
    const char *name;           /* "bf16": what assay prints */
    const char *const *aliases; /* NULL-terminated; any case, each also with the prefix "torch." */
    size_t bytes;
    bool is_float;
    double unit; /* the unit roundoff, half an ulp of 1; 0 for integers */
    double max;  /* the largest finite value */
    double tiny; /* answers this close to 0 may be off by it: a subnormal's step, or flushed to 0 */
    const char *summary;
};

/* NULL for an unknown dtype. */
const struct assay_dtype_info *assay_dtype_info(enum assay_dtype dtype);
const char *assay_dtype_name(enum assay_dtype dtype);
size_t assay_dtype_bytes(enum assay_dtype dtype);

/* Reads a name or alias; the error names the nearest known one. */
enum assay_status assay_dtype_parse(const char *name, enum assay_dtype *out,
                                    struct assay_error *err);

/* Converts n elements. Storing rounds to nearest even; floats overflow to infinity. */
void assay_dtype_load(enum assay_dtype dtype, const void *src, int64_t first, int64_t n,
                      double *dst);
void assay_dtype_store(enum assay_dtype dtype, const double *src, void *dst, int64_t first,
                       int64_t n);

/* The scalar conversions, bit exact, here because portable kernels use them too. */
static inline uint32_t assay_f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float assay_f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float assay_bf16_to_f32(uint16_t bits)
{
    return assay_f32_from_bits((uint32_t)bits << 16);
}

static inline uint16_t assay_bf16_from_f32(float value)
{
    uint32_t bits = assay_f32_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) /* NaN: keep it one, quiet */
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static inline float assay_f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1fu, fraction = half & 0x3ffu;
    if (exponent == 0x1f)
        return assay_f32_from_bits(sign | 0x7f800000u | (fraction << 13) |
                                   (fraction ? 0x400000u : 0));
    if (exponent == 0) /* subnormal: fraction * 2^-24, exact in f32 */
        return assay_f32_from_bits(assay_f32_bits((float)fraction * 0x1p-24f) | sign);
    return assay_f32_from_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
}

static inline uint16_t assay_f16_from_f32(float value)
{
    uint32_t bits = assay_f32_bits(value);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
    if (magnitude >= 0x477ff000u) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { /* below 2^-14: the f32 adder rounds to multiples of 2^-24 */
        float sum = assay_f32_from_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (assay_f32_bits(sum) - 0x3f000000u));
    }
    uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return (uint16_t)(sign | ((rounded - (112u << 23)) >> 13));
}

#endif
