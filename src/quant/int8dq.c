/* int8dq.c: 8-bit weights and, at run time, 8-bit activations; products are summed as integers. */
#include "quant/quant_recipe.h"

static bool parse(const char *name, struct assay_recipe *out)
{
    out->code = ASSAY_DTYPE_S8;
    out->scope = ASSAY_SCOPE_ROW;
    out->activation = ASSAY_DTYPE_S8;
    out->activation_scope = ASSAY_SCOPE_ROW;
    return assay_recipe_match("int8dq", name, NULL, NULL);
}

const struct assay_quant assay_quant_int8dq = {
    .pattern = "int8dq",
    .summary = "int8 weights, int8 activations with a scale for each token",
    .usual = "int8dq",
    .parse = parse,
    .solve = assay_solve_symmetric,
};
