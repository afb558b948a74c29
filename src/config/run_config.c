/* run_config.c: a configuration's entries, and its file. */
#include "config/run_reading.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum {
    MODEL_SCOPES = 1u << ASSAY_KEY_MODEL | 1u << ASSAY_KEY_TRAINING,
    ALL_SCOPES = 1u << ASSAY_KEY_RUN | MODEL_SCOPES
};

/* ---- entries ------------------------------------------------------------------------------ */

static void set_defaults(struct assay_run_draft *draft)
{
    *draft = (struct assay_run_draft){.entry = {
                                          .dtypes = {ASSAY_DTYPE_BF16},
                                          .n_dtypes = 1,
                                          .device = "cpu",
                                          .model = "linear",
                                          .use_torch_compile = true,
                                          .use_fast_accum = true,
                                          .repeat_n = 100,
                                      }};
}

/* The entry an empty mapping would be. Its shapes are a copy of the defaults'. */
static enum assay_status begin_entry(struct assay_reading *r,
                                     const struct assay_run_draft *defaults, bool own_shapes,
                                     struct assay_run_draft *out)
{
    *out = (struct assay_run_draft){.entry = defaults->entry};
    out->entry.shapes = (struct assay_shapes){0};
    if (own_shapes || !defaults->shapes)
        return ASSAY_OK;
    const struct assay_shapes *from = &defaults->entry.shapes;
    out->shapes = defaults->shapes;
    out->entry.shapes.items = assay_calloc((size_t)from->n, sizeof *from->items);
    if (!out->entry.shapes.items)
        return assay_reading_no_memory(r);
    memcpy(out->entry.shapes.items, from->items, (size_t)from->n * sizeof *from->items);
    out->entry.shapes.n = out->entry.shapes.capacity = from->n;
    return ASSAY_OK;
}

static const struct assay_run_entry *entry_named(const struct assay_run_config *config,
                                                 const char *name)
{
    for (int64_t i = 0; i < config->n_entries; i++)
        if (strcmp(config->entries[i].name, name) == 0)
            return &config->entries[i];
    return NULL;
}

/* An entry without a name has its model's, and a number where that is taken. Names that the file
 * gives may be the same: their shapes or types tell the rows apart. */
static void settle_name(const struct assay_reading *r, struct assay_run_entry *entry)
{
    if (entry->name[0])
        return;
    snprintf(entry->name, sizeof entry->name, "%s", entry->model);
    for (int i = 2; entry_named(r->config, entry->name); i++)
        snprintf(entry->name, sizeof entry->name, "%s_%d", entry->model, i);
}

static enum assay_status settle_shapes(struct assay_reading *r, struct assay_run_draft *draft)
{
    static const int64_t usual[3] = {1024, 1024, 1024};
    struct assay_run_entry *entry = &draft->entry;
    if (!draft->shapes) {
        if (assay_reading_warn(r, (struct assay_place){0},
                               "%s has no matrix_shapes; it gets one, custom [1024, 1024, 1024]",
                               entry->name) != ASSAY_OK)
            return ASSAY_ERR_NOMEM;
        if (assay_shapes_add_mkn(&entry->shapes, usual, "custom", r->err) != ASSAY_OK)
            return assay_reading_no_memory(r);
    }
    r->shapes += entry->shapes.n * entry->n_dtypes;
    if (r->shapes > ASSAY_RUN_SHAPES)
        return assay_reading_fail(
            r, draft->shapes ? assay_place_of(draft->shapes) : (struct assay_place){0},
            "with these the run has more than %d shapes", ASSAY_RUN_SHAPES);
    return ASSAY_OK;
}

/* One entry from its mapping; NULL: from the defaults alone. */
static enum assay_status add_entry(struct assay_reading *r, const struct assay_run_draft *defaults,
                                   const struct assay_yaml *node)
{
    struct assay_run_config *config = r->config;
    struct assay_run_draft draft = {0};
    if (node && node->kind != ASSAY_YAML_MAP)
        return assay_reading_wrong_type(r, "model_params", node, "a mapping, or a list of them");
    if (node && !node->first)
        return assay_reading_fail(r, assay_place_of(node), "this entry of model_params is empty");
    if (config->n_entries == ASSAY_RUN_ENTRIES)
        return assay_reading_fail(r, assay_place_of(node), "more than %d entries",
                                  ASSAY_RUN_ENTRIES);
    bool own_shapes = node && assay_yaml_get(node, "matrix_shapes");
    enum assay_status status = begin_entry(r, defaults, own_shapes, &draft);
    if (status == ASSAY_OK && node)
        status = assay_reading_members(r, node, MODEL_SCOPES, &draft);
    if (status == ASSAY_OK) {
        settle_name(r, &draft.entry);
        status = settle_shapes(r, &draft);
    }
    if (status != ASSAY_OK) {
        assay_shapes_fini(&draft.entry.shapes);
        return status;
    }
    config->entries[config->n_entries++] = draft.entry;
    return ASSAY_OK;
}

static enum assay_status add_entries(struct assay_reading *r,
                                     const struct assay_run_draft *defaults)
{
    const struct assay_yaml *node = r->model_params;
    enum assay_status status = ASSAY_OK;
    r->config->entries = assay_calloc(ASSAY_RUN_ENTRIES, sizeof *r->config->entries);
    if (!r->config->entries)
        return assay_reading_no_memory(r);
    if (!node || node->kind != ASSAY_YAML_LIST)
        return add_entry(r, defaults, node);
    if (!node->first)
        return assay_reading_fail(r, assay_place_of(node), "model_params is an empty list");
    for (const struct assay_yaml *at = node->first; at && status == ASSAY_OK; at = at->next)
        status = add_entry(r, defaults, at);
    return status;
}

/* ---- the file ----------------------------------------------------------------------------- */

static bool is_step(const struct assay_yaml *node)
{
    return assay_yaml_get(node, "run") || assay_yaml_get(node, "uses");
}

/* What it is instead of a configuration. */
static enum assay_status check_root(struct assay_reading *r, const struct assay_yaml *root)
{
    if (!root)
        return assay_reading_fail(r, (struct assay_place){0},
                                  "this file is empty; a configuration is a "
                                  "mapping, see `assay help config`");
    struct assay_place at = assay_place_of(root);
    if (root->kind == ASSAY_YAML_LIST && root->first && is_step(root->first))
        return assay_reading_fail(
            r, at,
            "these are steps of a GitHub workflow, not a configuration; put them "
            "into a workflow, and the file they name with --config here");
    if (root->kind == ASSAY_YAML_MAP &&
        (assay_yaml_get(root, "jobs") || assay_yaml_get(root, "steps") || is_step(root)))
        return assay_reading_fail(
            r, at,
            "this is a GitHub workflow, not a configuration; give the file that it "
            "names with --config");
    if (root->kind == ASSAY_YAML_LIST && root->first &&
        (assay_yaml_get(root->first, "matrix_shapes") || assay_yaml_get(root->first, "model_type")))
        return assay_reading_fail(
            r, at, "a configuration is a mapping; put `model_params:` before this list");
    if (root->kind != ASSAY_YAML_MAP)
        return assay_reading_fail(
            r, at, "a configuration is a mapping of keys, not %s; see `assay help config`",
            root->kind == ASSAY_YAML_LIST ? "a list" : "one value");
    return ASSAY_OK;
}

/* Each sparsity with the recipes that TorchAO measures it with: rows that say why they have no
 * figures. In training it passes over them, and so does assay. */
static enum assay_status add_sparse_recipes(struct assay_reading *r)
{
    struct assay_recipe_list *list = &r->config->recipes;
    int64_t dense = list->n;
    enum assay_status status = ASSAY_OK;
    if (r->config->mode == ASSAY_RUN_TRAINING)
        return r->sparsity ? assay_reading_warn(r, assay_place_of(r->sparsity),
                                                "training has no sparsity; this is measured "
                                                "without it")
                           : ASSAY_OK;
    for (int s = 0; s < ASSAY_READING_SPARSITIES && r->sparsities[s]; s++)
        for (int64_t i = 0; i < dense && status == ASSAY_OK; i++) {
            char name[2 * ASSAY_RECIPE_NAME];
            const char *recipe = list->items[i].name;
            snprintf(name, sizeof name, "%s+%s", recipe, r->sparsities[s]);
            if (assay_sparsity_takes(r->sparsities[s], recipe))
                status = assay_recipe_list_add_known(list, name, r->err);
        }
    return status;
}

static bool says(const struct assay_yaml *map, const char *key, const char *word)
{
    const struct assay_yaml *node = assay_yaml_get(map, key);
    return node && node->kind == ASSAY_YAML_SCALAR && assay_text_same(node->text, word);
}

/* What names of recipes stand for, wherever in the file that is said; whether it is right is told
 * where it is read. */
static void look_ahead(struct assay_reading *r, const struct assay_yaml *root)
{
    const struct assay_yaml *params = assay_yaml_get(root, "model_params");
    if (params && params->kind == ASSAY_YAML_LIST)
        params = params->first;
    if (!says(root, "benchmark_mode", assay_run_modes[ASSAY_RUN_TRAINING]))
        return;
    r->config->recipes.trains = true;
    for (int64_t i = 0; assay_run_granularities[i]; i++)
        if (says(root, "scaling_granularity", assay_run_granularities[i]) ||
            (params && params->kind == ASSAY_YAML_MAP &&
             says(params, "scaling_granularity", assay_run_granularities[i])))
            r->granularity = i;
}

static enum assay_status read_root(struct assay_reading *r, const struct assay_yaml *root)
{
    struct assay_run_draft defaults;
    set_defaults(&defaults);
    enum assay_status status = check_root(r, root);
    if (status == ASSAY_OK)
        look_ahead(r, root);
    if (status == ASSAY_OK && assay_recipe_list_add(&r->config->recipes, "baseline", r->err))
        status = ASSAY_ERR_INTERNAL;
    if (status == ASSAY_OK)
        status = assay_reading_members(r, root, ALL_SCOPES, &defaults);
    if (status == ASSAY_OK)
        status = add_entries(r, &defaults);
    if (status == ASSAY_OK)
        status = add_sparse_recipes(r);
    if (status == ASSAY_OK && !r->config->output_dir &&
        !(r->config->output_dir = assay_strdup("results")))
        status = assay_reading_no_memory(r);
    assay_shapes_fini(&defaults.entry.shapes);
    return status;
}

void assay_run_config_name(struct assay_run_config *config, const char *file)
{
    size_t name = strlen(file), size = sizeof config->file - 1;
    if (name > size)
        snprintf(config->file, sizeof config->file, "...%s", file + name - (size - 3));
    else
        snprintf(config->file, sizeof config->file, "%s", file);
}

enum assay_status assay_run_config_parse(const char *bytes, size_t length, const char *file,
                                         bool lenient, struct assay_run_config *out,
                                         struct assay_error *err)
{
    struct assay_reading reading = {.config = out, .err = err};
    struct assay_yaml *root;
    *out = (struct assay_run_config){.lenient = lenient};
    assay_run_config_name(out, file);
    enum assay_status status = assay_yaml_parse(bytes, length, out->file, &root, err);
    if (status == ASSAY_OK)
        status = read_root(&reading, root);
    assay_yaml_destroy(root);
    return status;
}

enum assay_status assay_run_config_read(const char *path, bool lenient,
                                        struct assay_run_config *out, struct assay_error *err)
{
    char *bytes;
    size_t length = 0;
    *out = (struct assay_run_config){0};
    enum assay_status status = assay_yaml_read_file(path, "configuration", &bytes, &length, err);
    if (status == ASSAY_OK)
        status = assay_run_config_parse(bytes, length, path, lenient, out, err);
    assay_free(bytes);
    return status;
}

void assay_run_config_fini(struct assay_run_config *config)
{
    for (int64_t i = 0; i < config->n_entries; i++)
        assay_shapes_fini(&config->entries[i].shapes);
    assay_free(config->entries);
    assay_free(config->output_dir);
    assay_strings_fini(&config->models);
    assay_strings_fini(&config->warnings);
    *config = (struct assay_run_config){0};
}
