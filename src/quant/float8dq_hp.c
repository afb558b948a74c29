/* float8dq_hp.c: float8 training of which some operands or products stay in high precision:
 * "float8dq-row-gw-hp" (the product of the weights' gradient), "float8dq-tensor-go-hp" (the
 * output's gradient in both of its products). Between the granularity and -hp stand, in this order
 * and each at most once, -i (the input), -w (the weight), -go (the gradient of the output) and -gw.
 */
#include "quant/quant_recipe.h"

#include <string.h>

/* Takes `word` off the front; false where it is not there. */
static bool take(const char **name, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*name, word, length) != 0)
        return false;
    *name += length;
    return true;
}

static uint32_t operands_of(const char **name)
{
    static const char *const words[ASSAY_OPERANDS] = {"-i-", "-w-", "-go-"};
    uint32_t operands = 0;
    for (int i = 0; i < ASSAY_OPERANDS; i++)
        if (take(name, words[i])) {
            operands |= 1u << i;
            (*name)--; /* the next word's hyphen */
        }
    return operands;
}

static bool parse(const char *name, struct assay_recipe *out)
{
    const uint32_t all = (1u << ASSAY_OPERANDS) - 1;
    bool tensor = take(&name, "float8dq-tensor"), row = !tensor && take(&name, "float8dq-row");
    if (!tensor && !row)
        return false;
    out->code = out->activation = ASSAY_DTYPE_E4M3;
    out->scope = out->activation_scope = tensor ? ASSAY_SCOPE_TENSOR : ASSAY_SCOPE_ROW;
    out->trains = true;
    out->precise_operands = operands_of(&name);
    if (take(&name, "-gw"))
        out->precise_products = 1u << ASSAY_PRODUCT_WEIGHT_GRADIENT;
    bool any = out->precise_operands || out->precise_products;
    return any && out->precise_operands != all && strcmp(name, "-hp") == 0;
}

const struct assay_quant assay_quant_float8dq_hp = {
    .pattern = "float8dq-row-gw-hp",
    .summary = "float8dq-row whose weights' gradient stays in high precision; training only",
    .usual = "float8dq-row-gw-hp",
    .only_trains = true,
    .parse = parse,
    .solve = assay_solve_symmetric,
};
