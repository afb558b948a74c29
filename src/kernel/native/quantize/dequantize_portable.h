/* dequantize_portable.h: dequantize for any CPU, in plain C. Work goes in blocks of a constant
 * size, which compilers turn into vectors. Include vec_portable.h first. */
#ifndef ASSAY_KERNEL_NATIVE_DEQUANTIZE_PORTABLE_H
#define ASSAY_KERNEL_NATIVE_DEQUANTIZE_PORTABLE_H

#include "kernel/native/quantize/quantize_native.h"

enum { BLOCK = 32 };

/* 8-bit floats with `fraction` bits of fraction, and the exponent `bias` below that of f32; codes
 * beyond `most` are NaN or, of e5m2, infinite. With masks, because gcc would branch for a choice.
 */
VEC_INLINE void decode_floats(const uint8_t *bytes, int fraction, uint32_t bias, float step,
                              uint32_t most, float *values)
{
    for (int j = 0; j < BLOCK; j++) {
        uint32_t magnitude = bytes[j] & 0x7fu, sign = (uint32_t)(bytes[j] & 0x80u) << 24;
        uint32_t normal = (magnitude << (23 - fraction)) + (bias << 23);
        uint32_t small = assay_f32_bits((float)(int32_t)magnitude * step);
        uint32_t special = fraction == 3 ? 0x7fc00000u : 0x7f800000u | (magnitude & 3u) << 21;
        uint32_t is_small = -(uint32_t)(magnitude < 1u << fraction);
        uint32_t is_special = -(uint32_t)(magnitude > most);
        uint32_t finite = (small & is_small) | (normal & ~is_small);
        values[j] = assay_f32_from_bits(sign | (special & is_special) | (finite & ~is_special));
    }
}

VEC_INLINE void decode_block(enum quantize_format format, const uint8_t *codes, const float *scales,
                             float *values)
{
    uint8_t bytes[BLOCK];
    if (format == QUANTIZE_U4)
        for (int j = 0; j < BLOCK / 2; j++) {
            bytes[2 * j] = codes[j] & 15;
            bytes[2 * j + 1] = codes[j] >> 4;
        }
    else
        memcpy(bytes, codes, sizeof bytes);
    if (format == QUANTIZE_E4M3)
        decode_floats(bytes, 3, 120, 0x1p-9f, 0x7e, values);
    else if (format == QUANTIZE_E5M2)
        decode_floats(bytes, 2, 112, 0x1p-16f, 0x7b, values);
    else
        for (int j = 0; j < BLOCK; j++)
            values[j] = format == QUANTIZE_S8 ? (float)(int8_t)bytes[j] : (float)(bytes[j] - 8);
    for (int j = 0; j < BLOCK; j++) {
        float value = values[j] * scales[0];
        values[j] = format == QUANTIZE_U4 ? value + scales[1] : value;
    }
}

VEC_INLINE void decode(enum native_kind kind, enum quantize_format format, const uint8_t *codes,
                       struct quantize_runs runs, const float *scales, void *y)
{
    const int shift = format == QUANTIZE_U4; /* of elements to bytes */
    for (int64_t r = 0; r < runs.n; r++) {
        int64_t at = runs.at + r * runs.run, end = at + runs.run;
        float own[2] = {scales[r << shift], scales[(r << shift) + shift]}, values[BLOCK];
        for (; at + BLOCK <= end; at += BLOCK) {
            decode_block(format, codes + (at >> shift), own, values);
            for (int j = 0; j < BLOCK; j++)
                vec_store(kind, y, at + j, values[j]);
        }
        if (at == end)
            continue;
        uint8_t rest[BLOCK] = {0};
        memcpy(rest, codes + (at >> shift), (size_t)((end - at) >> shift));
        decode_block(format, rest, own, values);
        for (int64_t j = 0; j < end - at; j++)
            vec_store(kind, y, at + j, values[j]);
    }
}

#define DECODE(kind, format)                                                                       \
    static void NATIVE_PASTE(decode_##kind, format)(const uint8_t *codes,                          \
                                                    struct quantize_runs runs,                     \
                                                    const float *scales, bool stream, void *y)     \
    {                                                                                              \
        (void)stream;                                                                              \
        decode(NATIVE_##kind, QUANTIZE_##format, codes, runs, scales, y);                          \
    }

#define DECODE_ALL(kind) DECODE(kind, S8) DECODE(kind, E4M3) DECODE(kind, E5M2) DECODE(kind, U4)
#define ENTRIES(kind)                                                                              \
    {                                                                                              \
        decode_##kind##_S8, decode_##kind##_E4M3, decode_##kind##_E5M2, decode_##kind##_U4         \
    }

DECODE_ALL(F32)
DECODE_ALL(F16)
DECODE_ALL(BF16)

static const struct dequantize_body dequantize_body = {
    .decode =
        {[NATIVE_F32] = ENTRIES(F32), [NATIVE_F16] = ENTRIES(F16), [NATIVE_BF16] = ENTRIES(BF16)},
};

QUANTIZE_KERNEL(dequantize, dequantize_body);

#endif
