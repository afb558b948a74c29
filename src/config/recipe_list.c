#include "config/recipe_list.h"

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

enum assay_status assay_recipe_list_add(struct assay_recipe_list *list, const char *name,
                                        struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    if (!assay_text_same(name, "all"))
        return add_one(list, name, true, err);
    for (int64_t i = 0; i < assay_quant_count() && status == ASSAY_OK; i++)
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
