/* linear_line_avx2.h: a line of a packed panel as two AVX2 registers. The functions are those of
 * linear_line_portable.h, which says what they do. Include vec_avx2.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_LINE_AVX2_H
#define ASSAY_KERNEL_NATIVE_LINEAR_LINE_AVX2_H

#include "kernel/native/linear/linear_code.h"

/* 6 rows of 2 registers, 2 for the weights, 1 for x: 15 of 16. */
/* clang-format off */
#define LINE_PLAIN_SIZES(T)                                                                        \
    T(1, 1) T(2, 1) T(3, 1) T(4, 1) T(5, 1) T(6, 1) T(1, 4) T(2, 2) T(3, 2)
#define LINE_NEXT_SIZES(T) T(3, 1) T(4, 1) T(5, 1) T(6, 1)
#define LINE_WINDOW_SIZES(T) LINE_NEXT_SIZES(T)
#define LINE_STREAM_SIZES(T) T(1, 1) T(2, 1) T(4, 1) T(1, 4) T(2, 2)
/* clang-format on */
enum {
    LINE_PLAIN_ROWS = 6,
    LINE_WIDE_ROWS = 6,
    LINE_TALL_ROWS = 6,
    LINE_STREAM_ROWS = 4,
    LINE_AHEAD_LINES = 32
};

typedef struct {
    __m256 a, b;
} line;
typedef struct {
    __m256i a, b;
} line_bits;

VEC_INLINE line line_all(float a)
{
    __m256 v = _mm256_set1_ps(a);
    return (line){v, v};
}
VEC_INLINE line line_zero(void) { return (line){_mm256_setzero_ps(), _mm256_setzero_ps()}; }
VEC_INLINE line_bits line_no_bits(void)
{
    return (line_bits){_mm256_setzero_si256(), _mm256_setzero_si256()};
}
VEC_INLINE line line_spread(const float *p)
{
    __m256 v = _mm256_broadcast_ss(p);
    return (line){v, v};
}
VEC_INLINE line line_get(const void *p)
{
    return (line){_mm256_loadu_ps((const float *)p), _mm256_loadu_ps((const float *)p + 8)};
}
VEC_INLINE void line_put(void *p, line a)
{
    _mm256_storeu_ps((float *)p, a.a);
    _mm256_storeu_ps((float *)p + 8, a.b);
}
VEC_INLINE line line_fma(line a, line b, line c)
{
    return (line){_mm256_fmadd_ps(a.a, b.a, c.a), _mm256_fmadd_ps(a.b, b.b, c.b)};
}
VEC_INLINE line line_add(line a, line b)
{
    return (line){_mm256_add_ps(a.a, b.a), _mm256_add_ps(a.b, b.b)};
}
VEC_INLINE line line_mul(line a, line b)
{
    return (line){_mm256_mul_ps(a.a, b.a), _mm256_mul_ps(a.b, b.b)};
}

VEC_INLINE line line_from(enum native_kind kind, const void *data, int64_t at)
{
    return (line){vec_load(kind, data, at), vec_load(kind, data, at + 8)};
}

VEC_INLINE line_bits line_codes(enum linear_code code, const void *p)
{
    line_bits bits = {_mm256_loadu_si256((const __m256i *)p),
                      _mm256_loadu_si256((const __m256i *)p + 1)};
    if (code == LINEAR_U4 || code == LINEAR_U8) {
        __m256i flip = _mm256_set1_epi32((int)(code == LINEAR_U4 ? 0x88888888u : 0x80808080u));
        bits.a = _mm256_xor_si256(bits.a, flip);
        bits.b = _mm256_xor_si256(bits.b, flip);
    }
    return bits;
}

/* Half j of each dword, packed: one shuffle within the register's halves, one across. */
VEC_INLINE __m128i line_halves(__m256i bits, int j)
{
    const __m256i even = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1,
                                          0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i odd =
        _mm256_setr_epi8(2, 3, 6, 7, 10, 11, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, 2, 3, 6, 7, 10,
                         11, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1);
    bits = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(bits, j ? odd : even), 0x08);
    return _mm256_castsi256_si128(bits);
}

/* As in linear_line_portable.h. */
VEC_INLINE __m256 line_e4m3(__m256i top)
{
    __m256i bits = _mm256_and_si256(_mm256_srli_epi32(top, 4), _mm256_set1_epi32(0x07f00000));
    bits = _mm256_or_si256(bits, _mm256_set1_epi32(0x38000000));
    __m256 u = _mm256_castsi256_ps(bits);
    __m256 v = _mm256_fmadd_ps(u, _mm256_set1_ps(2), _mm256_set1_ps(-0x1p-14f));
    __m256i nan = _mm256_cmpeq_epi32(bits, _mm256_set1_epi32(0x3ff00000));
    v = _mm256_or_ps(_mm256_min_ps(u, v), _mm256_castsi256_ps(nan));
    __m256 sign = _mm256_and_ps(_mm256_castsi256_ps(top), _mm256_set1_ps(-0.0f));
    return _mm256_or_ps(v, sign);
}

VEC_INLINE __m256 line_code_half(enum linear_code code, __m256i bits, int j)
{
    if (code == LINEAR_F32)
        return _mm256_castsi256_ps(bits);
    if (code == LINEAR_BF16)
        return _mm256_castsi256_ps(j ? _mm256_and_si256(bits, _mm256_set1_epi32((int)0xffff0000u))
                                     : _mm256_slli_epi32(bits, 16));
    if (code == LINEAR_F16)
        return _mm256_cvtph_ps(line_halves(bits, j));
    if (code == LINEAR_E4M3)
        return line_e4m3(j == 3 ? bits : _mm256_slli_epi32(bits, 24 - 8 * j));
    int left = code == LINEAR_U4 ? 28 - 4 * j : 24 - 8 * j;
    if (left)
        bits = _mm256_slli_epi32(bits, left);
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(bits, code == LINEAR_U4 ? 28 : 24));
}

VEC_INLINE line line_code(enum linear_code code, const void *p, line_bits bits, int j)
{
    (void)p;
    return (line){line_code_half(code, bits.a, j), line_code_half(code, bits.b, j)};
}

VEC_INLINE line_bits line_watch(enum linear_code code, line_bits watch, line_bits bits)
{
    (void)code, (void)bits;
    return watch;
}
VEC_INLINE line line_poison(enum linear_code code, line a, line_bits watch)
{
    (void)code, (void)watch;
    return a;
}

VEC_INLINE float line_unit(enum linear_code code) { return code == LINEAR_E4M3 ? 256.0f : 1.0f; }

VEC_INLINE void line_prefetch(const void *p) { _mm_prefetch((const char *)p, _MM_HINT_T0); }
VEC_INLINE void line_prefetch_far(const void *p) { _mm_prefetch((const char *)p, _MM_HINT_T1); }

VEC_INLINE vec vec_load_s8(const int8_t *data, int64_t n)
{
    int8_t buffer[8] = {0};
    memcpy(buffer, data, n < 8 ? (size_t)n : 8);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)buffer)));
}
VEC_INLINE vec vec_load_s32(const int32_t *data)
{
    return _mm256_cvtepi32_ps(_mm256_loadu_si256((const void *)data));
}
VEC_INLINE vec vec_most(vec a, vec b)
{
    __m256i p = _mm256_castps_si256(a), q = _mm256_castps_si256(vec_abs(b));
    return _mm256_castsi256_ps(_mm256_max_epi32(p, q));
}
VEC_INLINE vec vec_exponent(vec a)
{
    return _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(0x7f800000)));
}

#endif
