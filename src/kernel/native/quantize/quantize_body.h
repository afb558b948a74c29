/* quantize_body.h: the body of quantize over vectors. Include a quantize_vec_*.h first.
 * quantize_native.h says what the functions do. */
#ifndef ASSAY_KERNEL_NATIVE_QUANTIZE_BODY_H
#define ASSAY_KERNEL_NATIVE_QUANTIZE_BODY_H

#include "kernel/native/quantize/quantize_native.h"

/* ---- bounds: integers, because the bits of floats are ordered as the floats are ---------------
 */

/* The key (or magnitude) of one element. */
VEC_INLINE int32_t measure_one(bool half, bool ranged, const void *p)
{
    int32_t bits, others = half ? 0x7fff : 0x7fffffff;
    int16_t short_bits;
    memcpy(&short_bits, p, sizeof short_bits);
    if (half)
        bits = short_bits;
    else
        memcpy(&bits, p, sizeof bits);
    return ranged ? bits ^ ((bits >> 31) & others) : bits & others;
}

VEC_INLINE void measure_vec(bool half, bool ranged, const char *p, ivec *least, ivec *most)
{
    ivec a = ivec_load(p);
    a = ranged ? ivec_key(half, a) : ivec_magnitude(half, a);
    *most = ivec_max(half, *most, a);
    if (ranged)
        *least = ivec_min(half, *least, a);
}

/* n elements from p on. */
VEC_INLINE void measure_run(bool half, bool ranged, const char *p, int64_t n, int32_t *low,
                            int32_t *high)
{
    enum { CHAINS = 4, STEP = CHAINS * IVEC_BYTES };
    int64_t bytes = n * (half ? 2 : 4), i = 0;
    int32_t none = half ? 0x7fff7fff : 0x7fffffff;
    ivec least = ivec_set(none), most = ivec_set(ranged ? ~none : 0);
    if (bytes >= STEP) {
        ivec l[CHAINS] = {least, least, least, least}, m[CHAINS] = {most, most, most, most};
        for (; i + STEP <= bytes; i += STEP)
            for (int c = 0; c < CHAINS; c++)
                measure_vec(half, ranged, p + i + c * IVEC_BYTES, &l[c], &m[c]);
        most = ivec_max(half, ivec_max(half, m[0], m[1]), ivec_max(half, m[2], m[3]));
        least = ivec_min(half, ivec_min(half, l[0], l[1]), ivec_min(half, l[2], l[3]));
    }
    for (; i + IVEC_BYTES <= bytes; i += IVEC_BYTES)
        measure_vec(half, ranged, p + i, &least, &most);
    int32_t greatest, smallest = 0;
    if (ranged)
        ivec_bounds(half, most, least, &greatest, &smallest);
    else
        greatest = ivec_greatest(half, most);
    for (; i < bytes; i += half ? 2 : 4) {
        int32_t one = measure_one(half, ranged, p + i);
        greatest = one > greatest ? one : greatest;
        smallest = one < smallest ? one : smallest;
    }
    *high = greatest;
    if (ranged)
        *low = smallest;
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

/* What a run's codes are made with. */
struct encode_run {
    vec scale, inverse, low;
};

/* a / scale, to the bit, without the slow division (Markstein 1990): inverse is 1 / scale rounded
 * to nearest. The first two steps leave an error of half an ulp and a little; from such a value,
 * the last two give the quotient rounded to nearest. Nothing here is near the ends of the range:
 * the scale of u4 is between 1e-6 and 3e37, the quotient at most some 50. */
VEC_INLINE vec quotient(vec a, const struct encode_run *run)
{
    vec q = vec_mul(a, run->inverse);
    q = vec_fma(vec_fnma(q, run->scale, a), run->inverse, q);
    return vec_fma(vec_fnma(q, run->scale, a), run->inverse, q);
}

VEC_INLINE ivec codes_of(enum quantize_format format, vec x, const struct encode_run *run)
{
    if (format == QUANTIZE_U4)
        return codes_nearest(quotient(vec_sub(x, run->low), run)); /* storing saturates */
    vec v = vec_mul(x, run->inverse);
    if (format == QUANTIZE_S8)
        return codes_nearest(v); /* a little beyond 127 at the most: storing saturates */
    return format == QUANTIZE_E4M3 ? codes_float(v, 20, 120, 0x1p-6f, 0x1p14f)
                                   : codes_float(v, 21, 112, 0x1p-14f, 0x1p7f);
}

/* The codes of n vectors, a constant; prefetches. */
VEC_INLINE void encode_block(enum native_kind kind, enum quantize_format format, const void *x,
                             int64_t at, int n, const struct encode_run *run, int64_t ahead,
                             uint8_t *to)
{
    ivec codes[CODES_VECS];
    for (int j = 0; j < n; j += 2)
        vec_prefetch_far(kind, x, at + j * VEC_LANES, ahead);
    for (int j = 0; j < n; j++)
        codes[j] = codes_of(format, vec_load(kind, x, at + j * VEC_LANES), run);
    codes_store(format, codes, n, to);
}

/* What is left of a run: fewer than CODES_LEAST vectors. */
VEC_INLINE void encode_rest(enum native_kind kind, enum quantize_format format, const void *x,
                            int64_t at, int64_t count, const struct encode_run *run, uint8_t *to)
{
    ivec codes[CODES_VECS];
    uint8_t buffer[CODES_LEAST * VEC_LANES];
    for (int j = 0; j < CODES_LEAST; j++) {
        int64_t n = count - j * VEC_LANES;
        n = n < VEC_LANES ? n : VEC_LANES;
        vec v = n > 0 ? vec_load_part(kind, x, at + j * VEC_LANES, n) : vec_set(0);
        codes[j] = codes_of(format, v, run);
    }
    codes_store(format, codes, CODES_LEAST, buffer);
    memcpy(to, buffer, (size_t)(format == QUANTIZE_U4 ? count / 2 : count));
}

VEC_INLINE void encode(enum native_kind kind, enum quantize_format format, const void *x,
                       struct quantize_runs runs, struct quantize_factors factors, int64_t ahead,
                       uint8_t *to)
{
    const int shift = format == QUANTIZE_U4; /* of elements to bytes */
    for (int64_t r = 0; r < runs.n; r++) {
        struct encode_run run = {vec_set(factors.scale[r]), vec_set(factors.inverse[r]),
                                 vec_set(factors.low[r])};
        int64_t at = runs.at + r * runs.run, i = 0;
        uint8_t *own = to + (r * runs.run >> shift);
        for (; i + CODES_VECS * VEC_LANES <= runs.run; i += CODES_VECS * VEC_LANES)
            encode_block(kind, format, x, at + i, CODES_VECS, &run, ahead, own + (i >> shift));
        if (i + CODES_LEAST * VEC_LANES <= runs.run) {
            encode_block(kind, format, x, at + i, CODES_LEAST, &run, ahead, own + (i >> shift));
            i += CODES_LEAST * VEC_LANES;
        }
        if (i < runs.run)
            encode_rest(kind, format, x, at + i, runs.run - i, &run, own + (i >> shift));
    }
}

/* ---- streaming stores ------------------------------------------------------------------------ */

static void stream_copy(uint8_t *to, const uint8_t *from, int64_t bytes)
{
    int64_t head = -(int64_t)(uintptr_t)to & 63, i = head < bytes ? head : bytes;
    memcpy(to, from, (size_t)i);
    for (; i + 64 <= bytes; i += 64)
        for (int j = 0; j < 64; j += IVEC_BYTES)
            ivec_stream(to + i + j, ivec_load(from + i + j));
    memcpy(to + i, from + i, (size_t)(bytes - i));
}

static void stream_end(void) { vec_stream_end(); }

/* ---- the kernel ------------------------------------------------------------------------------ */

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
        encode(NATIVE_##kind, QUANTIZE_##format, x, runs, factors, ahead, codes);                  \
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
    .stream = stream_copy,
    .stream_end = stream_end,
};

QUANTIZE_KERNEL(quantize, quantize_body);

#endif
