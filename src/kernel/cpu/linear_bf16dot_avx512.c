/* linear_bf16dot_avx512.c: pairs of bf16 by vdpbf16ps (AVX512_BF16).
 *
 * The instruction takes subnormals for zeros and rounds each product's sum its own way. */
#include "kernel/cpu/vec_avx512.h"

#include "kernel/cpu/linear_bodies.h"
#include "kernel/cpu/linear_line_avx512.h"

#define LINEAR_PER 2
#define LINEAR_INTEGERS 0
#define LINEAR_DOT(x, w, sum)                                                                      \
    _mm512_dpbf16_ps(sum, (__m512bh)_mm512_castps_si512(x), (__m512bh)_mm512_castps_si512(w))
#define LINEAR_ADD(a, b) line_add(a, b)
#define linear_correct(call, tile, sums) ((void)0)

static void linear_pack_row(const struct linear_job *job, const void *x, float scale, int64_t rows,
                            float *dwords)
{
    (void)scale;
    const uint16_t *from = x;
    for (int64_t i = 0; i < job->k; i += 32, dwords += 16 * rows) {
        __mmask32 mask = job->k - i < 32 ? (1u << (job->k - i)) - 1 : ~0u;
        _mm512_storeu_si512(dwords, _mm512_maskz_loadu_epi16(mask, from + i));
    }
}

#include "kernel/cpu/linear_body.h"

LINEAR_BODY(assay_linear_bf16dot_avx512);

static const struct linear_takes takes = {
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .codes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_NONE),
    .activations = ASSAY_DTYPE_BIT(ASSAY_DTYPE_NONE),
};
LINEAR_KERNEL(linear_bf16dot_avx512, ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16, 25,
              assay_linear_bf16dot_avx512, takes);
