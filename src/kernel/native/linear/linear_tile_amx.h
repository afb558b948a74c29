/* linear_tile_amx.h: what goes into and comes out of tiles, with AVX-512: quantising rows of x, and
 * the epilogue of sums (scales, bias, activation, residual, rounding). Weights are decoded to bf16
 * by linear_pairs_avx512.h. Needs AVX-512 with BF16, which every CPU with a matrix unit has. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_TILE_AMX_H
#define ASSAY_KERNEL_NATIVE_LINEAR_TILE_AMX_H

#include "kernel/native/linear/linear_code.h"
#include "kernel/native/linear/linear_pairs_avx512.h"
#include "kernel/native/linear/linear_activation.h"

#include <string.h>

/* ---- x --------------------------------------------------------------------------------------- */

/* The bits of a magnitude order like the integers they are, NaN above all: so it is not lost. */
VEC_INLINE __m512i tile_greater(__m512i greatest, vec x)
{
    return _mm512_max_epu32(greatest, _mm512_castps_si512(vec_abs(x)));
}

VEC_INLINE float tile_greatest(__m512i magnitudes)
{
    uint32_t bits = _mm512_reduce_max_epu32(magnitudes);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

VEC_INLINE float tile_row_amax_of(enum native_kind kind, const void *x, int64_t at, int64_t n)
{
    __m512i greatest[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                           _mm512_setzero_si512()};
    int64_t i = 0;
    for (; i + 4 * VEC_LANES <= n; i += 4 * VEC_LANES)
        for (int j = 0; j < 4; j++)
            greatest[j] = tile_greater(greatest[j], vec_load(kind, x, at + i + j * VEC_LANES));
    for (; i < n; i += VEC_LANES) {
        int64_t count = n - i < VEC_LANES ? n - i : VEC_LANES;
        greatest[0] = tile_greater(greatest[0], vec_load_part(kind, x, at + i, count));
    }
    return tile_greatest(_mm512_max_epu32(_mm512_max_epu32(greatest[0], greatest[1]),
                                          _mm512_max_epu32(greatest[2], greatest[3])));
}

/* The greatest magnitude of n elements from `at` on; NaN if there is one. */
static inline float tile_row_amax(enum assay_dtype dtype, const void *x, int64_t at, int64_t n)
{
    if (dtype == ASSAY_DTYPE_F32)
        return tile_row_amax_of(NATIVE_F32, x, at, n);
    if (dtype == ASSAY_DTYPE_F16)
        return tile_row_amax_of(NATIVE_F16, x, at, n);
    const uint16_t *bits = (const uint16_t *)x + at;
    __m512i magnitude = _mm512_set1_epi16(0x7fff);
    __m512i a = _mm512_setzero_si512(), b = a;
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
        a = _mm512_max_epu16(a, _mm512_and_si512(_mm512_loadu_si512(bits + i), magnitude));
        b = _mm512_max_epu16(b, _mm512_and_si512(_mm512_loadu_si512(bits + i + 32), magnitude));
    }
    for (; i < n; i += 32) {
        __mmask32 mask = n - i >= 32 ? ~UINT32_C(0) : (UINT32_C(1) << (n - i)) - 1;
        __m512i part = _mm512_maskz_loadu_epi16(mask, bits + i);
        a = _mm512_max_epu16(a, _mm512_and_si512(part, magnitude));
    }
    a = _mm512_max_epu16(a, b);
    __m512i odd = _mm512_and_si512(a, _mm512_set1_epi32((int)0xffff0000u));
    return tile_greatest(_mm512_max_epu32(_mm512_slli_epi32(a, 16), odd));
}

VEC_INLINE vec tile_x(enum assay_dtype dtype, const void *row, int64_t at, int64_t count)
{
    enum native_kind kind = tile_kind(dtype);
    if (count >= VEC_LANES)
        return vec_load(kind, row, at);
    return count > 0 ? vec_load_part(kind, row, at, count) : vec_set(0);
}

/* 64 elements as s8: rounded to nearest even and saturated; 0 for NaN. */
VEC_INLINE __m512i tile_quantise_s8(enum assay_dtype dtype, const void *row, int64_t first,
                                    int64_t count, float inverse)
{
    __m128i part[4];
    for (int j = 0; j < 4; j++) {
        vec x = vec_mul(tile_x(dtype, row, first + j * VEC_LANES, count - j * VEC_LANES),
                        vec_set(inverse));
        __mmask16 is_number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
        part[j] = _mm512_cvtsepi32_epi8(_mm512_maskz_cvtps_epi32(is_number, x));
    }
    __m512i all = _mm512_castsi128_si512(part[0]);
    all = _mm512_inserti32x4(all, part[1], 1);
    all = _mm512_inserti32x4(all, part[2], 2);
    return _mm512_inserti32x4(all, part[3], 3);
}

/* The nearest e4m3 value, as a float: three bits behind the leading one, multiples of 2^-9 below
 * 2^-6, at most 448. */
VEC_INLINE vec tile_round_e4m3(vec x)
{
    /* The order of operands keeps a NaN. */
    vec limited = _mm512_max_ps(vec_set(-448), _mm512_min_ps(vec_set(448), x));
    __m512i bits = _mm512_castps_si512(limited);
    __m512i even = _mm512_and_si512(_mm512_srli_epi32(bits, 20), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(even, _mm512_set1_epi32(0x7ffff)));
    rounded = _mm512_and_si512(rounded, _mm512_set1_epi32((int)0xfff00000u));
    vec magic = vec_set(0x1.8p14f);
    vec small = vec_sub(vec_add(limited, magic), magic);
    __mmask16 is_small = _mm512_cmp_ps_mask(vec_abs(limited), vec_set(0x1p-6f), _CMP_LT_OQ);
    __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    vec value = _mm512_mask_blend_ps(is_small, _mm512_castsi512_ps(rounded), small);
    return _mm512_mask_blend_ps(is_nan, value, x);
}

/* 32 elements rounded to e4m3, as bf16, which holds them exactly: the upper halves of the floats.
 */
VEC_INLINE __m512i tile_quantise_e4m3(enum assay_dtype dtype, const void *row, int64_t first,
                                      int64_t count, float inverse)
{
    vec a = tile_round_e4m3(vec_mul(tile_x(dtype, row, first, count), vec_set(inverse)));
    vec b = tile_round_e4m3(
        vec_mul(tile_x(dtype, row, first + VEC_LANES, count - VEC_LANES), vec_set(inverse)));
    __m256i low = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(a), 16));
    __m256i high = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(b), 16));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* What the epilogue of 16 columns needs, the same for all rows. */
struct tile_epilogue {
    const struct linear_call *call;
    int64_t column, columns; /* the first, and how many of the 16 there are */
    bool integer, plain;     /* sums are s32; nothing to do but to round */
    bool stream;             /* whole lines of y by streaming stores */
    vec scale, bias;
};

static inline struct tile_epilogue tile_epilogue_of(const struct linear_call *call, int64_t panel,
                                                    bool integer, bool stream)
{
    const struct linear_job *job = call->job;
    struct tile_epilogue f = {
        .call = call, .column = panel * ASSAY_PANEL_ROWS, .integer = integer, .stream = stream};
    int64_t left = job->n - f.column;
    f.columns = left < ASSAY_PANEL_ROWS ? left : ASSAY_PANEL_ROWS;
    f.scale = call->w->row_scales ? _mm512_loadu_ps(call->w->row_scales + f.column) : vec_set(1);
    f.bias = vec_set(0);
    if (call->bias)
        f.bias = vec_load_part(tile_kind(linear_y_dtype(job)), call->bias, f.column, f.columns);
    f.plain = !integer && !call->x_scales && !call->w->row_scales && !call->bias &&
              !job->activation && !call->residual;
    return f;
}

VEC_INLINE void tile_put_line(bool stream, void *y, __m512i line)
{
    if (stream)
        _mm512_stream_si512(y, line);
    else
        _mm512_storeu_si512(y, line);
}

VEC_INLINE void tile_store(enum native_kind kind, void *y, int64_t at, vec value, int64_t columns)
{
    if (columns == VEC_LANES)
        vec_store(kind, y, at, value);
    else
        vec_store_part(kind, y, at, value, columns);
}

VEC_INLINE vec tile_residual(enum native_kind kind, const unsigned char *from, int64_t columns)
{
    return columns == VEC_LANES ? vec_load(kind, from, 0) : vec_load_part(kind, from, 0, columns);
}

VEC_INLINE void tile_epilogue_kind(enum native_kind kind, const struct tile_epilogue *f,
                                   int64_t rows, const float *x_scales, const unsigned char *sums,
                                   size_t at, size_t stride)
{
    unsigned char *to = f->call->y;
    const unsigned char *residual = f->call->residual;
    for (int64_t r = 0; r < rows; r++, sums += 64, at += stride) {
        vec y = f->integer ? _mm512_cvtepi32_ps(_mm512_loadu_si512(sums)) : _mm512_loadu_ps(sums);
        if (!f->plain) {
            y = vec_fma(vec_mul(y, vec_set(x_scales[r])), f->scale, f->bias);
            y = linear_activate(f->call->job->activation, y);
            if (residual)
                y = vec_add(y, tile_residual(kind, residual + at, f->columns));
        }
        if (kind == NATIVE_F32 && f->columns == VEC_LANES)
            tile_put_line(f->stream, to + at, _mm512_castps_si512(y));
        else
            tile_store(kind, to + at, 0, y, f->columns);
    }
}

/* Finishes a tile of `rows` rows of sums; row r goes to byte `at` + r * stride of y. */
static inline void tile_epilogue(const struct tile_epilogue *f, int64_t rows, const float *x_scales,
                                 const unsigned char *sums, size_t at, size_t stride)
{
    enum assay_dtype dtype = linear_y_dtype(f->call->job);
    if (dtype == ASSAY_DTYPE_S8)
        for (int64_t r = 0; r < rows; r++, sums += 64, at += stride) {
            unsigned char *y = (unsigned char *)f->call->y + at;
            if (f->columns == VEC_LANES)
                tile_put_line(f->stream, y, _mm512_loadu_si512(sums));
            else
                _mm512_mask_storeu_epi32(y, vec_tail(f->columns), _mm512_loadu_si512(sums));
        }
    else if (dtype == ASSAY_DTYPE_BF16)
        tile_epilogue_kind(NATIVE_BF16_INSN, f, rows, x_scales, sums, at, stride);
    else if (dtype == ASSAY_DTYPE_F16)
        tile_epilogue_kind(NATIVE_F16, f, rows, x_scales, sums, at, stride);
    else
        tile_epilogue_kind(NATIVE_F32, f, rows, x_scales, sums, at, stride);
}

/* Two tiles side by side to bf16, a line of both at a time; all 32 columns are there. */
static inline void tile_epilogue_pair(const struct tile_epilogue *a, const struct tile_epilogue *b,
                                      int64_t rows, const float *x_scales,
                                      const unsigned char *sums_a, const unsigned char *sums_b,
                                      size_t at, size_t stride)
{
    enum assay_linear_activation activation = a->call->job->activation;
    unsigned char *to = a->call->y;
    const unsigned char *residual = a->call->residual;
    for (int64_t r = 0; r < rows; r++, at += stride, sums_a += 64, sums_b += 64) {
        vec first = _mm512_loadu_ps(sums_a), second = _mm512_loadu_ps(sums_b);
        if (a->integer) {
            first = _mm512_cvtepi32_ps(_mm512_castps_si512(first));
            second = _mm512_cvtepi32_ps(_mm512_castps_si512(second));
        }
        if (!a->plain) {
            vec x_scale = vec_set(x_scales[r]);
            first = vec_fma(vec_mul(first, x_scale), a->scale, a->bias);
            second = vec_fma(vec_mul(second, x_scale), b->scale, b->bias);
            if (activation != ASSAY_LINEAR_NONE) {
                first = linear_activate(activation, first);
                second = linear_activate(activation, second);
            }
            if (residual) {
                first = vec_add(first, vec_load(NATIVE_BF16, residual + at, 0));
                second = vec_add(second, vec_load(NATIVE_BF16, residual + at, VEC_LANES));
            }
        }
        tile_put_line(a->stream, to + at, (__m512i)_mm512_cvtne2ps_pbh(second, first));
    }
}

#endif
