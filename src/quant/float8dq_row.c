/* float8dq_row.c: e4m3 weights and, at run time, e4m3 activations, a scale for each row of both. */
#include "quant/quant_recipe.h"

static bool parse(const char *name, struct assay_recipe *out)
{
    out->code = ASSAY_DTYPE_E4M3;
    out->scope = ASSAY_SCOPE_ROW;
    out->activation = ASSAY_DTYPE_E4M3;
    out->activation_scope = ASSAY_SCOPE_ROW;
    out->trains = true;
    return assay_recipe_match("float8dq-row", name, NULL, NULL);
}

const struct assay_quant assay_quant_float8dq_row = {
    .pattern = "float8dq-row",
    .summary = "e4m3 weights and activations, a scale for each row and token",
    .usual = "float8dq-row",
    .parse = parse,
    .solve = assay_solve_symmetric,
};
