/* quant_activations.c: what recipes do to activations at run time, as a reference for kernels. */
#include "quant/quant_loops.h"
#include "quant/quant_recipe.h"

enum { BLOCK = 1024 };

static void quantise(const struct assay_quant_loops *loops, enum assay_dtype code, const float *x,
                     int64_t n, float scale, float *out)
{
    union {
        int8_t s8[BLOCK];
        uint8_t e4m3[BLOCK];
    } codes;
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t count = n - first < BLOCK ? n - first : BLOCK;
        if (code == ASSAY_DTYPE_S8) {
            loops->to_s8(x + first, count, 1.0f / scale, codes.s8);
            for (int64_t i = 0; i < count; i++)
                out[first + i] = (float)codes.s8[i] * scale;
        } else {
            loops->to_e4m3(x + first, count, 1.0f / scale, codes.e4m3);
            for (int64_t i = 0; i < count; i++)
                out[first + i] = assay_e4m3_to_f32(codes.e4m3[i]) * scale;
        }
    }
}

void assay_quant_activations(const struct assay_recipe *recipe, const float *x, int64_t m,
                             int64_t k, float *out)
{
    const struct assay_quant_loops *loops = assay_quant_loops();
    enum assay_dtype code = recipe->activation;
    if (code == ASSAY_DTYPE_NONE) {
        if (out != x)
            memcpy(out, x, (size_t)m * (size_t)k * sizeof *out);
    } else if (recipe->activation_scope == ASSAY_SCOPE_TENSOR) {
        quantise(loops, code, x, m * k, assay_quant_scale(code, loops->amax(x, m * k)), out);
    } else {
        for (int64_t i = 0; i < m * k; i += k)
            quantise(loops, code, x + i, k, assay_quant_scale(code, loops->amax(x + i, k)),
                     out + i);
    }
}
