/* float8wo.c: e4m3 weights with one scale for each row; activations as they come. */
#include "quant/quant_recipe.h"

static bool parse(const char *name, struct assay_recipe *out)
{
    out->code = ASSAY_DTYPE_E4M3;
    out->scope = ASSAY_SCOPE_ROW;
    return assay_recipe_match("float8wo", name, NULL, NULL);
}

const struct assay_quant assay_quant_float8wo = {
    .pattern = "float8wo",
    .summary = "e4m3 weights, a scale for each row",
    .usual = "float8wo",
    .parse = parse,
    .solve = assay_solve_symmetric,
};
