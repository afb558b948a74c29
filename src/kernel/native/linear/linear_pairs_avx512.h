/* linear_pairs_avx512.h: weights decoded to pairs of bf16, with AVX-512: for tiles
 * (linear_amx.c) and for dot products (linear_bf16dot_avx512.c). Needs AVX-512 with BF16.
 *
 * A line holds, for the 16 rows of a panel, two elements that follow each other along k; 32 of
 * them, a k-step, are 16 lines. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_PAIRS_AVX512_H
#define ASSAY_KERNEL_NATIVE_LINEAR_PAIRS_AVX512_H

#include "kernel/native/linear/linear_native.h"
#include "kernel/native/vec/vec_avx512.h"

static inline enum native_kind tile_kind(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F32   ? NATIVE_F32
           : dtype == ASSAY_DTYPE_F16 ? NATIVE_F16
                                      : NATIVE_BF16_INSN;
}

/* ---- two bf16 for what has more bits ----------------------------------------------------------
 */

/* A float as the sum of two bf16. An f16 has 11 significant bits and bf16 takes 8: the upper part
 * is the value cut off, the rest has 3 and is exact, and bf16's exponents reach so far that the
 * subnormals of f16 are ordinary numbers. Infinity and NaN are both parts.
 *
 * A product with infinity would still go wrong: infinity times a rest of 0 is NaN. With `careful`
 * the upper part is what lies below the value, nearer to 0, so that no part of a number is 0 save
 * those of 0 itself, and both have its sign. Integers then have fractions on the way to a sum,
 * which it may round, so this is for operands with infinities and NaNs only. */
struct tile_parts {
    vec upper, rest;
    __mmask16 odd; /* which are infinity or NaN */
};

VEC_INLINE struct tile_parts tile_split(vec value, bool careful)
{
    enum { NAN_OR_INFINITY = 0x99 };
    __m512i bits = _mm512_castps_si512(value);
    if (careful) {
        __mmask16 some = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x7fffffff));
        bits = _mm512_mask_sub_epi32(bits, some, bits, _mm512_set1_epi32(1));
    }
    vec upper = _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32((int)0xffff0000u)));
    __mmask16 odd = _mm512_fpclass_ps_mask(value, NAN_OR_INFINITY);
    upper = _mm512_mask_mov_ps(upper, odd, value);
    return (struct tile_parts){upper, _mm512_mask_sub_ps(value, (__mmask16)~odd, value, upper),
                               odd};
}

/* Where a line's rests go, in bytes behind the line itself; 0: they are rounded away. */
struct tile_way {
    size_t rest;
    bool careful;
};

/* 32 f16 in a row as two lines of bf16. True where there is an infinity or NaN among them. */
VEC_INLINE bool tile_split_f16(__m512i halves, struct tile_way way, unsigned char *to)
{
    struct tile_parts a = tile_split(_mm512_cvtph_ps(_mm512_castsi512_si256(halves)), way.careful);
    struct tile_parts b =
        tile_split(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1)), way.careful);
    _mm512_store_si512((void *)to, (__m512i)_mm512_cvtne2ps_pbh(b.upper, a.upper));
    _mm512_store_si512((void *)(to + way.rest), (__m512i)_mm512_cvtne2ps_pbh(b.rest, a.rest));
    return (a.odd | b.odd) != 0;
}

/* ---- weights: one k-step of 32, decoded to 16 lines of bf16 pairs -----------------------------
 */

/* Two floats that bf16 holds exactly, as a pair: the first in the lower half. */
VEC_INLINE __m512i tile_pair_exact(vec first, vec second)
{
    return _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(first), 16),
                           _mm512_castps_si512(second));
}

VEC_INLINE __m512i tile_pair_rounded(vec first, vec second)
{
    static const uint16_t order[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                       21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                       11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    __m512i both = (__m512i)_mm512_cvtne2ps_pbh(second, first);
    return _mm512_permutexvar_epi16(_mm512_loadu_si512(order), both);
}

/* The lowest byte of each dword, as a float: 2^23 + 128 + c is a float's bits with c, its sign
 * turned round, for the last ones. */
VEC_INLINE vec tile_float_s8(__m512i c)
{
    enum { AND_XOR = 0x6a }; /* of a ternary logic: (a & b) ^ c */
    __m512i bits = _mm512_ternarylogic_epi32(c, _mm512_set1_epi32(0xff),
                                             _mm512_set1_epi32(0x4b000080), AND_XOR);
    return vec_sub(_mm512_castsi512_ps(bits), vec_set(0x1p23f + 128));
}

static inline void tile_decode_s8(const unsigned char *codes, unsigned char *to)
{
    for (int line = 0; line < 8; line++) {
        __m512i c = _mm512_loadu_si512(codes + line * 64);
        vec w0 = tile_float_s8(c), w1 = tile_float_s8(_mm512_srli_epi32(c, 8));
        vec w2 = tile_float_s8(_mm512_srli_epi32(c, 16)),
            w3 = tile_float_s8(_mm512_srli_epi32(c, 24));
        _mm512_store_si512(to + line * 128, tile_pair_exact(w0, w1));
        _mm512_store_si512(to + line * 128 + 64, tile_pair_exact(w2, w3));
    }
}

/* 32 e4m3 codes, each in the upper byte of a word, to bf16: the fields move four bits down, the
 * exponent's bias goes from 7 to 127. Codes without a leading one come from a table, and the two
 * NaNs stay NaNs. */
VEC_INLINE __m512i tile_words_from_e4m3(__m512i words)
{
    static const uint16_t small[32] = {0, 0x3b00, 0x3b80, 0x3bc0, 0x3c00, 0x3c20, 0x3c40, 0x3c60};
    __m512i magnitude = _mm512_and_si512(words, _mm512_set1_epi16(0x7f00));
    __m512i value = _mm512_add_epi16(_mm512_srli_epi16(magnitude, 4), _mm512_set1_epi16(120 << 7));
    __mmask32 is_small = _mm512_cmplt_epu16_mask(magnitude, _mm512_set1_epi16(0x0800));
    value = _mm512_mask_permutexvar_epi16(value, is_small, _mm512_srli_epi16(magnitude, 8),
                                          _mm512_loadu_si512(small));
    __mmask32 is_nan = _mm512_cmpeq_epi16_mask(magnitude, _mm512_set1_epi16(0x7f00));
    value = _mm512_mask_mov_epi16(value, is_nan, _mm512_set1_epi16(0x7fc0));
    /* value | (words & sign) */
    return _mm512_ternarylogic_epi32(value, words, _mm512_set1_epi16((short)0x8000), 0xf8);
}

static inline void tile_decode_e4m3(const unsigned char *codes, unsigned char *to)
{
    /* Bytes 0 and 1 of each dword to the upper bytes of its words; then bytes 2 and 3. */
    __m512i first = _mm512_broadcast_i32x4(
        _mm_setr_epi8(-1, 0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13));
    __m512i second = _mm512_broadcast_i32x4(
        _mm_setr_epi8(-1, 2, -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15));
    for (int line = 0; line < 8; line++) {
        __m512i c = _mm512_loadu_si512(codes + line * 64);
        _mm512_store_si512(to + line * 128, tile_words_from_e4m3(_mm512_shuffle_epi8(c, first)));
        _mm512_store_si512(to + line * 128 + 64,
                           tile_words_from_e4m3(_mm512_shuffle_epi8(c, second)));
    }
}

/* Pairs of floats as one line, rounded, or as two. True where there is an infinity or NaN among
 * those of two. */
VEC_INLINE bool tile_put_pairs(vec first, vec second, struct tile_way way, unsigned char *to)
{
    if (way.rest == 0) {
        _mm512_store_si512((void *)to, tile_pair_rounded(first, second));
        return false;
    }
    struct tile_parts a = tile_split(first, way.careful), b = tile_split(second, way.careful);
    _mm512_store_si512((void *)to, tile_pair_rounded(a.upper, b.upper));
    _mm512_store_si512((void *)(to + way.rest), tile_pair_rounded(a.rest, b.rest));
    return (a.odd | b.odd) != 0;
}

/* These tell whether there is an infinity or NaN among weights in two parts. */
static inline bool tile_decode_f16(const unsigned char *codes, struct tile_way way,
                                   unsigned char *to)
{
    bool odd = false;
    for (int line = 0; line < 16; line++)
        odd |= tile_split_f16(_mm512_loadu_si512(codes + line * 64), way, to + line * 64);
    return odd;
}

struct tile_group {
    vec scale, zero;
};

/* Scales and zeros of the group that element `at` of k lies in, for the 16 rows of a panel. */
VEC_INLINE struct tile_group tile_group_of(const struct assay_packed *w, int64_t panel, int64_t at)
{
    enum native_kind kind = tile_kind(w->dtype);
    int64_t index = (panel * (w->k / w->group) + at / w->group) * ASSAY_PANEL_ROWS;
    return (struct tile_group){vec_load(kind, w->scales, index), vec_load(kind, w->zeros, index)};
}

static inline bool tile_decode_u4(const unsigned char *codes, struct tile_group group,
                                  struct tile_way way, unsigned char *to)
{
    bool odd = false;
    vec table = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    for (int line = 0; line < 4; line++) {
        __m512i c = _mm512_loadu_si512(codes + line * 64);
        for (int j = 0; j < 8; j += 2) {
            vec a = _mm512_permutexvar_ps(_mm512_srli_epi32(c, 4 * j), table);
            vec b = _mm512_permutexvar_ps(_mm512_srli_epi32(c, 4 * j + 4), table);
            a = vec_fma(a, group.scale, group.zero);
            b = vec_fma(b, group.scale, group.zero);
            odd |= tile_put_pairs(a, b, way, to + line * 256 + j / 2 * 64);
        }
    }
    return odd;
}

VEC_INLINE vec tile_u8_at(__m512i c, int byte)
{
    __m512i code = _mm512_and_si512(_mm512_srli_epi32(c, 8 * byte), _mm512_set1_epi32(255));
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(code, _mm512_set1_epi32(128)));
}

static inline bool tile_decode_u8(const unsigned char *codes, struct tile_group group,
                                  struct tile_way way, unsigned char *to)
{
    bool odd = false;
    for (int line = 0; line < 8; line++) {
        __m512i c = _mm512_loadu_si512(codes + line * 64);
        for (int j = 0; j < 4; j += 2) {
            vec a = vec_fma(tile_u8_at(c, j), group.scale, group.zero);
            vec b = vec_fma(tile_u8_at(c, j + 1), group.scale, group.zero);
            odd |= tile_put_pairs(a, b, way, to + line * 128 + j / 2 * 64);
        }
    }
    return odd;
}

/* k-step `step` of a panel, whatever its codes; not weights that are bf16 as they lie. */
static inline bool tile_decode(const struct assay_packed *w, int64_t panel, int64_t step,
                               struct tile_way way, unsigned char *to)
{
    const unsigned char *codes = w->codes + (size_t)panel * assay_packed_panel_bytes(w);
    size_t half = (size_t)step * 8 * ASSAY_LINE_BYTES; /* of what bf16 would take */
    switch (w->code) {
    case ASSAY_DTYPE_NONE:
        return tile_decode_f16(codes + half * 2, way, to);
    case ASSAY_DTYPE_S8:
        tile_decode_s8(codes + half, to);
        return false;
    case ASSAY_DTYPE_E4M3:
        tile_decode_e4m3(codes + half, to);
        return false;
    case ASSAY_DTYPE_U4:
        return tile_decode_u4(codes + half / 2, tile_group_of(w, panel, step * 32), way, to);
    default:
        return tile_decode_u8(codes + half, tile_group_of(w, panel, step * 32), way, to);
    }
}

#endif
