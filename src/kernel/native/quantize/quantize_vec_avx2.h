/* quantize_vec_avx2.h: codes and their bounds in AVX2 registers; the functions are those of
 * quantize_vec_avx512.h. */
#ifndef ASSAY_KERNEL_NATIVE_QUANTIZE_VEC_AVX2_H
#define ASSAY_KERNEL_NATIVE_QUANTIZE_VEC_AVX2_H

#include "kernel/native/quantize/quantize_native.h"
#include "kernel/native/vec/vec_avx2.h"

typedef __m256i ivec;

enum { IVEC_BYTES = 32 };

VEC_INLINE ivec ivec_load(const void *p) { return _mm256_loadu_si256(p); }
VEC_INLINE void ivec_stream(void *p, ivec a) { _mm256_stream_si256(p, a); }
VEC_INLINE ivec ivec_set(int32_t a) { return _mm256_set1_epi32(a); }

/* ---- bounds ---------------------------------------------------------------------------------- */

VEC_INLINE ivec ivec_magnitude(bool half, ivec a)
{
    return _mm256_and_si256(a, _mm256_set1_epi32(half ? 0x7fff7fff : 0x7fffffff));
}
VEC_INLINE ivec ivec_key(bool half, ivec a)
{
    ivec sign = half ? _mm256_srai_epi16(a, 15) : _mm256_srai_epi32(a, 31);
    return _mm256_xor_si256(a, ivec_magnitude(half, sign));
}
VEC_INLINE ivec ivec_max(bool half, ivec a, ivec b)
{
    return half ? _mm256_max_epi16(a, b) : _mm256_max_epi32(a, b);
}
VEC_INLINE ivec ivec_min(bool half, ivec a, ivec b)
{
    return half ? _mm256_min_epi16(a, b) : _mm256_min_epi32(a, b);
}
VEC_INLINE int32_t ivec_greatest(bool half, ivec a)
{
    a = ivec_max(half, a, _mm256_permute4x64_epi64(a, 0x4e));
    a = ivec_max(half, a, _mm256_shuffle_epi32(a, 0x4e));
    a = ivec_max(half, a, _mm256_shuffle_epi32(a, 0xb1));
    int32_t lane = _mm_cvtsi128_si32(_mm256_castsi256_si128(a));
    int32_t high = lane >> 16, low = (int16_t)lane;
    return !half ? lane : high > low ? high : low;
}
VEC_INLINE void ivec_bounds(bool half, ivec a, ivec b, int32_t *greatest, int32_t *least)
{
    *greatest = ivec_greatest(half, a);
    *least = ~ivec_greatest(half, _mm256_xor_si256(b, _mm256_set1_epi32(-1)));
}

/* ---- to codes -------------------------------------------------------------------------------- */

VEC_INLINE ivec codes_nearest(vec a) { return _mm256_cvtps_epi32(a); }

VEC_INLINE ivec codes_float(vec a, int drop, uint32_t bias, float least, float magic)
{
    ivec bits = _mm256_castps_si256(a);
    ivec magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    ivec even = _mm256_and_si256(_mm256_srli_epi32(bits, drop), _mm256_set1_epi32(1));
    ivec half = _mm256_set1_epi32((int)((1u << (drop - 1)) - 1 - (bias << 23)));
    ivec code = _mm256_add_epi32(_mm256_add_epi32(magnitude, half), even);
    code = _mm256_srli_epi32(code, drop);
    vec sum = _mm256_add_ps(_mm256_castsi256_ps(magnitude), vec_set(magic));
    ivec small = _mm256_sub_epi32(_mm256_castps_si256(sum), _mm256_castps_si256(vec_set(magic)));
    ivec is_small = _mm256_cmpgt_epi32(_mm256_castps_si256(vec_set(least)), magnitude);
    code = _mm256_blendv_epi8(code, small, is_small);
    ivec sign = _mm256_and_si256(_mm256_srli_epi32(bits, 24), _mm256_set1_epi32(0x80));
    return _mm256_or_si256(code, sign);
}

enum { CODES_VECS = 4, CODES_LEAST = 4 };

VEC_INLINE void codes_store(enum quantize_format format, const ivec *c, int n, uint8_t *to)
{
    (void)n;
    ivec first = _mm256_packs_epi32(c[0], c[1]), second = _mm256_packs_epi32(c[2], c[3]);
    ivec bytes = format == QUANTIZE_S8 ? _mm256_packs_epi16(first, second)
                                       : _mm256_packus_epi16(first, second);
    if (format == QUANTIZE_U4)
        bytes = _mm256_min_epu8(bytes, _mm256_set1_epi8(15));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    if (format != QUANTIZE_U4) {
        _mm256_storeu_si256((void *)to, bytes);
        return;
    }
    ivec pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(0x1001)); /* even + 16 * odd */
    pairs = _mm256_permute4x64_epi64(_mm256_packus_epi16(pairs, pairs), 0x08);
    _mm_storeu_si128((void *)to, _mm256_castsi256_si128(pairs));
}

/* ---- from codes ------------------------------------------------------------------------------ */

struct decode_run {
    vec scale, zero;
};

VEC_INLINE struct decode_run decode_run_of(enum quantize_format format, const float *scales)
{
    return (struct decode_run){vec_set(scales[0]), vec_set(format == QUANTIZE_U4 ? scales[1] : 0)};
}

/* Eight codes in the low half. */
VEC_INLINE vec decode_eight(enum quantize_format format, __m128i codes,
                            const struct decode_run *run)
{
    if (format == QUANTIZE_S8)
        return vec_mul(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)), run->scale);
    if (format == QUANTIZE_U4) {
        __m256i q = _mm256_sub_epi32(_mm256_cvtepu8_epi32(codes), _mm256_set1_epi32(8));
        return vec_fma(_mm256_cvtepi32_ps(q), run->scale, run->zero);
    }
    __m128i words = _mm_cvtepu8_epi16(codes);
    if (format == QUANTIZE_E5M2)
        return vec_mul(_mm256_cvtph_ps(_mm_slli_epi16(words, 8)), run->scale);
    /* e4m3 as the f16 of the same bits, moved: 2^-8 of the value, subnormals too. */
    __m128i magnitude = _mm_and_si128(_mm_slli_epi16(words, 7), _mm_set1_epi16(0x3f80));
    __m128i nan = _mm_cmpeq_epi16(magnitude, _mm_set1_epi16(0x3f80));
    magnitude = _mm_blendv_epi8(magnitude, _mm_set1_epi16(0x7e00), nan);
    __m128i sign = _mm_and_si128(_mm_slli_epi16(words, 8), _mm_set1_epi16((short)0x8000));
    vec value = vec_mul(_mm256_cvtph_ps(_mm_or_si128(magnitude, sign)), vec_set(256));
    return vec_mul(value, run->scale);
}

VEC_INLINE struct vec_pair decode_pair(enum quantize_format format, const uint8_t *codes,
                                       const struct decode_run *run)
{
    __m128i bytes;
    if (format == QUANTIZE_U4) {
        __m128i packed = _mm_loadl_epi64((const void *)codes), low = _mm_set1_epi8(15);
        bytes = _mm_unpacklo_epi8(_mm_and_si128(packed, low),
                                  _mm_and_si128(_mm_srli_epi16(packed, 4), low));
    } else {
        bytes = _mm_loadu_si128((const void *)codes);
    }
    return (struct vec_pair){decode_eight(format, bytes, run),
                             decode_eight(format, _mm_unpackhi_epi64(bytes, bytes), run)};
}

VEC_INLINE void decode_store(enum native_kind kind, bool stream, void *y, int64_t at,
                             struct vec_pair p)
{
    if (kind == NATIVE_F32) {
        vec_store_pair(kind, stream, y, at, p);
        return;
    }
    __m256i bits = _mm256_inserti128_si256(_mm256_castsi128_si256(vec_to_half(kind, p.a)),
                                           vec_to_half(kind, p.b), 1);
    if (stream)
        _mm256_stream_si256((void *)((uint16_t *)y + at), bits);
    else
        _mm256_storeu_si256((void *)((uint16_t *)y + at), bits);
}

#endif
