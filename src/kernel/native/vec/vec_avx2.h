/* vec_avx2.h: eight floats in one AVX2 register. The functions are those of vec_portable.h, which
 * says what they do. Needs AVX2, FMA and F16C. */
#ifndef ASSAY_KERNEL_NATIVE_VEC_AVX2_H
#define ASSAY_KERNEL_NATIVE_VEC_AVX2_H

#define VEC_NAME avx2
#define VEC_NEED ASSAY_CPU_AVX2
#define VEC_PREFERENCE 20

#include "kernel/native/native.h"
#include <immintrin.h>

enum { VEC_LANES = 8 };

typedef __m256 vec;
typedef __m256 vec_mask; /* all bits of a lane, or none */

VEC_INLINE vec vec_set(float a) { return _mm256_set1_ps(a); }
VEC_INLINE vec vec_add(vec a, vec b) { return _mm256_add_ps(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return _mm256_sub_ps(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return _mm256_div_ps(a, b); }
VEC_INLINE vec vec_sqrt(vec a) { return _mm256_sqrt_ps(a); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return _mm256_fnmadd_ps(a, b, c); }
VEC_INLINE vec vec_abs(vec a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
VEC_INLINE vec vec_max(vec a, vec b) { return _mm256_max_ps(a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return _mm256_min_ps(a, b); }
VEC_INLINE vec_mask vec_less(vec a, vec b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
VEC_INLINE vec vec_select(vec_mask mask, vec yes, vec no)
{
    return _mm256_blendv_ps(no, yes, mask);
}

VEC_INLINE __m256i vec_tail(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
VEC_INLINE vec vec_first(vec a, int64_t n, vec rest)
{
    return _mm256_blendv_ps(rest, a, _mm256_castsi256_ps(vec_tail(n)));
}

VEC_INLINE __m256 vec_power_of_two(__m256i n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
VEC_INLINE vec vec_ldexp(vec a, vec n)
{
    __m256i k = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(k, 1);
    a = _mm256_mul_ps(a, vec_power_of_two(half));
    return _mm256_mul_ps(a, vec_power_of_two(_mm256_sub_epi32(k, half)));
}

/* The product is not rounded; ln 2 is 1.9e-9 off as a float, and n up to 152. */
VEC_INLINE vec vec_minus_ln2(vec x, vec n, float sign)
{
    return vec_fnma(n, vec_set(sign * 0x1.62e43p-1f), x);
}

VEC_INLINE float vec_sum(vec a)
{
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}
VEC_INLINE float vec_greatest(vec a)
{
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
}

/* Squares of 4 by 4 within the halves of four registers, then the halves. */
VEC_INLINE void vec_transpose(vec rows[VEC_LANES])
{
    vec part[VEC_LANES];
    for (int g = 0; g < VEC_LANES; g += 4) {
        vec a = _mm256_unpacklo_ps(rows[g], rows[g + 1]),
            b = _mm256_unpackhi_ps(rows[g], rows[g + 1]);
        vec c = _mm256_unpacklo_ps(rows[g + 2], rows[g + 3]);
        vec d = _mm256_unpackhi_ps(rows[g + 2], rows[g + 3]);
        part[g] = _mm256_shuffle_ps(a, c, 0x44);
        part[g + 1] = _mm256_shuffle_ps(a, c, 0xee);
        part[g + 2] = _mm256_shuffle_ps(b, d, 0x44);
        part[g + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
    for (int c = 0; c < 4; c++) {
        rows[c] = _mm256_permute2f128_ps(part[c], part[4 + c], 0x20);
        rows[4 + c] = _mm256_permute2f128_ps(part[c], part[4 + c], 0x31);
    }
}

VEC_INLINE vec vec_from_half(enum native_kind kind, __m128i bits)
{
    if (kind == NATIVE_F16)
        return _mm256_cvtph_ps(bits);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

/* The upper half of each lane of the result is the lane rounded to bf16, as assay_bf16_from_f32
 * does it: to nearest even, NaN stays a quiet NaN. */
VEC_INLINE __m256i vec_round_bf16(vec a)
{
    __m256i bits = _mm256_castps_si256(a);
    __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff)));
    __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(rounded, quiet, nan);
}

VEC_INLINE __m128i vec_to_half(enum native_kind kind, vec a)
{
    if (kind == NATIVE_F16)
        return _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT);
    __m256i halves = _mm256_srli_epi32(vec_round_bf16(a), 16);
    /* Pack each half of the register to 4 x 16 bits, then bring the two quarters together. */
    halves = _mm256_permute4x64_epi64(_mm256_packus_epi32(halves, halves), 0x08);
    return _mm256_castsi256_si128(halves);
}

VEC_INLINE vec vec_load(enum native_kind kind, const void *data, int64_t at)
{
    if (kind == NATIVE_F32)
        return _mm256_loadu_ps((const float *)data + at);
    return vec_from_half(kind, _mm_loadu_si128((const void *)((const uint16_t *)data + at)));
}

/* AVX2 has no masked access to 16-bit elements: parts go through a buffer. */
VEC_INLINE vec vec_load_part(enum native_kind kind, const void *data, int64_t at, int64_t n)
{
    if (kind == NATIVE_F32)
        return _mm256_maskload_ps((const float *)data + at, vec_tail(n));
    uint16_t buffer[VEC_LANES] = {0};
    for (int64_t i = 0; i < n; i++)
        buffer[i] = ((const uint16_t *)data)[at + i];
    return vec_from_half(kind, _mm_loadu_si128((const void *)buffer));
}

VEC_INLINE void vec_store(enum native_kind kind, void *data, int64_t at, vec a)
{
    if (kind == NATIVE_F32)
        _mm256_storeu_ps((float *)data + at, a);
    else
        _mm_storeu_si128((void *)((uint16_t *)data + at), vec_to_half(kind, a));
}

VEC_INLINE void vec_store_part(enum native_kind kind, void *data, int64_t at, vec a, int64_t n)
{
    if (kind == NATIVE_F32) {
        _mm256_maskstore_ps((float *)data + at, vec_tail(n), a);
        return;
    }
    uint16_t buffer[VEC_LANES];
    _mm_storeu_si128((void *)buffer, vec_to_half(kind, a));
    for (int64_t i = 0; i < n; i++)
        ((uint16_t *)data)[at + i] = buffer[i];
}

struct vec_pair {
    vec a, b;
};

/* A bf16 is the upper half of a float: of 16 of them, the even ones need a shift and the odd ones
 * a mask. */
VEC_INLINE struct vec_pair vec_load_pair(enum native_kind kind, const void *data, int64_t at)
{
    if (kind == NATIVE_F32 || kind == NATIVE_F16)
        return (struct vec_pair){vec_load(kind, data, at), vec_load(kind, data, at + VEC_LANES)};
    __m256i bits = _mm256_loadu_si256((const void *)((const uint16_t *)data + at));
    __m256i odd = _mm256_and_si256(bits, _mm256_set1_epi32((int)0xffff0000u));
    return (struct vec_pair){_mm256_castsi256_ps(_mm256_slli_epi32(bits, 16)),
                             _mm256_castsi256_ps(odd)};
}

VEC_INLINE __m256i vec_to_half_pair(enum native_kind kind, struct vec_pair p)
{
    if (kind == NATIVE_F16)
        return _mm256_inserti128_si256(_mm256_castsi128_si256(vec_to_half(kind, p.a)),
                                       vec_to_half(kind, p.b), 1);
    return _mm256_blend_epi16(_mm256_srli_epi32(vec_round_bf16(p.a), 16), vec_round_bf16(p.b),
                              0xaa);
}

VEC_INLINE void vec_store_pair(enum native_kind kind, bool stream, void *data, int64_t at,
                               struct vec_pair p)
{
    float *f32 = (float *)data + at;
    uint16_t *half = (uint16_t *)data + at;
    if (kind != NATIVE_F32 && stream) {
        _mm256_stream_si256((void *)half, vec_to_half_pair(kind, p));
    } else if (kind != NATIVE_F32) {
        _mm256_storeu_si256((void *)half, vec_to_half_pair(kind, p));
    } else if (stream) {
        _mm256_stream_ps(f32, p.a);
        _mm256_stream_ps(f32 + VEC_LANES, p.b);
    } else {
        _mm256_storeu_ps(f32, p.a);
        _mm256_storeu_ps(f32 + VEC_LANES, p.b);
    }
}

VEC_INLINE void vec_stream_end(void) { _mm_sfence(); }

VEC_INLINE uintptr_t vec_address(enum native_kind kind, const void *data, int64_t at, int64_t bytes)
{
    return (uintptr_t)data + (uintptr_t)(at * (kind == NATIVE_F32 ? 4 : 2) + bytes);
}

VEC_INLINE void vec_prefetch_far(enum native_kind kind, const void *data, int64_t at, int64_t bytes)
{
    uintptr_t address = vec_address(kind, data, at, bytes);
    _mm_prefetch((const char *)address, _MM_HINT_T1);
}

VEC_INLINE void vec_prefetch_near(enum native_kind kind, const void *data, int64_t at)
{
    uintptr_t address = vec_address(kind, data, at, 512);
    _mm_prefetch((const char *)address, _MM_HINT_T0);
}

#endif
