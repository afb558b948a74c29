/* int4wo.c: 4-bit weights with a scale and a zero for each group. */
#include "quant/quant_recipe.h"

static bool parse(const char *name, struct assay_recipe *out)
{
    out->code = ASSAY_DTYPE_U4;
    out->scope = ASSAY_SCOPE_GROUP;
    return assay_recipe_match("int4wo-G", name, NULL, &out->group);
}

const struct assay_quant assay_quant_int4wo = {
    .pattern = "int4wo-G",
    .summary = "uint4 weights, a scale and a zero for each group of G",
    .usual = "int4wo-128",
    .parse = parse,
    .solve = assay_solve_asymmetric,
};
