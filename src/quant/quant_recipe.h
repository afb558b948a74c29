/* quant_recipe.h: what the files of recipes share. */
#ifndef ASSAY_QUANT_QUANT_RECIPE_H
#define ASSAY_QUANT_QUANT_RECIPE_H

#include "quant/quant.h"

/* Does `name`, in lower case, follow the pattern? G in it stands for a group of 32, 64, 128 or 256
 * and B for 4 or 8 bits; they go to *group and *bits, which may be NULL where the pattern lacks
 * them. */
bool assay_recipe_match(const char *pattern, const char *name, int32_t *bits, int32_t *group);

/* What a recipe is that TorchAO has and assay has not, by its name in lower case; NULL: none. */
const char *assay_recipe_elsewhere(const char *name);

/* The greatest magnitude; the least and the greatest. NaN if there is one. */
float assay_recipe_amax(const float *w, int64_t count);
void assay_recipe_range(const float *w, int64_t count, float *least, float *most);

/* The nearest value of a high-precision type. */
float assay_recipe_round(enum assay_dtype dtype, float value);

/* Unsigned codes go from 0 to 2^bits - 1, and half of 2^bits stands for `zero`. */
static inline int32_t assay_recipe_half(enum assay_dtype code)
{
    return code == ASSAY_DTYPE_U4 ? 8 : 128;
}

/* Two ways to solve. Symmetric: assay_quant_scale of the greatest magnitude. Asymmetric: the codes
 * span from the least weight to the greatest. */
void assay_solve_symmetric(const struct assay_recipe *recipe, enum assay_dtype dtype,
                           const float *w, int64_t count, float *scale, float *zero);
void assay_solve_asymmetric(const struct assay_recipe *recipe, enum assay_dtype dtype,
                            const float *w, int64_t count, float *scale, float *zero);

#endif
