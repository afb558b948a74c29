/* linear_pairs_stream.h: few rows of bf16 times codes of 4 or 8 bits, decoded between the products
 * (linear_inner.h), by dot products of pairs.
 *
 * A bf16 between 16 and 32 counts in eighths: 16 + c, c below 16, is 0x4180 | c << 3. So two codes
 * of 4 bits that lie 16 bits apart become a pair of bf16 by one shift and one and-or, and 16 times
 * the sum of x comes off the sum of their products. Codes of 8 bits are 16 h + l, of which h and l
 * are summed apart, which takes twice the products: only for the fewest rows.
 *
 * Which elements lie 16 bits apart is how x is ordered (linear_pack_stream). Include linear_inner.h
 * first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_PAIRS_STREAM_H
#define ASSAY_KERNEL_NATIVE_LINEAR_PAIRS_STREAM_H

#include "kernel/native/linear/linear_inner.h"

enum { PAIRS_ROWS_8 = 4 };
#define LINEAR_STREAMS(code, rows)                                                                 \
    ((code) == LINEAR_U4   ? (rows) <= LINE_STREAM_ROWS                                            \
     : (code) == LINEAR_U8 ? (rows) <= PAIRS_ROWS_8                                                \
                           : (code) == LINEAR_S8 && (rows) <= PAIRS_ROWS_8)
/* Rows and panels of a tile; of 8 bits, which have two sums, fewer. */
#define PAIRS_SIZES_8(T) T(1, 1) T(2, 1) T(4, 1) T(1, 4) T(2, 4) T(4, 2)
#define PAIRS_SIZES_4(T) T(1, 1) T(2, 1) T(4, 1) T(8, 1) T(1, 4) T(2, 4) T(4, 4) T(8, 2)

typedef line pairs_sums[LINE_STREAM_ROWS][INNER_MAX_PANELS];

/* The j-th 4 bits of each half of the dwords, as 16 + c in bf16. */
VEC_INLINE line pairs_nibbles(__m512i bits, const int j)
{
    enum { AND_OR = 0xea }; /* of a ternary logic: (a & b) | c */
    __m512i there = j ? _mm512_srli_epi32(bits, 4 * j - 3) : _mm512_slli_epi32(bits, 3);
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(there, _mm512_set1_epi32(0x00780078),
                                                         _mm512_set1_epi32(0x41804180), AND_OR));
}

/* Blocks of one group, added to two sums each: of 8 bits' lower and upper halves, or, where there
 * are so few that products would wait for each other, of every other 4 bits. */
VEC_INLINE void pairs_blocks(const struct linear_inner *t, enum linear_code code, const int R,
                             const int P, int64_t b, int64_t count, pairs_sums sum[2])
{
    const int lines = 16 * 2 / linear_code_per(code), dwords = 16 / lines;
    const float *x = t->x + b * R * 16;
    const unsigned char *w = t->w + b * lines * 64;
    const int sums = code == LINEAR_U4 && R * P > 4 ? 1 : 2;
    const bool prefetch = t->prefetch;
    const __m512i signs = _mm512_set1_epi32(code == LINEAR_S8 ? (int)0x80808080u : 0);
    for (int64_t end = b + count; b < end; b++, x += R * 16, w += lines * 64) {
        size_t ahead = inner_ahead(t, b, lines);
        for (int u = 0; u < lines; u++) {
            __m512i bits[INNER_MAX_PANELS];
            INNER_PANELS
            {
                const unsigned char *at = w + (size_t)p * t->stride + (size_t)u * 64;
                bits[p] = _mm512_xor_si512(_mm512_loadu_si512(at), signs);
                if (prefetch)
                    inner_prefetch(at, ahead);
            }
            LINEAR_UNROLL for (int j = 0; j < 4; j++)
            {
                const int dword = dwords == 4 ? j : j / 2;
                line v[INNER_MAX_PANELS];
                INNER_PANELS v[p] = pairs_nibbles(bits[p], j);
                INNER_ROWS
                {
                    line xs = line_spread(x + r * 16 + u * dwords + dword);
                    INNER_PANELS sum[j % sums][r][p] = LINEAR_DOT(xs, v[p], sum[j % sums][r][p]);
                }
            }
        }
    }
}

/* The sums of one group without what was added to the codes. */
VEC_INLINE line pairs_code_sum(enum linear_code code, line low, line high, line x_sum)
{
    line minus_16 = line_all(-16.0f), minus_24 = line_all(-24.0f); /* 8: half of the codes */
    if (code == LINEAR_U4)
        return line_fma(x_sum, minus_24, line_add(low, high));
    return line_fma(line_fma(x_sum, minus_24, high), line_all(16.0f),
                    line_fma(x_sum, minus_16, low));
}

VEC_INLINE void pairs_stream(const struct linear_inner *t, enum linear_code code, const int R,
                             const int P)
{
    line all[LINE_STREAM_ROWS][INNER_MAX_PANELS];
    INNER_ROWS INNER_PANELS all[r][p] = line_zero();
    for (int64_t g = 0; g < t->groups; g++) {
        pairs_sums sum[2];
        INNER_ROWS INNER_PANELS sum[0][r][p] = sum[1][r][p] = line_zero();
        int64_t first = g * t->group_blocks, left = t->blocks - first;
        pairs_blocks(t, code, R, P, first, left < t->group_blocks ? left : t->group_blocks, sum);
        INNER_PANELS
        {
            int64_t at = (p * t->groups + g) * 16;
            INNER_ROWS
            {
                line x_sum = line_spread(t->x_sums + g * R + r);
                line codes = pairs_code_sum(code, sum[0][r][p], sum[1][r][p], x_sum);
                if (code == LINEAR_S8) {
                    all[r][p] = line_add(all[r][p], codes);
                    continue;
                }
                line scale = line_from(t->scale_kind, t->scales, at);
                line zero = line_from(t->scale_kind, t->zeros, at);
                all[r][p] = line_fma(scale, codes, line_fma(zero, x_sum, all[r][p]));
            }
        }
    }
    INNER_ROWS INNER_PANELS line_put(t->sums + (r * P + p) * 16, all[r][p]);
}

#define PAIRS_STREAM_8(R, P)                                                                       \
    static void s8_##R##x##P(const struct linear_inner *t) { pairs_stream(t, LINEAR_S8, R, P); }   \
    static void u8_##R##x##P(const struct linear_inner *t) { pairs_stream(t, LINEAR_U8, R, P); }
#define PAIRS_STREAM_4(R, P)                                                                       \
    static void u4_##R##x##P(const struct linear_inner *t) { pairs_stream(t, LINEAR_U4, R, P); }
#define PAIRS_ENTRIES_8(R, P) [LINEAR_S8][R][P] = s8_##R##x##P, [LINEAR_U8][R][P] = u8_##R##x##P,
#define PAIRS_ENTRIES_4(R, P) [LINEAR_U4][R][P] = u4_##R##x##P,

PAIRS_SIZES_8(PAIRS_STREAM_8)
PAIRS_SIZES_4(PAIRS_STREAM_4)
static linear_inner_fn
    *const stream_inner[LINEAR_CODES][LINE_STREAM_ROWS + 1][INNER_MAX_PANELS + 1] = {
        PAIRS_SIZES_8(PAIRS_ENTRIES_8) PAIRS_SIZES_4(PAIRS_ENTRIES_4)};

/* x as the codes' halves lie: of each dword of 8 codes elements 0 and 4, 1 and 5, … make pairs, of
 * 4 codes 0 and 2, 1 and 3. And the sums over each group, [group][rows], or NaN where x is so large
 * that many times x might overflow. */
static void linear_pack_stream(const struct linear_inner *t, enum linear_code code, float *x,
                               int64_t rows, float *sums)
{
    static const uint16_t orders[2][32] = {
        {0,  2,  1,  3,  4,  6,  5,  7,  8,  10, 9,  11, 12, 14, 13, 15,
         16, 18, 17, 19, 20, 22, 21, 23, 24, 26, 25, 27, 28, 30, 29, 31},
        {0,  4,  1,  5,  2,  6,  3,  7,  8,  12, 9,  13, 10, 14, 11, 15,
         16, 20, 17, 21, 18, 22, 19, 23, 24, 28, 25, 29, 26, 30, 27, 31}};
    __m512i order = _mm512_loadu_si512(orders[code == LINEAR_U4]);
    const vec too_large = vec_set(0x1p+100f);
    for (int64_t g = 0; g < t->groups; g++)
        for (int64_t r = 0; r < rows; r++) {
            vec sum = vec_set(0);
            __mmask16 large = 0;
            int64_t b = g * t->group_blocks, end = b + t->group_blocks;
            for (end = end < t->blocks ? end : t->blocks; b < end; b++) {
                float *at = x + (b * rows + r) * 16;
                __m512i pairs = _mm512_loadu_si512(at);
                vec low = line_code(LINEAR_BF16, at, pairs, 0);
                vec high = line_code(LINEAR_BF16, at, pairs, 1);
                vec most = vec_max(vec_abs(low), vec_abs(high));
                large |= _mm512_cmp_ps_mask(most, too_large, _CMP_NLT_UQ);
                sum = vec_add(sum, vec_add(low, high));
                _mm512_storeu_si512(at, _mm512_permutexvar_epi16(order, pairs));
            }
            sums[g * rows + r] = large ? NAN : vec_sum(sum);
        }
}

#endif
