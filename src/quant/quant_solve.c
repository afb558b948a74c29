/* quant_solve.c: scales and zeros: the definitions recipes share. */
#include "quant/quant_loops.h"
#include "quant/quant_recipe.h"

float assay_quant_scale(enum assay_dtype code, float amax)
{
    float most = code == ASSAY_DTYPE_S8 ? 127.5f : code == ASSAY_DTYPE_E4M3 ? 448.0f : 57344.0f;
    float scale = amax / most;
    return isinf(1.0f / scale) ? 1.0f : scale; /* 0 too */
}

float assay_recipe_amax(const float *w, int64_t count)
{
    return assay_quant_loops()->amax(w, count);
}

void assay_recipe_range(const float *w, int64_t count, float *least, float *most)
{
    assay_quant_loops()->range(w, count, least, most);
}

float assay_recipe_round(enum assay_dtype dtype, float value)
{
    if (dtype == ASSAY_DTYPE_BF16)
        return assay_bf16_to_f32(assay_bf16_from_f32(value));
    if (dtype == ASSAY_DTYPE_F16)
        return assay_f16_to_f32(assay_f16_from_f32(value));
    return value;
}

void assay_solve_symmetric(const struct assay_recipe *recipe, enum assay_dtype dtype,
                           const float *w, int64_t count, float *scale, float *zero)
{
    (void)dtype;
    *scale = assay_quant_scale(recipe->code, assay_recipe_amax(w, count));
    *zero = 0;
}

/* No scale is 0; and f16 ends at 6e-8. */
static const float least_scale = 1e-6f;

void assay_solve_asymmetric(const struct assay_recipe *recipe, enum assay_dtype dtype,
                            const float *w, int64_t count, float *scale, float *zero)
{
    (void)dtype;
    float least, most, half = (float)assay_recipe_half(recipe->code);
    assay_recipe_range(w, count, &least, &most);
    if (least == most) { /* any scale will do: all codes are `half`, and that is exact */
        *scale = 1;
        *zero = least;
        return;
    }
    float step = (most - least) / (2 * half - 1);
    *scale = step >= least_scale ? step : least_scale; /* NaN too becomes the least */
    *zero = least + half * *scale;
}
