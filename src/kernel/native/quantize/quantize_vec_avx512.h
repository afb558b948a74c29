/* quantize_vec_avx512.h: codes and their bounds in AVX-512 registers; quantize_body.h and
 * dequantize_body.h say what they need. */
#ifndef ASSAY_KERNEL_NATIVE_QUANTIZE_VEC_AVX512_H
#define ASSAY_KERNEL_NATIVE_QUANTIZE_VEC_AVX512_H

#include "kernel/native/quantize/quantize_native.h"
#include "kernel/native/vec/vec_avx512.h"

typedef __m512i ivec;

enum { IVEC_BYTES = 64 };

VEC_INLINE ivec ivec_load(const void *p) { return _mm512_loadu_si512(p); }
VEC_INLINE void ivec_stream(void *p, ivec a) { _mm512_stream_si512(p, a); }
VEC_INLINE ivec ivec_set(int32_t a) { return _mm512_set1_epi32(a); }

/* ---- bounds; `half`: elements of 16 bits, else of 32 ------------------------------------------
 */

VEC_INLINE ivec ivec_magnitude(bool half, ivec a)
{
    return _mm512_and_si512(a, _mm512_set1_epi32(half ? 0x7fff7fff : 0x7fffffff));
}
/* Magnitudes have no sign bit, so signed comparisons do for them too. */
VEC_INLINE ivec ivec_key(bool half, ivec a)
{
    ivec sign = half ? _mm512_srai_epi16(a, 15) : _mm512_srai_epi32(a, 31);
    /* a ^ (sign & others) */
    return _mm512_ternarylogic_epi32(a, sign, _mm512_set1_epi32(half ? 0x7fff7fff : 0x7fffffff),
                                     0x78);
}
VEC_INLINE ivec ivec_max(bool half, ivec a, ivec b)
{
    return half ? _mm512_max_epi16(a, b) : _mm512_max_epi32(a, b);
}
VEC_INLINE ivec ivec_min(bool half, ivec a, ivec b)
{
    return half ? _mm512_min_epi16(a, b) : _mm512_min_epi32(a, b);
}
/* The greater one of a lane, which may hold two elements. */
VEC_INLINE int32_t ivec_element(bool half, int32_t lane)
{
    int32_t high = lane >> 16, low = (int16_t)lane;
    return !half ? lane : high > low ? high : low;
}
/* The greatest element of a, and the least one of b: both at once, as ~b has the opposite order. */
VEC_INLINE void ivec_bounds(bool half, ivec a, ivec b, int32_t *greatest, int32_t *least)
{
    b = _mm512_xor_si512(b, _mm512_set1_epi32(-1));
    a = ivec_max(half, _mm512_shuffle_i64x2(a, b, 0x44), _mm512_shuffle_i64x2(a, b, 0xee));
    a = ivec_max(half, a, _mm512_shuffle_i64x2(a, a, 0xb1));
    a = ivec_max(half, a, _mm512_shuffle_epi32(a, 0x4e));
    a = ivec_max(half, a, _mm512_shuffle_epi32(a, 0xb1));
    *greatest = ivec_element(half, _mm_cvtsi128_si32(_mm512_castsi512_si128(a)));
    *least = ~ivec_element(half, _mm_cvtsi128_si32(_mm512_extracti32x4_epi32(a, 2)));
}
VEC_INLINE int32_t ivec_greatest(bool half, ivec a)
{
    a = ivec_max(half, a, _mm512_shuffle_i64x2(a, a, 0x4e));
    a = ivec_max(half, a, _mm512_shuffle_i64x2(a, a, 0xb1));
    a = ivec_max(half, a, _mm512_shuffle_epi32(a, 0x4e));
    a = ivec_max(half, a, _mm512_shuffle_epi32(a, 0xb1));
    return ivec_element(half, _mm_cvtsi128_si32(_mm512_castsi512_si128(a)));
}

/* ---- to codes: one in each lane of 32 bits ----------------------------------------------------
 */

VEC_INLINE ivec codes_nearest(vec a) { return _mm512_cvtps_epi32(a); }

/* 8-bit floats with `drop` bits of the fraction dropped and the exponent moved down by `bias`.
 * Values below `least`, which have no leading one, are rounded by the adder: `magic` has the step
 * between them as its ulp. The greatest magnitude was made to be the format's largest value, so all
 * round to a code. */
VEC_INLINE ivec codes_float(vec a, int drop, uint32_t bias, float least, float magic)
{
    ivec bits = _mm512_castps_si512(a);
    ivec magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    ivec even = _mm512_and_si512(_mm512_srli_epi32(bits, drop), _mm512_set1_epi32(1));
    ivec half = _mm512_set1_epi32((int)((1u << (drop - 1)) - 1 - (bias << 23)));
    ivec code = _mm512_add_epi32(_mm512_add_epi32(magnitude, half), even);
    code = _mm512_srli_epi32(code, drop);
    vec sum = _mm512_add_ps(_mm512_castsi512_ps(magnitude), vec_set(magic));
    ivec magic_bits = _mm512_castps_si512(vec_set(magic)), small = _mm512_castps_si512(sum);
    __mmask16 is_small = _mm512_cmplt_epi32_mask(magnitude, _mm512_castps_si512(vec_set(least)));
    code = _mm512_mask_sub_epi32(code, is_small, small, magic_bits);
    /* code | (bits >> 24 & 0x80) */
    return _mm512_ternarylogic_epi32(code, _mm512_srli_epi32(bits, 24), _mm512_set1_epi32(0x80),
                                     0xf8);
}

enum { CODES_VECS = 4, CODES_LEAST = 2 };

/* Puts the codes of n vectors (4, or the first 2 of them) where they belong, in order, integers
 * saturated. */
VEC_INLINE void codes_store(enum quantize_format format, const ivec *c, int n, uint8_t *to)
{
    ivec first = _mm512_packs_epi32(c[0], c[1]);
    ivec second = n == 2 ? first : _mm512_packs_epi32(c[n - 2], c[n - 1]);
    ivec bytes = format == QUANTIZE_S8 ? _mm512_packs_epi16(first, second)
                                       : _mm512_packus_epi16(first, second);
    if (format == QUANTIZE_U4)
        bytes = _mm512_min_epu8(bytes, _mm512_set1_epi8(15));
    /* Each quarter of the register now has four codes of each vector. */
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    bytes = _mm512_permutexvar_epi32(order, bytes);
    if (format == QUANTIZE_U4) { /* even + 16 * odd */
        __m256i pairs =
            _mm512_cvtepi16_epi8(_mm512_maddubs_epi16(bytes, _mm512_set1_epi16(0x1001)));
        if (n == 2)
            _mm_storeu_si128((void *)to, _mm256_castsi256_si128(pairs));
        else
            _mm256_storeu_si256((void *)to, pairs);
    } else if (n == 2) {
        _mm256_storeu_si256((void *)to, _mm512_castsi512_si256(bytes));
    } else {
        _mm512_storeu_si512(to, bytes);
    }
}

/* ---- from codes: two vectors at a time --------------------------------------------------------
 */

/* What a run's codes are multiplied with; u4 has all its sixteen values. */
struct decode_run {
    vec scale, table;
};

VEC_INLINE struct decode_run decode_run_of(enum quantize_format format, const float *scales)
{
    struct decode_run run = {.scale = vec_set(scales[0])};
    run.table = run.scale;
    if (format == QUANTIZE_U4)
        run.table = vec_fma(_mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7),
                            run.scale, vec_set(scales[1]));
    return run;
}

/* e4m3 as the f16 of the same bits, moved: 2^-8 of the value, subnormals too. */
VEC_INLINE __m512i decode_halves(enum quantize_format format, __m256i codes)
{
    __m512i words = _mm512_cvtepu8_epi16(codes);
    if (format == QUANTIZE_E5M2)
        return _mm512_slli_epi16(words, 8);
    __m512i magnitude = _mm512_and_si512(_mm512_slli_epi16(words, 7), _mm512_set1_epi16(0x3f80));
    __mmask32 nan = _mm512_cmpeq_epi16_mask(magnitude, _mm512_set1_epi16(0x3f80));
    magnitude = _mm512_mask_mov_epi16(magnitude, nan, _mm512_set1_epi16(0x7e00));
    return _mm512_ternarylogic_epi32(magnitude, _mm512_slli_epi16(words, 8),
                                     _mm512_set1_epi16((short)0x8000), 0xf8);
}

/* 2 * VEC_LANES codes, in order. */
VEC_INLINE struct vec_pair decode_pair(enum quantize_format format, const uint8_t *codes,
                                       const struct decode_run *run)
{
    if (format == QUANTIZE_U4) {
        __m128i bytes = _mm_loadu_si128((const void *)codes), low = _mm_set1_epi8(15);
        __m128i even = _mm_and_si128(bytes, low);
        __m128i odd = _mm_and_si128(_mm_srli_epi16(bytes, 4), low);
        __m512i a = _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(even, odd));
        __m512i b = _mm512_cvtepu8_epi32(_mm_unpackhi_epi8(even, odd));
        return (struct vec_pair){_mm512_permutexvar_ps(a, run->table),
                                 _mm512_permutexvar_ps(b, run->table)};
    }
    struct vec_pair p;
    if (format == QUANTIZE_S8) {
        p.a = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)codes)));
        p.b = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(codes + 16))));
    } else {
        __m512i halves = decode_halves(format, _mm256_loadu_si256((const void *)codes));
        p.a = _mm512_cvtph_ps(_mm512_castsi512_si256(halves));
        p.b = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1));
    }
    if (format == QUANTIZE_E4M3)
        p = (struct vec_pair){vec_mul(p.a, vec_set(256)), vec_mul(p.b, vec_set(256))};
    return (struct vec_pair){vec_mul(p.a, run->scale), vec_mul(p.b, run->scale)};
}

/* Both vectors, one behind the other (vec_store_pair has an order of its own). */
VEC_INLINE void decode_store(enum native_kind kind, bool stream, void *y, int64_t at,
                             struct vec_pair p)
{
    if (kind == NATIVE_F32) {
        vec_store_pair(kind, stream, y, at, p);
        return;
    }
    __m512i bits;
    if (kind == NATIVE_BF16_INSN)
        __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(bits) : "v"(p.a), "v"(p.b));
    else
        bits = _mm512_inserti64x4(_mm512_castsi256_si512(vec_to_half(kind, p.a)),
                                  vec_to_half(kind, p.b), 1);
    if (stream)
        _mm512_stream_si512((void *)((uint16_t *)y + at), bits);
    else
        _mm512_storeu_si512((uint16_t *)y + at, bits);
}

#endif
