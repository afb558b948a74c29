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

bool assay_implementation_is_own(const char *name) { return find_implementation(name).own; }
