#include "config/recipe_list.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static enum assay_status add(struct assay_recipe_list *list, const struct assay_recipe *recipe,
                             bool by_name, struct assay_error *err)
{
    for (int64_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].name, recipe->name) == 0) {
            list->by_name[i] |= by_name;
            return ASSAY_OK;
        }
    if (list->n == ASSAY_RECIPE_LIST)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "more than %d recipes",
                               ASSAY_RECIPE_LIST);
    list->by_name[list->n] = by_name;
    list->items[list->n++] = *recipe;
    return ASSAY_OK;
}

static enum assay_status add_one(struct assay_recipe_list *list, const char *name, bool by_name,
                                 struct assay_error *err)
{
    struct assay_recipe recipe;
    struct assay_error why = {0};
    enum assay_status status = assay_recipe_parse(name, &recipe, &why);
    if (status == ASSAY_OK)
        return add(list, &recipe, by_name, err);
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "%s", why.message);
}

enum assay_status assay_recipe_list_add_known(struct assay_recipe_list *list, const char *name,
                                              struct assay_error *err)
{
    struct assay_recipe recipe;
    struct assay_error why = {0};
    if (assay_recipe_parse(name, &recipe, &why) == ASSAY_UNSUPPORTED && recipe.name[0])
        return add(list, &recipe, false, err);
    return assay_recipe_list_add(list, name, err);
}

/* Can the ops this list is for have it at all? Asked of names that nobody wrote. */
static bool is_for(const struct assay_recipe_list *list, const char *name)
{
    struct assay_recipe recipe;
    if (assay_recipe_parse(name, &recipe, NULL) != ASSAY_OK)
        return false;
    return list->trains ? assay_recipe_trains(&recipe, NULL) == ASSAY_OK
                        : !recipe.quant->only_trains;
}

static bool follows(const char *pattern, const char *name)
{
    return fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

/* Every usual recipe whose name, or another name of it, follows the pattern. */
static enum assay_status add_pattern(struct assay_recipe_list *list, const char *pattern,
                                     struct assay_error *err)
{
    bool found = false;
    enum assay_status status = ASSAY_OK;
    const char *alias, *of;
    for (int64_t i = 0; i < assay_quant_count() && status == ASSAY_OK; i++) {
        const char *name = assay_quant_at(i)->usual;
        bool is = follows(pattern, name);
        for (int64_t k = 0; assay_recipe_alias(k, &alias, &of); k++)
            is |= strcmp(of, name) == 0 && follows(pattern, alias);
        if (!is || !is_for(list, name))
            continue;
        found = true;
        status = add_one(list, name, false, err);
    }
    if (status == ASSAY_OK && !found)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "no recipe%s follows \"%.60s\"; `assay list recipes` shows them all",
                               list->trains ? " for training" : "", pattern);
    return status;
}

enum assay_status assay_recipe_list_add(struct assay_recipe_list *list, const char *name,
                                        struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    if (strpbrk(name, "*?["))
        return add_pattern(list, name, err);
    if (!assay_text_same(name, "all"))
        return add_one(list, name, true, err);
    for (int64_t i = 0; i < assay_quant_count() && status == ASSAY_OK; i++)
        if (is_for(list, assay_quant_at(i)->usual))
            status = add_one(list, assay_quant_at(i)->usual, false, err);
    return status;
}

enum assay_status assay_recipe_list_fits(const struct assay_recipe_list *list, const char *op,
                                         enum assay_dtype dtype, const int64_t mkn[3],
                                         struct assay_error *err)
{
    for (int64_t i = 0; i < list->n; i++) {
        const struct assay_recipe *recipe = &list->items[i];
        struct assay_error why = {0};
        if (!list->by_name[i] || !recipe->quant ||
            assay_recipe_fits(recipe, dtype, mkn[1], &why) == ASSAY_OK)
            continue;
        char hint[160] = "", shape[80];
        if (assay_recipe_fits(recipe, dtype, mkn[2], NULL) == ASSAY_OK)
            snprintf(hint, sizeof hint, "; the order is MxKxN, and n = %lld would do as k",
                     (long long)mkn[2]);
        assay_tensor_shape_text(mkn, 3, shape, sizeof shape);
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "%s %s cannot take %s: %.300s%s", op,
                               shape, recipe->name, why.message, hint);
    }
    return ASSAY_OK;
}

enum assay_status assay_recipe_list_names(const struct assay_recipe_list *list,
                                          struct assay_strings *out, struct assay_error *err)
{
    for (int64_t i = 0; i < list->n; i++)
        if (assay_strings_add(out, list->items[i].name) != ASSAY_OK)
            return assay_error_nomem(err);
    return ASSAY_OK;
}
