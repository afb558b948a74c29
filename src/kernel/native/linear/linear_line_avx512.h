/* linear_line_avx512.h: a line of a packed panel as one AVX-512 register. The functions are those
 * of linear_line_portable.h, which says what they do. Include vec_avx512.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_LINE_AVX512_H
#define ASSAY_KERNEL_NATIVE_LINEAR_LINE_AVX512_H

#include "kernel/native/linear/linear_code.h"

/* Of tiles used in numbers, 6 rows of 4 registers cost the least instructions for a product: 24
 * FMAs, 4 loads of weights, 6 of x. 14 rows of 2 registers need half the bandwidth, which L2 has to
 * spare, but a sixth more instructions, and lose 5 % where another thread shares the core. Few rows
 * are one tile: 16 in one pass over one panel are faster than 8 in two over two, since memory is
 * busy all the time. */
/* clang-format off */
#define LINE_PLAIN_SIZES(T)                                                                        \
    T(1, 1) T(2, 1) T(3, 1) T(4, 1) T(5, 1) T(6, 1) T(7, 1) T(8, 1) T(9, 1) T(10, 1) T(11, 1)      \
    T(12, 1) T(13, 1) T(14, 1) T(15, 1) T(16, 1)                                                   \
    T(1, 4) T(2, 4) T(3, 4) T(4, 4) T(5, 4) T(6, 4)                                                \
    T(7, 2) T(8, 2) T(9, 2) T(10, 2) T(11, 2) T(12, 2) T(13, 2) T(14, 2)
#define LINE_NEXT_SIZES(T) T(4, 4) T(5, 4) T(6, 4)
#define LINE_WINDOW_SIZES(T) T(4, 4) T(5, 4) T(6, 4) T(4, 1) T(5, 1) T(6, 1)
#define LINE_STREAM_SIZES(T) T(1, 1) T(2, 1) T(4, 1) T(8, 1) T(1, 4) T(2, 4) T(4, 2)
/* clang-format on */
enum {
    LINE_PLAIN_ROWS = 6,
    LINE_WIDE_ROWS = 14,
    LINE_TALL_ROWS = 16,
    LINE_STREAM_ROWS = 8,
    LINE_AHEAD_LINES = 32
};

typedef __m512 line;
typedef __m512i line_bits;

VEC_INLINE line line_all(float a) { return _mm512_set1_ps(a); }
VEC_INLINE line line_zero(void) { return _mm512_setzero_ps(); }
VEC_INLINE line_bits line_no_bits(void) { return _mm512_setzero_si512(); }
VEC_INLINE line line_spread(const float *p) { return _mm512_set1_ps(*p); }
VEC_INLINE line line_get(const void *p) { return _mm512_loadu_ps(p); }
VEC_INLINE void line_put(void *p, line a) { _mm512_storeu_ps(p, a); }
VEC_INLINE line line_fma(line a, line b, line c) { return _mm512_fmadd_ps(a, b, c); }
VEC_INLINE line line_mul(line a, line b) { return _mm512_mul_ps(a, b); }
VEC_INLINE line line_add(line a, line b) { return _mm512_add_ps(a, b); }

VEC_INLINE line line_from(enum native_kind kind, const void *data, int64_t at)
{
    return vec_load(kind, data, at);
}

/* The even 16 bits of each dword before the odd ones. */
VEC_INLINE __m512i line_halves(__m512i bits)
{
    const __m512i order =
        _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1, 30, 28, 26, 24,
                         22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutexvar_epi16(order, bits);
}

VEC_INLINE line_bits line_codes(enum linear_code code, const void *p)
{
    line_bits bits = _mm512_loadu_si512(p);
    if (code == LINEAR_U8)
        return _mm512_xor_si512(bits, _mm512_set1_epi32((int)0x80808080u));
    return bits;
}

/* An e4m3 is an f16 without the first bit of its exponent, whose value is 2^-8 of its own: bytes j
 * and j + 2 of each dword, j 0 or 1, become two f16. The NaN becomes a number; see line_watch. */
VEC_INLINE __m512i line_e4m3(__m512i bits, int j)
{
    __m512i top = j ? bits : _mm512_slli_epi16(bits, 8);
    __m512i half = _mm512_and_si512(_mm512_srai_epi16(top, 1), _mm512_set1_epi16((short)0xbf80));
    return line_halves(half);
}

/* A nibble picks one of 16 floats: the other bits of the index do not count. So does a load from j
 * / 2 bytes further on do for a shift: what it has of other dwords are upper bits. Behind the last
 * codes lie their scales. */
VEC_INLINE line line_nibble(const void *p, __m512i bits, int j)
{
    const __m512 table = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    if (j > 1)
        bits = _mm512_loadu_si512((const char *)p + j / 2);
    return _mm512_permutexvar_ps(j & 1 ? _mm512_srli_epi32(bits, 4) : bits, table);
}

VEC_INLINE line line_code(enum linear_code code, const void *p, line_bits bits, int j)
{
    if (code == LINEAR_F32)
        return _mm512_castsi512_ps(bits);
    if (code == LINEAR_BF16)
        return _mm512_castsi512_ps(j ? _mm512_and_si512(bits, _mm512_set1_epi32((int)0xffff0000u))
                                     : _mm512_slli_epi32(bits, 16));
    if (code == LINEAR_F16 || code == LINEAR_E4M3) {
        __m512i half = code == LINEAR_F16 ? line_halves(bits) : line_e4m3(bits, j & 1);
        bool upper = code == LINEAR_F16 ? j : j / 2;
        return _mm512_cvtph_ps(upper ? _mm512_extracti64x4_epi64(half, 1)
                                     : _mm512_castsi512_si256(half));
    }
    if (code == LINEAR_U4)
        return line_nibble(p, bits, j);
    if (j < 3)
        bits = _mm512_slli_epi32(bits, 24 - 8 * j);
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(bits, 24));
}

/* Of each byte the greatest magnitude, twice: 0xfe once it was NaN. */
VEC_INLINE line_bits line_watch(enum linear_code code, line_bits watch, line_bits bits)
{
    if (code != LINEAR_E4M3)
        return watch;
    return _mm512_max_epu8(watch, _mm512_add_epi8(bits, bits));
}
VEC_INLINE line line_poison(enum linear_code code, line a, line_bits watch)
{
    if (code != LINEAR_E4M3)
        return a;
    __m512i bytes = _mm512_movm_epi8(_mm512_cmpeq_epi8_mask(watch, _mm512_set1_epi8((char)0xfe)));
    return _mm512_mask_mov_ps(a, _mm512_test_epi32_mask(bytes, bytes), _mm512_set1_ps(NAN));
}

VEC_INLINE float line_unit(enum linear_code code) { return code == LINEAR_E4M3 ? 256.0f : 1.0f; }

VEC_INLINE void line_prefetch(const void *p) { _mm_prefetch((const char *)p, _MM_HINT_T0); }
VEC_INLINE void line_prefetch_far(const void *p) { _mm_prefetch((const char *)p, _MM_HINT_T1); }

VEC_INLINE vec vec_load_s8(const int8_t *data, int64_t n)
{
    __mmask16 mask = n < 16 ? vec_tail(n) : (__mmask16)0xffff;
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, data)));
}
VEC_INLINE vec vec_load_s32(const int32_t *data)
{
    return _mm512_cvtepi32_ps(_mm512_loadu_si512(data));
}
VEC_INLINE vec vec_most(vec a, vec b)
{
    __m512i p = _mm512_castps_si512(a), q = _mm512_castps_si512(vec_abs(b));
    return _mm512_castsi512_ps(_mm512_max_epi32(p, q));
}
VEC_INLINE vec vec_exponent(vec a)
{
    return _mm512_and_ps(a, _mm512_castsi512_ps(_mm512_set1_epi32(0x7f800000)));
}

#endif
