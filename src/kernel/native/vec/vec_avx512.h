/* vec_avx512.h: sixteen floats in one AVX-512 register. The functions are those of vec_portable.h,
 * which says what they do. Needs F, BW, DQ, VL. */
#ifndef ASSAY_KERNEL_NATIVE_VEC_AVX512_H
#define ASSAY_KERNEL_NATIVE_VEC_AVX512_H

#define VEC_NAME avx512
#define VEC_NEED ASSAY_CPU_AVX512
#define VEC_PREFERENCE 30
#define VEC_HAS_BF16_INSN 1

#include "kernel/native/native.h"
#include <immintrin.h>

enum { VEC_LANES = 16 };

typedef __m512 vec;
typedef __mmask16 vec_mask;

VEC_INLINE vec vec_set(float a) { return _mm512_set1_ps(a); }
VEC_INLINE vec vec_add(vec a, vec b) { return _mm512_add_ps(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return _mm512_div_ps(a, b); }
VEC_INLINE vec vec_sqrt(vec a) { return _mm512_sqrt_ps(a); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return _mm512_fnmadd_ps(a, b, c); }
VEC_INLINE vec vec_abs(vec a) { return _mm512_abs_ps(a); }
VEC_INLINE vec vec_max(vec a, vec b) { return _mm512_max_ps(a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return _mm512_min_ps(a, b); }
VEC_INLINE vec_mask vec_less(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
VEC_INLINE vec vec_select(vec_mask mask, vec yes, vec no)
{
    return _mm512_mask_blend_ps(mask, no, yes);
}

VEC_INLINE __mmask16 vec_tail(int64_t n) { return (__mmask16)((1u << n) - 1u); }
VEC_INLINE vec vec_first(vec a, int64_t n, vec rest)
{
    return _mm512_mask_blend_ps(vec_tail(n), rest, a);
}

VEC_INLINE vec vec_ldexp(vec a, vec n) { return _mm512_scalef_ps(a, n); }

/* The product is not rounded; ln 2 is 1.9e-9 off as a float, and n up to 152. */
VEC_INLINE vec vec_minus_ln2(vec x, vec n, float sign)
{
    return vec_fnma(n, vec_set(sign * 0x1.62e43p-1f), x);
}

VEC_INLINE float vec_sum(vec a) { return _mm512_reduce_add_ps(a); }
VEC_INLINE float vec_greatest(vec a) { return _mm512_reduce_max_ps(a); }

/* Squares of 4 by 4 within the quarters of four registers, then the quarters. */
VEC_INLINE void vec_transpose(vec rows[VEC_LANES])
{
    vec part[VEC_LANES];
    for (int g = 0; g < VEC_LANES; g += 4) {
        vec a = _mm512_unpacklo_ps(rows[g], rows[g + 1]),
            b = _mm512_unpackhi_ps(rows[g], rows[g + 1]);
        vec c = _mm512_unpacklo_ps(rows[g + 2], rows[g + 3]);
        vec d = _mm512_unpackhi_ps(rows[g + 2], rows[g + 3]);
        part[g] = _mm512_shuffle_ps(a, c, 0x44);
        part[g + 1] = _mm512_shuffle_ps(a, c, 0xee);
        part[g + 2] = _mm512_shuffle_ps(b, d, 0x44);
        part[g + 3] = _mm512_shuffle_ps(b, d, 0xee);
    }
    for (int c = 0; c < 4; c++) {
        vec even = _mm512_shuffle_f32x4(part[c], part[4 + c], 0x88);
        vec odd = _mm512_shuffle_f32x4(part[c], part[4 + c], 0xdd);
        vec even_below = _mm512_shuffle_f32x4(part[8 + c], part[12 + c], 0x88);
        vec odd_below = _mm512_shuffle_f32x4(part[8 + c], part[12 + c], 0xdd);
        rows[c] = _mm512_shuffle_f32x4(even, even_below, 0x88);
        rows[4 + c] = _mm512_shuffle_f32x4(odd, odd_below, 0x88);
        rows[8 + c] = _mm512_shuffle_f32x4(even, even_below, 0xdd);
        rows[12 + c] = _mm512_shuffle_f32x4(odd, odd_below, 0xdd);
    }
}

VEC_INLINE vec vec_from_half(enum native_kind kind, __m256i bits)
{
    if (kind == NATIVE_F16)
        return _mm512_cvtph_ps(bits);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

/* The upper half of each lane of the result is the lane rounded to bf16, as assay_bf16_from_f32
 * does it: to nearest even, NaN stays a quiet NaN. */
VEC_INLINE __m512i vec_round_bf16(vec a)
{
    __m512i bits = _mm512_castps_si512(a);
    __m512i even = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff)));
    __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
}

/* The instruction is written as text so that the rest of the file need not be compiled for it. */
VEC_INLINE __m256i vec_to_half(enum native_kind kind, vec a)
{
    if (kind == NATIVE_F16)
        return _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    if (kind == NATIVE_BF16)
        return _mm512_cvtepi32_epi16(_mm512_srli_epi32(vec_round_bf16(a), 16));
    __m256i bits;
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(bits) : "v"(a));
    return bits;
}

VEC_INLINE vec vec_load(enum native_kind kind, const void *data, int64_t at)
{
    if (kind == NATIVE_F32)
        return _mm512_loadu_ps((const float *)data + at);
    return vec_from_half(kind, _mm256_loadu_si256((const void *)((const uint16_t *)data + at)));
}

VEC_INLINE vec vec_load_part(enum native_kind kind, const void *data, int64_t at, int64_t n)
{
    if (kind == NATIVE_F32)
        return _mm512_maskz_loadu_ps(vec_tail(n), (const float *)data + at);
    return vec_from_half(kind, _mm256_maskz_loadu_epi16(vec_tail(n), (const uint16_t *)data + at));
}

VEC_INLINE void vec_store(enum native_kind kind, void *data, int64_t at, vec a)
{
    if (kind == NATIVE_F32)
        _mm512_storeu_ps((float *)data + at, a);
    else
        _mm256_storeu_si256((void *)((uint16_t *)data + at), vec_to_half(kind, a));
}

VEC_INLINE void vec_store_part(enum native_kind kind, void *data, int64_t at, vec a, int64_t n)
{
    if (kind == NATIVE_F32)
        _mm512_mask_storeu_ps((float *)data + at, vec_tail(n), a);
    else
        _mm256_mask_storeu_epi16((uint16_t *)data + at, vec_tail(n), vec_to_half(kind, a));
}

struct vec_pair {
    vec a, b;
};

/* A bf16 is the upper half of a float: of 32 of them, the even ones need a shift and the odd ones
 * a mask. */
VEC_INLINE struct vec_pair vec_load_pair(enum native_kind kind, const void *data, int64_t at)
{
    if (kind == NATIVE_F32 || kind == NATIVE_F16)
        return (struct vec_pair){vec_load(kind, data, at), vec_load(kind, data, at + VEC_LANES)};
    __m512i bits = _mm512_loadu_si512((const uint16_t *)data + at);
    __m512i odd = _mm512_and_si512(bits, _mm512_set1_epi32((int)0xffff0000u));
    return (struct vec_pair){_mm512_castsi512_ps(_mm512_slli_epi32(bits, 16)),
                             _mm512_castsi512_ps(odd)};
}

/* 32 elements of 16 bits. vcvtne2ps2bf16 puts one vector behind the other; vpermw interleaves. */
VEC_INLINE __m512i vec_to_half_pair(enum native_kind kind, struct vec_pair p)
{
    if (kind == NATIVE_F16)
        return _mm512_inserti64x4(_mm512_castsi256_si512(vec_to_half(kind, p.a)),
                                  vec_to_half(kind, p.b), 1);
    if (kind == NATIVE_BF16)
        return _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(vec_round_bf16(p.a), 16),
                                       vec_round_bf16(p.b));
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512i bits;
    __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(bits) : "v"(p.a), "v"(p.b));
    return _mm512_permutexvar_epi16(order, bits);
}

VEC_INLINE void vec_store_pair(enum native_kind kind, bool stream, void *data, int64_t at,
                               struct vec_pair p)
{
    float *f32 = (float *)data + at;
    uint16_t *half = (uint16_t *)data + at;
    if (kind != NATIVE_F32 && stream) {
        _mm512_stream_si512((void *)half, vec_to_half_pair(kind, p));
    } else if (kind != NATIVE_F32) {
        _mm512_storeu_si512(half, vec_to_half_pair(kind, p));
    } else if (stream) {
        _mm512_stream_ps(f32, p.a);
        _mm512_stream_ps(f32 + VEC_LANES, p.b);
    } else {
        _mm512_storeu_ps(f32, p.a);
        _mm512_storeu_ps(f32 + VEC_LANES, p.b);
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
    if (kind == NATIVE_F32)
        _mm_prefetch((const char *)(address + 64), _MM_HINT_T1);
}

VEC_INLINE void vec_prefetch_near(enum native_kind kind, const void *data, int64_t at)
{
    uintptr_t address = vec_address(kind, data, at, 512);
    _mm_prefetch((const char *)address, _MM_HINT_T0);
    if (kind == NATIVE_F32)
        _mm_prefetch((const char *)(address + 64), _MM_HINT_T0);
}

#endif
