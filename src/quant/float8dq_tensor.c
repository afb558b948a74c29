/* float8dq_tensor.c: e4m3 weights and, at run time, e4m3 activations, one scale for each tensor. */
#include "quant/quant_recipe.h"

static bool parse(const char *name, struct assay_recipe *out)
{
    out->code = ASSAY_DTYPE_E4M3;
    out->scope = ASSAY_SCOPE_TENSOR;
    out->activation = ASSAY_DTYPE_E4M3;
    out->activation_scope = ASSAY_SCOPE_TENSOR;
    out->trains = true;
    return assay_recipe_match("float8dq-tensor", name, NULL, NULL);
}

const struct assay_quant assay_quant_float8dq_tensor = {
    .pattern = "float8dq-tensor",
    .summary = "e4m3 weights and activations, one scale for all",
    .usual = "float8dq-tensor",
    .parse = parse,
    .solve = assay_solve_symmetric,
};
