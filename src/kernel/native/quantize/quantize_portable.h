/* quantize_portable.h: quantize for any CPU, in plain C. Work goes in blocks of a constant size,
 * which compilers turn into vectors. Include vec_portable.h first. */
#ifndef ASSAY_KERNEL_NATIVE_QUANTIZE_PORTABLE_H
#define ASSAY_KERNEL_NATIVE_QUANTIZE_PORTABLE_H

#include "kernel/native/quantize/quantize_native.h"

enum { BLOCK = 32 };

/* ---- bounds: integers, because the bits of floats are ordered as the floats are ---------------
 */

/* BLOCK elements as integers of 32 bits with their sign; of the last ones, of which there are only
 * n, the first is repeated. */
VEC_INLINE void load_bits(bool half, const char *p, int64_t n, int32_t *bits)
{
    int16_t shorts[BLOCK];
    size_t size = half ? sizeof shorts[0] : sizeof bits[0];
    if (n >= BLOCK)
        memcpy(half ? (void *)shorts : bits, p, BLOCK * size);
    else
        for (int64_t j = 0; j < BLOCK; j++)
            memcpy(half ? (void *)&shorts[j] : &bits[j], p + (j < n ? j : 0) * (int64_t)size, size);
    for (int j = 0; j < BLOCK && half; j++)
        bits[j] = shorts[j];
}

/* Lanes of their own, because a single greatest one would be one long chain. */
VEC_INLINE void measure_run(bool half, bool ranged, const char *p, int64_t n, int32_t *low,
                            int32_t *high)
{
    int32_t others = half ? 0x7fff : 0x7fffffff, least[BLOCK], most[BLOCK], bits[BLOCK];
    for (int j = 0; j < BLOCK; j++) {
        least[j] = INT32_MAX;
        most[j] = INT32_MIN;
    }
    for (int64_t i = 0; i < n; i += BLOCK) {
        load_bits(half, p + i * (half ? 2 : 4), n - i, bits);
        for (int j = 0; j < BLOCK; j++) {
            int32_t key = ranged ? bits[j] ^ ((bits[j] >> 31) & others) : bits[j] & others;
            most[j] = key > most[j] ? key : most[j];
            least[j] = key < least[j] ? key : least[j];
        }
    }
    for (int j = 1; j < BLOCK; j++) {
        most[0] = most[j] > most[0] ? most[j] : most[0];
        least[0] = least[j] < least[0] ? least[j] : least[0];
    }
    *high = most[0];
    if (ranged)
        *low = least[0];
}

VEC_INLINE void measure(bool half, bool ranged, const void *x, struct quantize_runs runs,
                        int32_t *low, int32_t *high)
{
    int64_t size = half ? 2 : 4;
    const char *p = (const char *)x + runs.at * size;
    for (int64_t r = 0; r < runs.n; r++, p += runs.run * size)
        measure_run(half, ranged, p, runs.run, low + r, high + r);
}

/* ---- codes ----------------------------------------------------------------------------------- */

VEC_INLINE void load_block(enum native_kind kind, const void *x, int64_t at, float *values)
{
    for (int j = 0; j < BLOCK; j++)
        values[j] = vec_load(kind, x, at + j);
}

/* Several short loops: of two choices in one, gcc would make branches. */
VEC_INLINE void encode_integers(float *values, float least, float most, uint32_t *lanes)
{
    for (int j = 0; j < BLOCK; j++)
        values[j] = values[j] < least ? least : values[j];
    for (int j = 0; j < BLOCK; j++)
        values[j] = values[j] > most ? most : values[j];
    for (int j = 0; j < BLOCK; j++) /* the integer in the low bits, see assay_quantize_nearest */
        lanes[j] = assay_f32_bits(values[j] + 0x1.8p23f);
}

/* As codes_float of quantize_vec_avx512.h. */
VEC_INLINE void encode_floats(const float *values, int drop, uint32_t bias, float least,
                              float magic, uint32_t *lanes)
{
    uint32_t least_bits = assay_f32_bits(least), magic_bits = assay_f32_bits(magic);
    for (int j = 0; j < BLOCK; j++) {
        uint32_t bits = assay_f32_bits(values[j]), magnitude = bits & 0x7fffffffu;
        uint32_t rounded = magnitude + ((1u << (drop - 1)) - 1) + ((magnitude >> drop) & 1u);
        uint32_t normal = (rounded - (bias << 23)) >> drop;
        uint32_t small = assay_f32_bits(assay_f32_from_bits(magnitude) + magic) - magic_bits;
        uint32_t is_small =
            -(uint32_t)(magnitude < least_bits); /* all bits; a choice would branch */
        lanes[j] = (small & is_small) | (normal & ~is_small) | ((bits >> 24) & 0x80u);
    }
}

VEC_INLINE void encode_block(enum quantize_format format, float *values, float scale, float inverse,
                             float low, uint8_t *codes)
{
    uint32_t lanes[BLOCK];
    for (int j = 0; j < BLOCK; j++)
        values[j] = format == QUANTIZE_U4 ? (values[j] - low) / scale : values[j] * inverse;
    if (format == QUANTIZE_U4)
        encode_integers(values, 0, 15, lanes);
    else if (format == QUANTIZE_S8)
        encode_integers(values, -128, 127, lanes);
    else if (format == QUANTIZE_E4M3)
        encode_floats(values, 20, 120, 0x1p-6f, 0x1p14f, lanes);
    else
        encode_floats(values, 21, 112, 0x1p-14f, 0x1p7f, lanes);
    if (format == QUANTIZE_U4)
        for (int j = 0; j < BLOCK / 2; j++)
            codes[j] = (uint8_t)((lanes[2 * j] & 15) | (lanes[2 * j + 1] & 15) << 4);
    else
        for (int j = 0; j < BLOCK; j++)
            codes[j] = (uint8_t)lanes[j];
}

VEC_INLINE void encode(enum native_kind kind, enum quantize_format format, const void *x,
                       struct quantize_runs runs, struct quantize_factors factors, uint8_t *to)
{
    const int shift = format == QUANTIZE_U4; /* of elements to bytes */
    for (int64_t r = 0; r < runs.n; r++) {
        int64_t at = runs.at + r * runs.run, i = 0;
        uint8_t *own = to + (r * runs.run >> shift);
        float scale = factors.scale[r], inverse = factors.inverse[r], low = factors.low[r];
        float values[BLOCK];
        for (; i + BLOCK <= runs.run; i += BLOCK) {
            load_block(kind, x, at + i, values);
            encode_block(format, values, scale, inverse, low, own + (i >> shift));
        }
        if (i == runs.run)
            continue;
        uint8_t rest[BLOCK];
        for (int j = 0; j < BLOCK; j++)
            values[j] = i + j < runs.run ? vec_load(kind, x, at + i + j) : 0;
        encode_block(format, values, scale, inverse, low, rest);
        memcpy(own + (i >> shift), rest, (size_t)((runs.run - i) >> shift));
    }
}

#define MEASURE(name, half, ranged)                                                                \
    static void name(const void *x, struct quantize_runs runs, int32_t *low, int32_t *high)        \
    {                                                                                              \
        measure(half, ranged, x, runs, low, high);                                                 \
    }

#define ENCODE(kind, format)                                                                       \
    static void NATIVE_PASTE(encode_##kind, format)(const void *x, struct quantize_runs runs,      \
                                                    struct quantize_factors factors,               \
                                                    int64_t ahead, uint8_t *codes)                 \
    {                                                                                              \
        (void)ahead;                                                                               \
        encode(NATIVE_##kind, QUANTIZE_##format, x, runs, factors, codes);                         \
    }

#define ENCODE_ALL(kind) ENCODE(kind, S8) ENCODE(kind, E4M3) ENCODE(kind, E5M2) ENCODE(kind, U4)
#define ENTRIES(kind)                                                                              \
    {                                                                                              \
        encode_##kind##_S8, encode_##kind##_E4M3, encode_##kind##_E5M2, encode_##kind##_U4         \
    }

MEASURE(amax_32, false, false)
MEASURE(amax_16, true, false)
MEASURE(range_32, false, true)
MEASURE(range_16, true, true)
ENCODE_ALL(F32)
ENCODE_ALL(F16)
ENCODE_ALL(BF16)

static const struct quantize_body quantize_body = {
    .measure = {[NATIVE_F32] = {amax_32, range_32},
                [NATIVE_F16] = {amax_16, range_16},
                [NATIVE_BF16] = {amax_16, range_16}},
    .encode =
        {[NATIVE_F32] = ENTRIES(F32), [NATIVE_F16] = ENTRIES(F16), [NATIVE_BF16] = ENTRIES(BF16)},
};

QUANTIZE_KERNEL(quantize, quantize_body);

#endif
