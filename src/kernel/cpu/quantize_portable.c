/* quantize_portable.c: quantize for any CPU, in plain C. Work goes in blocks of a constant size,
 * which compilers turn into vectors. */
#include "kernel/cpu/vec_scalar.h"

#include "kernel/cpu/quantize_native.h"

enum { BLOCK = 32 };

/* ---- bounds: integers, because the bits of floats are ordered as the floats are --------------- */

VEC_INLINE void measure(bool half, bool ranged, const void *x, struct quantize_runs runs,
                        int32_t *low, int32_t *high)
{
    const int16_t *shorts = x;
    const int32_t *longs = x;
    int32_t others = half ? 0x7fff : 0x7fffffff;
    for (int64_t r = 0; r < runs.n; r++) {
        int64_t at = runs.at + r * runs.run, end = at + runs.run;
        int32_t least[BLOCK], most[BLOCK];
        for (int j = 0; j < BLOCK; j++) {
            least[j] = INT32_MAX;
            most[j] = INT32_MIN;
        }
        for (; at < end; at += BLOCK) {
            int n = end - at < BLOCK ? (int)(end - at) : BLOCK;
            int32_t keys[BLOCK];
            if (n < BLOCK) /* what is missing repeats the first */
                for (int j = 0; j < BLOCK; j++)
                    keys[j] = half ? shorts[at + (j < n ? j : 0)] : longs[at + (j < n ? j : 0)];
            else
                for (int j = 0; j < BLOCK; j++)
                    keys[j] = half ? shorts[at + j] : longs[at + j];
            for (int j = 0; j < BLOCK; j++) {
                int32_t key = ranged ? keys[j] ^ ((keys[j] >> 31) & others) : keys[j] & others;
                most[j] = key > most[j] ? key : most[j];
                least[j] = key < least[j] ? key : least[j];
            }
        }
        for (int j = 1; j < BLOCK; j++) {
            most[0] = most[j] > most[0] ? most[j] : most[0];
            least[0] = least[j] < least[0] ? least[j] : least[0];
        }
        high[r] = most[0];
        if (ranged)
            low[r] = least[0];
    }
}

/* ---- codes ----------------------------------------------------------------------------------- */

VEC_INLINE void load_block(enum native_kind kind, const void *x, int64_t at, float *values)
{
    for (int j = 0; j < BLOCK; j++)
        values[j] = vec_load(kind, x, at + j);
}

/* Clamped below by a and above by b; the integer comes in the low bits (assay_quantize_nearest). */
VEC_INLINE int32_t nearest(float value, float a, float b)
{
    value = value < a ? a : value;
    value = value > b ? b : value;
    return (int32_t)assay_f32_bits(value + 0x1.8p23f);
}

VEC_INLINE void encode_block(enum quantize_format format, const float *values,
                             float scale, float inverse, float low, uint8_t *codes)
{
    int32_t lanes[BLOCK];
    for (int j = 0; j < BLOCK; j++) {
        float v = values[j];
        lanes[j] = format == QUANTIZE_U4     ? nearest((v - low) / scale, 0, 15)
                   : format == QUANTIZE_S8   ? nearest(v * inverse, -128, 127)
                   : format == QUANTIZE_E4M3 ? assay_e4m3_from_f32(v * inverse)
                                             : assay_e5m2_from_f32(v * inverse);
    }
    if (format == QUANTIZE_U4)
        for (int j = 0; j < BLOCK / 2; j++)
            codes[j] = (uint8_t)((lanes[2 * j] & 15) | (lanes[2 * j + 1] & 15) << 4);
    else
        for (int j = 0; j < BLOCK; j++)
            codes[j] = (uint8_t)lanes[j];
}

VEC_INLINE void encode(enum native_kind kind, enum quantize_format format, const void *x,
                       struct quantize_runs runs, struct quantize_factors factors,
                       uint8_t *to)
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
    static void NATIVE_PASTE(encode_##kind, format)(                                               \
        const void *x, struct quantize_runs runs, struct quantize_factors factors,          \
        int64_t ahead, uint8_t *codes)                                                             \
    {                                                                                              \
        (void)ahead;                                                                               \
        encode(NATIVE_##kind, QUANTIZE_##format, x, runs, factors, codes);                         \
    }

#define ENCODE_ALL(kind)                                                                           \
    ENCODE(kind, S8) ENCODE(kind, E4M3) ENCODE(kind, E5M2) ENCODE(kind, U4)
#define ENTRIES(kind) {encode_##kind##_S8, encode_##kind##_E4M3, encode_##kind##_E5M2,             \
                       encode_##kind##_U4}

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
    .encode = {[NATIVE_F32] = ENTRIES(F32), [NATIVE_F16] = ENTRIES(F16),
               [NATIVE_BF16] = ENTRIES(BF16)},
};

QUANTIZE_KERNEL(quantize, quantize_body);
