#include "kernel/implementation.h"

#include "base/text.h"

struct implementation {
    const char *name;
    int32_t rank, recipes_rank;
    bool own;
};

static const struct implementation implementations[] = {
#define ASSAY_IMPLEMENTATION(name, rank, recipes_rank, own) {#name, rank, recipes_rank, own},
#include "kernel/implementation_list.h"
#undef ASSAY_IMPLEMENTATION
};

static struct implementation find_implementation(const char *name)
{
    for (size_t i = 0; i < sizeof implementations / sizeof implementations[0]; i++)
        if (assay_text_same(implementations[i].name, name))
            return implementations[i];
    return (struct implementation){0};
}

int32_t assay_implementation_baseline_rank(const char *name, bool recipes)
{
    struct implementation found = find_implementation(name);
    return recipes ? found.recipes_rank : found.rank;
}

static const struct {
    const char *eager, *compiled;
} pairs[] = {{"eager", "compiled"}, {"torch", "torch-compile"}}; /* assay's own first */

bool assay_implementation_runs_models(const char *name)
{
    return assay_text_same(name, pairs[0].eager) || assay_text_same(name, pairs[0].compiled);
}

const char *assay_implementation_compiled(const char *name)
{
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (assay_text_same(pairs[i].eager, name))
            return pairs[i].compiled;
    return NULL;
}

const char *assay_implementation_uncompiled(const char *name)
{
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (assay_text_same(pairs[i].compiled, name))
            return pairs[i].eager;
    return NULL;
}

bool assay_implementation_compiles(const char *name)
{
    return assay_implementation_uncompiled(name) || assay_text_same(name, "recomputed");
}

bool assay_implementation_is_own(const char *name) { return find_implementation(name).own; }
