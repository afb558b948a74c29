/* int8wo.c: 8-bit weights with one scale for each row; activations as they come. */
#include "quant/quant_recipe.h"

static bool parse(const char *name, struct assay_recipe *out)
{
    out->code = ASSAY_DTYPE_S8;
    out->scope = ASSAY_SCOPE_ROW;
    return assay_recipe_match("int8wo", name, NULL, NULL);
}

const struct assay_quant assay_quant_int8wo = {
    .pattern = "int8wo",
    .summary = "int8 weights, a scale for each row",
    .usual = "int8wo",
    .parse = parse,
    .solve = assay_solve_symmetric,
};
