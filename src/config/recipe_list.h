/* recipe_list.h: recipes as people name them, for options and files alike. */
#ifndef ASSAY_CONFIG_RECIPE_LIST_H
#define ASSAY_CONFIG_RECIPE_LIST_H

#include "quant/quant.h"
#include "record/plan.h"

enum { ASSAY_RECIPE_LIST = 32 };

/* Start from {0}. */
struct assay_recipe_list {
    struct assay_recipe items[ASSAY_RECIPE_LIST];
    bool by_name[ASSAY_RECIPE_LIST]; /* not only part of `all`: must fit every shape */
    int64_t n;
    bool trains; /* `all` and patterns stand for recipes of training steps */
};

/* Adds a recipe, or with "all" the usual one of each kind, or the usual ones whose name, or another
 * name of theirs, follows a pattern: "float8*". What is there already stays once. */
enum assay_status assay_recipe_list_add(struct assay_recipe_list *list, const char *name,
                                        struct assay_error *err);
/* The same, and what assay knows of and does not have is added too: it becomes a row that says so.
 */
enum assay_status assay_recipe_list_add_known(struct assay_recipe_list *list, const char *name,
                                              struct assay_error *err);

/* Does every recipe that was named, and that assay has, fit weights [n, k]? The error names the
 * shape, the recipe and one that would fit. A recipe that `all` stands for becomes a row that says
 * why not. */
enum assay_status assay_recipe_list_fits(const struct assay_recipe_list *list, const char *op,
                                         enum assay_dtype dtype, const int64_t mkn[3],
                                         struct assay_error *err);

/* Their canonical names. */
enum assay_status assay_recipe_list_names(const struct assay_recipe_list *list,
                                          struct assay_strings *out, struct assay_error *err);

#endif
