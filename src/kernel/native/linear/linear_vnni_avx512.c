/* linear_vnni_avx512.c: 8-bit integers four at a time, by vpdpbusd (AVX512_VNNI).
 *
 * The instruction multiplies unsigned by signed bytes, so x goes in with 128 added to it, and 128
 * times the sum of each row of weights comes off the sums. They may pass the ends of s32 on the
 * way: the subtraction wraps back. For recipes that make x 8-bit integers; linear_s8_vnni_avx512.c
 * is for x that comes as such. */
#include "kernel/native/vec/vec_avx512.h"

#include "kernel/native/linear/linear_bodies.h"
#include "kernel/native/linear/linear_line_avx512.h"
#include "kernel/native/linear/linear_epilogue.h"
#include "kernel/native/linear/linear_pack.h"

#define LINEAR_OWN LINEAR_S8
#define LINEAR_PER 4
#define LINEAR_INTEGERS 1
#define LINEAR_DOT(x, w, sum)                                                                      \
    _mm512_castsi512_ps(_mm512_dpbusd_epi32(_mm512_castps_si512(sum), _mm512_castps_si512(x),      \
                                            _mm512_castps_si512(w)))

#define LINEAR_ADD(a, b)                                                                           \
    _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)))

/* 16 codes of x, plus 128. n may be anything; what is beyond it is not read. */
VEC_INLINE __m128i vnni_codes(enum native_kind kind, const void *x, int64_t at, int64_t n,
                              vec inverse)
{
    vec a = pack_code(ASSAY_DTYPE_S8, pack_load(false, kind, x, at, n), inverse);
    __m128i codes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a));
    return _mm_xor_si128(codes, _mm_set1_epi8(-128));
}

VEC_INLINE void vnni_pack(enum native_kind kind, const void *x, int64_t k, float scale,
                          int64_t rows, char *to)
{
    vec inverse = vec_set(1.0f / scale);
    for (int64_t i = 0; i < k; i += 64, to += 64 * rows)
        for (int64_t j = 0; j < 64; j += 16)
            _mm_storeu_si128((void *)(to + j), vnni_codes(kind, x, i + j, k - i - j, inverse));
}

static void linear_pack_row(const struct linear_job *job, const void *x, float scale, int64_t rows,
                            float *dwords)
{
    int64_t k = job->k;
    char *to = (char *)dwords;
    enum native_kind kind = linear_kind_of(job->dtype);
    if (job->dtype == ASSAY_DTYPE_S8) {
        const int8_t *from = x;
        for (int64_t i = 0; i < k; i += 64, to += 64 * rows) {
            __mmask64 mask = k - i < 64 ? (1ull << (k - i)) - 1 : ~0ull;
            __m512i codes = _mm512_maskz_loadu_epi8(mask, from + i);
            _mm512_storeu_si512(to, _mm512_xor_si512(codes, _mm512_set1_epi8(-128)));
        }
    } else if (kind == NATIVE_BF16) {
        vnni_pack(NATIVE_BF16, x, k, scale, rows, to);
    } else if (kind == NATIVE_F16) {
        vnni_pack(NATIVE_F16, x, k, scale, rows, to);
    } else {
        vnni_pack(NATIVE_F32, x, k, scale, rows, to);
    }
}

static void linear_correct(const struct linear_call *call, const struct epilogue_tile *tile,
                           float *sums)
{
    for (int64_t r = 0; r < tile->rows; r++)
        for (int64_t p = 0; p < tile->panels; p++, sums += 16) {
            __m512i row_sums = _mm512_loadu_si512(call->w->row_sums + (tile->panel + p) * 16);
            __m512i extra = _mm512_slli_epi32(row_sums, 7);
            _mm512_storeu_si512(sums, _mm512_sub_epi32(_mm512_loadu_si512(sums), extra));
        }
}

/* Its codes are always its own. */
#define linear_decode_panel(w, code, panel, b, count, to) ((void)0)

#include "kernel/native/linear/linear_body.h"

LINEAR_BODY(assay_linear_vnni_avx512);

static const struct linear_takes takes = {
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .codes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
    .activations = ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
};
LINEAR_KERNEL(linear_vnni_avx512, ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_VNNI, 40,
              assay_linear_vnni_avx512, takes);
