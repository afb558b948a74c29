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
    size_t bytes;               /* of one element, rounded up: 1 for u4 */
    int32_t bits;               /* of one element: 4 for u4, which lies two to a byte */
    bool is_float;
    double unit; /* the unit roundoff, half an ulp of 1; 0 for integers */
    double max;  /* the largest finite value */
    double tiny; /* results this close to 0 may be off by it: a subnormal's step, or flushed to 0 */
    const char *summary;
};

/* NULL for an unknown dtype. */
const struct assay_dtype_info *assay_dtype_info(enum assay_dtype dtype);
const char *assay_dtype_name(enum assay_dtype dtype);
size_t assay_dtype_bytes(enum assay_dtype dtype);

/* Reads a name or alias; the error names the nearest known one. */
enum assay_status assay_dtype_parse(const char *name, enum assay_dtype *out,
                                    struct assay_error *err);

/* Converts n elements, of which the first is number `first` of the array. Storing rounds to nearest
 * even. Beyond the ends of the range f64 to f16 and bf16 become infinite; integers and the 8-bit
 * floats stop at the end. A u4 at either edge of the range shares its byte with a neighbour that
 * stays as it is; threads that store side by side start at even elements. */
void assay_dtype_load(enum assay_dtype dtype, const void *src, int64_t first, int64_t n,
                      double *dst);
void assay_dtype_store(enum assay_dtype dtype, const double *src, void *dst, int64_t first,
                       int64_t n);

/* The scalar conversions, bit exact, here because portable kernels use them too. Where both sides
 * of a choice are cheap both are computed: loops over them then vectorise. */
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
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    uint32_t normal = (magnitude << 13) + (112u << 23);
    uint32_t subnormal = assay_f32_bits((float)(int32_t)magnitude * 0x1p-24f); /* exact in f32 */
    uint32_t special = 0x7f800000u | magnitude << 13 | (magnitude > 0x7c00u ? 0x400000u : 0);
    uint32_t bits = magnitude < 0x400u ? subnormal : magnitude < 0x7c00u ? normal : special;
    return assay_f32_from_bits(sign | bits);
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

/* The 8-bit floats of the OCP specification. e4m3: bias 7, no infinities, NaN is S.1111.111, the
 * largest is 448. e5m2: bias 15, infinities and NaN as in IEEE, the largest is 57344. From f32 both
 * saturate: what is beyond the largest, infinities too, becomes the largest. NaN stays NaN. */
static inline float assay_e4m3_to_f32(uint8_t code)
{
    uint32_t sign = (uint32_t)(code & 0x80u) << 24, magnitude = code & 0x7fu;
    uint32_t normal = (magnitude << 20) + (120u << 23);
    uint32_t subnormal = assay_f32_bits((float)(int32_t)magnitude * 0x1p-9f);
    uint32_t bits = magnitude < 0x08u ? subnormal : magnitude < 0x7fu ? normal : 0x7fc00000u;
    return assay_f32_from_bits(sign | bits);
}

static inline uint8_t assay_e4m3_from_f32(float value)
{
    uint32_t bits = assay_f32_bits(value), sign = (bits >> 24) & 0x80u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t rounded = magnitude + 0x7ffffu + ((magnitude >> 20) & 1u);
    uint32_t normal = (rounded - (120u << 23)) >> 20;
    /* Below 2^-6 the f32 adder rounds to multiples of 2^-9, which is the ulp of 2^14. */
    uint32_t subnormal = assay_f32_bits(assay_f32_from_bits(magnitude) + 0x1p14f) - 0x46800000u;
    uint32_t code = magnitude < 0x3c800000u ? subnormal : normal;
    code = magnitude >= 0x43e00000u ? 0x7eu : code; /* 448 */
    code = magnitude > 0x7f800000u ? 0x7fu : code;
    return (uint8_t)(sign | code);
}

static inline float assay_e5m2_to_f32(uint8_t code)
{
    return assay_f16_to_f32((uint16_t)(code << 8)); /* the upper half of an f16 */
}

static inline uint8_t assay_e5m2_from_f32(float value)
{
    uint32_t bits = assay_f32_bits(value), sign = (bits >> 24) & 0x80u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t rounded = magnitude + 0xfffffu + ((magnitude >> 21) & 1u);
    uint32_t normal = (rounded - (112u << 23)) >> 21;
    /* Below 2^-14 the f32 adder rounds to multiples of 2^-16, which is the ulp of 2^7. */
    uint32_t subnormal = assay_f32_bits(assay_f32_from_bits(magnitude) + 0x1p7f) - 0x43000000u;
    uint32_t code = magnitude < 0x38800000u ? subnormal : normal;
    code = magnitude >= 0x47600000u ? 0x7bu : code; /* 57344 */
    code = magnitude > 0x7f800000u ? 0x7eu : code;
    return (uint8_t)(sign | code);
}

#endif
