/* vec_avx512.h: sixteen floats in one AVX-512 register. The functions are those of vec_scalar.h,
 * which says what they do. Needs F, BW, DQ, VL. */
#ifndef ASSAY_KERNEL_CPU_VEC_AVX512_H
#define ASSAY_KERNEL_CPU_VEC_AVX512_H

#define VEC_NAME avx512
#define VEC_NEED ASSAY_CPU_AVX512
#define VEC_PREFERENCE 30
#define VEC_HAS_BF16_INSN 1

#include "kernel/cpu/native.h"
#include <immintrin.h>

#define VEC_INLINE static inline __attribute__((always_inline))

enum { VEC_LANES = 16 };

typedef __m512 vec;
typedef __mmask16 vec_mask;

VEC_INLINE vec vec_set(float a) { return _mm512_set1_ps(a); }
VEC_INLINE vec vec_add(vec a, vec b) { return _mm512_add_ps(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return _mm512_div_ps(a, b); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return _mm512_fnmadd_ps(a, b, c); }
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

VEC_INLINE float vec_sum(vec a) { return _mm512_reduce_add_ps(a); }
VEC_INLINE float vec_greatest(vec a) { return _mm512_reduce_max_ps(a); }

VEC_INLINE vec vec_from_half(enum native_kind kind, __m256i bits)
{
    if (kind == NATIVE_F16)
        return _mm512_cvtph_ps(bits);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

/* The same rounding as assay_bf16_from_f32: to nearest even, NaN stays a quiet NaN. The
 * instruction is written as text so that the rest of the file need not be compiled for it. */
VEC_INLINE __m256i vec_to_half(enum native_kind kind, vec a)
{
    if (kind == NATIVE_F16)
        return _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    if (kind == NATIVE_BF16_INSN) {
        __m256i bits;
        __asm__("vcvtneps2bf16 %1, %0" : "=v"(bits) : "v"(a));
        return bits;
    }
    __m512i bits = _mm512_castps_si512(a), high = _mm512_srli_epi32(bits, 16);
    __m512i even = _mm512_and_si512(high, _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff)));
    __m512i quiet = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
    __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(_mm512_srli_epi32(rounded, 16), nan, quiet));
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

VEC_INLINE void vec_stream(enum native_kind kind, void *data, int64_t at, vec a)
{
    if (kind == NATIVE_F32)
        _mm512_stream_ps((float *)data + at, a);
    else
        _mm256_stream_si256((void *)((uint16_t *)data + at), vec_to_half(kind, a));
}

VEC_INLINE void vec_stream_end(void) { _mm_sfence(); }

VEC_INLINE void vec_prefetch(enum native_kind kind, const void *data, int64_t at, int64_t bytes)
{
    uintptr_t address = (uintptr_t)data + (uintptr_t)at * (kind == NATIVE_F32 ? 4 : 2);
    _mm_prefetch((const char *)(address + (uintptr_t)bytes), _MM_HINT_T0);
}

#endif
