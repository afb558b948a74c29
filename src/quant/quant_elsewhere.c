/* quant_elsewhere.c: what TorchAO's configurations name and assay does not have: recipes and
 * sparsity. Each is known by name, so that a configuration with one of them still runs, with a row
 * that says why there is no figure. Not here: what nobody has, which is a mistake of the user's. */
#include "quant/quant_recipe.h"

#include "base/text.h"

#include <string.h>

/* N in a pattern is any number. */
static const struct {
    const char *pattern, *why;
} recipes[] = {
    {"int8dq_prefill_wo_decode", "it is int8dq for m > 1 and int8wo for m = 1; name one of them"},
    {"int8_dynamic_activation_intx_weight-N-N", "weights of few bits with 8-bit activations"},
    {"int8_dynamic_activation_intx_weight-N-N-asym", "weights of few bits with 8-bit activations"},
    {"int8adq-int4w-symm", "4-bit weights with 8-bit activations"},
    {"uintx-N-N", "unsigned weights of few bits; int4wo-G and gemlitewo-B-G come near"},
    {"uintx-N-N-hqq", "unsigned weights of few bits; int4wo-G-hqq comes near"},
    {"fp6", "6-bit floating point weights"},
    {"marlin", "4-bit weights, 2:4 sparse"},
    {"marlin-qqq", "4-bit weights with 8-bit activations"},
    {"autoquant", "a search over recipes; --recipe all measures each"},
    {"mxfp8", "blocks of 32 that share a power of two"},
    {"mxfp4", "blocks of 32 that share a power of two"},
    {"nvfp4", "4-bit floating point in blocks of 16"},
};

static bool follows(const char *pattern, const char *name)
{
    for (; *pattern; pattern++) {
        size_t digits = strspn(name, "0123456789");
        if (*pattern == 'N' ? digits == 0 : *name != *pattern)
            return false;
        name += *pattern == 'N' ? digits : 1;
    }
    return *name == '\0';
}

const char *assay_recipe_elsewhere(const char *name)
{
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++)
        if (follows(recipes[i].pattern, name))
            return recipes[i].why;
    return NULL;
}

const char *assay_sparsity_name(const char *word)
{
    static const char *const words[][2] = {{"semi-sparse", "semi-sparse"},
                                           {"semi", "semi-sparse"},
                                           {"2:4", "semi-sparse"},
                                           {"block", "block"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (assay_text_same(word, words[i][0]))
            return words[i][1];
    return NULL;
}

bool assay_sparsity_takes(const char *sparsity, const char *recipe)
{
    bool baseline = strcmp(recipe, "baseline") == 0;
    if (strcmp(sparsity, "block") == 0)
        return baseline;
    return baseline || strstr(recipe, "int8dq") || strstr(recipe, "float8dq") ||
           strstr(recipe, "marlin");
}
