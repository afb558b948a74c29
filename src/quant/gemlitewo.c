/* gemlitewo.c: 4- or 8-bit weights with a scale and a zero for each group, as gemlite has them. */
#include "quant/quant_recipe.h"

static bool parse(const char *name, struct assay_recipe *out)
{
    int32_t bits = 0;
    out->scope = ASSAY_SCOPE_GROUP;
    if (!assay_recipe_match("gemlitewo-B-G", name, &bits, &out->group))
        return false;
    out->code = bits == 4 ? ASSAY_DTYPE_U4 : ASSAY_DTYPE_U8;
    return true;
}

const struct assay_quant assay_quant_gemlitewo = {
    .pattern = "gemlitewo-B-G",
    .summary = "uint B weights (4 or 8), a scale and a zero for each group of G",
    .usual = "gemlitewo-4-64",
    .parse = parse,
    .solve = assay_solve_asymmetric,
};
