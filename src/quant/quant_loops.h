/* quant_loops.h: the loops that go over every weight. quant_loops_body.h is compiled once for each
 * instruction set, without intrinsics; all give the same bits. */
#ifndef ASSAY_QUANT_QUANT_LOOPS_H
#define ASSAY_QUANT_QUANT_LOOPS_H

#include "quant/quant.h"

struct assay_quant_loops {
    const char *isa; /* "plain", "avx2", "avx512" */

    /* n weights of type f32, f16 or bf16 in f32. */
    void (*widen)(enum assay_dtype dtype, const void *src, int64_t n, float *dst);

    float (*amax)(const float *w, int64_t n);
    void (*range)(const float *w, int64_t n, float *least, float *most);

    /* Codes of w * inverse; to_s8 returns their sum. */
    int32_t (*to_s8)(const float *w, int64_t n, float inverse, int8_t *codes);
    void (*to_e4m3)(const float *w, int64_t n, float inverse, uint8_t *codes);
    /* Codes of (w - low) / scale, from 0 to `most`; and n of them, even, two to a byte. */
    void (*to_u8)(const float *w, int64_t n, float low, float scale, float most, uint8_t *codes);
    void (*pair)(const uint8_t *codes, int64_t n, uint8_t *out);

    /* One panel: rows[r * stride + line] to out[line * 16 + r], lines a multiple of 16. */
    void (*interleave)(const uint32_t *rows, int64_t stride, int64_t lines, uint32_t *out);

    /* For int4wo-G-hqq; n a multiple of 16. The squared error of 4-bit codes with this scale and
     * zero; and the half-quadratic iteration on v = w / scale, which improves *z, the code (not
     * necessarily whole) that stands for 0. */
    float (*error_u4)(const float *w, int64_t n, float scale, float zero);
    void (*hqq)(const float *v, int64_t n, float *z);
};

extern const struct assay_quant_loops assay_quant_loops_plain;
extern const struct assay_quant_loops assay_quant_loops_avx2;
extern const struct assay_quant_loops assay_quant_loops_avx512;

/* The best that this CPU can run. */
const struct assay_quant_loops *assay_quant_loops(void);

#endif
