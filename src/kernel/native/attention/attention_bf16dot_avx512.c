/* attention_bf16dot_avx512.c: attention in bf16 by dot products of pairs, vdpbf16ps (AVX512_BF16).
 *
 * The loops are those of attention_body.h; a product takes two elements, or two keys, at a time.
 * Exponentials are rounded to bf16, their sum is of those before. */
#include "base/math.h"
#include "kernel/native/vec/vec_avx512.h"

#include "kernel/native/attention/attention_native.h"

#define ATTENTION_PER 2
#define ATTENTION_NEED (ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16)
#define ATTENTION_DOT(x, column, sum)                                                              \
    _mm512_dpbf16_ps(sum, (__m512bh)_mm512_castps_si512(x), (__m512bh)_mm512_castps_si512(column))

/* A line of 32 elements, and how many rows ahead to prefetch. */
enum { PAIRS = 16, LINE = 32, FAR_ROWS = 64 };

/* The pairs of 32 elements from `at` on; those from `count` on are 0. */
VEC_INLINE __m512i load_pairs(const void *data, int64_t at, int64_t count)
{
    __mmask32 mask = count >= LINE ? ~UINT32_C(0) : (UINT32_C(1) << count) - 1;
    return _mm512_maskz_loadu_epi16(mask, (const uint16_t *)data + at);
}

VEC_INLINE void store_pairs(float *to, int64_t dwords, __m512i pairs)
{
    __mmask16 mask = dwords >= PAIRS ? (__mmask16)0xffff : (__mmask16)((1u << dwords) - 1);
    _mm512_mask_storeu_epi32(to, mask, pairs);
}

static void attention_pack_keys(const struct attention_job *job, const struct attention_head *head,
                                float *to)
{
    int64_t dim = job->dim, dwords = (dim + 1) / 2;
    for (int64_t key = 0; key < job->seq; key += VEC_LANES) {
        attention_prefetch_input(job, head->k, head->k_at, key + FAR_ROWS, VEC_LANES);
        for (int64_t d = 0; d < dim; d += LINE) {
            vec square[VEC_LANES];
            for (int i = 0; i < VEC_LANES; i++) {
                int64_t at = head->k_at + (key + i) * job->step + d;
                square[i] = key + i < job->seq
                                ? _mm512_castsi512_ps(load_pairs(head->k, at, dim - d))
                                : vec_set(0);
            }
            vec_transpose(square);
            for (int i = 0; i < PAIRS && d / 2 + i < dwords; i++)
                vec_store(NATIVE_F32, to, key * dwords + (d / 2 + i) * VEC_LANES, square[i]);
        }
    }
}

/* 16 elements, each in the lower half of a dword. */
VEC_INLINE __m512i load_words(const void *data, int64_t at, int64_t count)
{
    __mmask16 mask = count >= VEC_LANES ? (__mmask16)0xffff : (__mmask16)((1u << count) - 1);
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, (const uint16_t *)data + at));
}

static void attention_pack_values(const struct attention_job *job,
                                  const struct attention_head *head, float *to)
{
    int64_t dim = job->dim, padded = assay_round_up(dim, VEC_LANES);
    for (int64_t key = 0; key < job->seq; key += 2, to += padded) {
        attention_prefetch_input(job, head->v, head->v_at, key + FAR_ROWS, 2);
        for (int64_t d = 0; d < dim; d += VEC_LANES) {
            int64_t at = head->v_at + key * job->step + d;
            __m512i pairs = load_words(head->v, at, dim - d);
            if (key + 1 < job->seq) {
                __m512i second = load_words(head->v, at + job->step, dim - d);
                pairs = _mm512_or_si512(pairs, _mm512_slli_epi32(second, 16));
            }
            _mm512_storeu_si512(to + d, pairs);
        }
    }
}

/* Rows behind the last stay what they are: they only meet outputs that nobody takes. */
static void attention_pack_rows(const struct attention_job *job, const struct attention_head *head,
                                int64_t row, int64_t rows, float *to)
{
    int64_t dim = job->dim, dwords = (dim + 1) / 2;
    for (int64_t r = 0; r < rows; r++, to += dwords) {
        int64_t at = head->q_at + (row + r) * job->step;
        for (int64_t d = 0; d < dim; d += LINE)
            store_pairs(to + d / 2, dwords - d / 2, load_pairs(head->q, at + d, dim - d));
    }
}

VEC_INLINE void attention_put(float *p, int64_t at, const vec *y)
{
    _mm512_storeu_si512(p + at, (__m512i)_mm512_cvtne2ps_pbh(y[1], y[0]));
}

#include "kernel/native/attention/attention_body.h"

extern const struct assay_kernel assay_kernel_attention_bf16dot_avx512;
const struct assay_kernel assay_kernel_attention_bf16dot_avx512 = {
    ATTENTION_FIELDS,
    .name = "attention_bf16dot_avx512",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .preference = 25,
    .can_run = can_run,
    .setup = setup,
    .flags = ASSAY_KERNEL_BF16_DOT,
};

extern const struct assay_kernel assay_kernel_attention_training_bf16dot_avx512;
const struct assay_kernel assay_kernel_attention_training_bf16dot_avx512 = {
    ATTENTION_FIELDS_OF("attention_training"),
    .name = "attention_training_bf16dot_avx512",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .preference = 25,
    .can_run = can_run,
    .setup = setup,
    .flags = ASSAY_KERNEL_BF16_DOT,
};
