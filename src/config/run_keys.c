/* run_keys.c: every key of a configuration as a row of one table, and the readers that only one key
 * needs. */
#include "config/run_reading.h"

#include "base/alloc.h"
#include "config/run_training.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

const char *const assay_run_modes[] = {"inference", "training", NULL};
const char *const assay_run_compiles[] = {
    "default", "max-autotune", "reduce-overhead", "max-autotune-no-cudagraphs", "false", NULL};
enum { COMPILE_DEFAULT = 0, COMPILE_FALSE = 4 };
const char *const assay_run_scalings[] = {"dynamic", "disabled", NULL};
const char *const assay_run_granularities[] = {"tensorwise", "rowwise", "axiswise", "columnwise",
                                               NULL};
static const char *const sparsities[] = {"semi-sparse", "semi", "2:4", "block", NULL};

/* What drafts of TorchAO's configurations called some keys. They stood in model_params, too. */
static const char *const older_names[][2] = {
    {"quantizations", "quantization_config_recipe_names"},
    {"quantization", "quantization_config_recipe_names"},
    {"sparsity", "sparsity_config_recipe_names"},
    {"precision", "high_precision_dtype"},
    {"compile_mode", "torch_compile_mode"},
    {"enable_memory_profile", "enable_memory_profiler"},
};

static enum assay_status read_mode(struct assay_reading *r, const struct assay_key *key,
                                   const struct assay_yaml *node, void *target)
{
    r->config->mode_at = assay_place_of(node);
    return assay_read_choice(r, key, node, target);
}

static enum assay_status read_name(struct assay_reading *r, const struct assay_key *key,
                                   const struct assay_yaml *node, void *target)
{
    struct assay_run_draft *draft = target;
    if (node->kind != ASSAY_YAML_SCALAR)
        return assay_reading_wrong_type(r, key->name, node, "text");
    if (strlen(node->text) >= sizeof draft->entry.name || !node->text[0])
        return assay_reading_fail(r, assay_place_of(node), "a name has 1 to %zu letters",
                                  sizeof draft->entry.name - 1);
    snprintf(draft->entry.name, sizeof draft->entry.name, "%s", node->text);
    return ASSAY_OK;
}

static enum assay_status read_output_dir(struct assay_reading *r, const struct assay_key *key,
                                         const struct assay_yaml *node, void *target)
{
    (void)target;
    if (node->kind != ASSAY_YAML_SCALAR)
        return assay_reading_wrong_type(r, key->name, node, "the name of a folder");
    if (!node->text[0] || strlen(node->text) > 1000)
        return assay_reading_fail(r, assay_place_of(node), "%s takes the name of a folder",
                                  key->name);
    assay_free(r->config->output_dir);
    r->config->output_dir = assay_strdup(node->text);
    r->config->output_dir_at = assay_place_of(node);
    return r->config->output_dir ? ASSAY_OK : assay_reading_no_memory(r);
}

static enum assay_status read_device(struct assay_reading *r, const struct assay_key *key,
                                     const struct assay_yaml *node, void *target)
{
    struct assay_run_draft *draft = target;
    if (node->kind != ASSAY_YAML_SCALAR)
        return assay_reading_wrong_type(r, key->name, node, "text");
    if (strlen(node->text) >= sizeof draft->entry.device)
        return assay_reading_fail(r, assay_place_of(node),
                                  "unknown device \"%.40s...\"; did you mean \"cpu\"?", node->text);
    snprintf(draft->entry.device, sizeof draft->entry.device, "%s", node->text);
    draft->entry.device_at = assay_place_of(node);
    return ASSAY_OK;
}

static enum assay_status add_dtype(struct assay_reading *r, const struct assay_yaml *node,
                                   struct assay_run_entry *entry)
{
    enum assay_dtype dtype;
    struct assay_error why = {0};
    if (node->kind != ASSAY_YAML_SCALAR)
        return assay_reading_wrong_type(r, "high_precision_dtype", node, "names of types");
    enum assay_status status = assay_dtype_parse(node->text, &dtype, &why);
    if (status != ASSAY_OK)
        return assay_reading_pass_on(r, node, status, &why, NULL);
    if (dtype != ASSAY_DTYPE_F32 && dtype != ASSAY_DTYPE_F16 && dtype != ASSAY_DTYPE_BF16)
        return assay_reading_fail(r, assay_place_of(node),
                                  "no model runs in %s; try bfloat16, float16 or float32",
                                  assay_dtype_name(dtype));
    for (int64_t i = 0; i < entry->n_dtypes; i++)
        if (entry->dtypes[i] == dtype)
            return ASSAY_OK;
    entry->dtypes[entry->n_dtypes++] = dtype;
    return ASSAY_OK;
}

static enum assay_status add_dtype_of_draft(struct assay_reading *r, const struct assay_yaml *node,
                                            void *target)
{
    return add_dtype(r, node, &((struct assay_run_draft *)target)->entry);
}

static enum assay_status read_dtypes(struct assay_reading *r, const struct assay_key *key,
                                     const struct assay_yaml *node, void *target)
{
    ((struct assay_run_draft *)target)->entry.n_dtypes = 0;
    return assay_reading_names(r, key->name, node, target, add_dtype_of_draft);
}

/* Where the message suggests no near name, all there are. */
static enum assay_status doubt_recipe(struct assay_reading *r, const struct assay_yaml *node,
                                      const struct assay_error *why)
{
    struct assay_text known = {0};
    struct assay_place at = assay_place_of(node);
    if (strstr(why->message, "did you mean"))
        return assay_reading_doubt(r, at, "%.300s", why->message);
    for (int64_t i = 0; i < assay_quant_count(); i++)
        assay_text_format(&known, "%s%s", i ? ", " : "", assay_quant_at(i)->pattern);
    enum assay_status status = known.failed ? assay_reading_no_memory(r)
                                            : assay_reading_doubt(r, at, "%.*s; known are %.200s",
                                                                  (int)strcspn(why->message, ";"),
                                                                  why->message, known.data);
    assay_text_fini(&known);
    return status;
}

/* TorchAO's null is no recipe: the baseline, which is always there. */
static enum assay_status add_recipe(struct assay_reading *r, const struct assay_yaml *node,
                                    void *target)
{
    struct assay_error why = {0};
    (void)target;
    if (assay_yaml_is_null(node))
        return ASSAY_OK;
    const char *name = assay_training_recipe(node->text, r->granularity);
    enum assay_status status = assay_recipe_list_add_known(&r->config->recipes, name, &why);
    return status == ASSAY_OK          ? ASSAY_OK
           : status == ASSAY_ERR_NOMEM ? assay_reading_no_memory(r)
                                       : doubt_recipe(r, node, &why);
}

static enum assay_status read_recipes(struct assay_reading *r, const struct assay_key *key,
                                      const struct assay_yaml *node, void *target)
{
    return assay_reading_names(r, key->name, node, target, add_recipe);
}

static enum assay_status add_sparsity(struct assay_reading *r, const struct assay_yaml *node,
                                      void *target)
{
    const char *name = assay_sparsity_name(node->text);
    (void)target;
    if (assay_yaml_is_null(node) || assay_text_same(node->text, "none"))
        return ASSAY_OK;
    r->sparsity = r->sparsity ? r->sparsity : node;
    for (int i = 0; i < ASSAY_READING_SPARSITIES && name; i++)
        if (!r->sparsities[i] || strcmp(r->sparsities[i], name) == 0) {
            r->sparsities[i] = name;
            return ASSAY_OK;
        }
    const char *nearest = assay_text_nearest(node->text, sparsities, 4);
    return assay_reading_doubt(r, assay_place_of(node),
                               "unknown sparsity recipe \"%.80s\"; %s \"%s\"%s", node->text,
                               nearest ? "did you mean" : "there are",
                               nearest ? nearest : "semi-sparse", nearest ? "?" : " and \"block\"");
}

static enum assay_status read_sparsity(struct assay_reading *r, const struct assay_key *key,
                                       const struct assay_yaml *node, void *target)
{
    return assay_reading_names(r, key->name, node, target, add_sparsity);
}

/* Two spellings of one thing, which may say "false", false and true. */
static enum assay_status read_compile(struct assay_reading *r, const struct assay_key *key,
                                      const struct assay_yaml *node, void *target)
{
    struct assay_run_draft *draft = target;
    int64_t before = draft->entry.compile;
    bool truth;
    enum assay_status status = ASSAY_OK;
    if (node->kind == ASSAY_YAML_SCALAR && assay_yaml_bool(node, &truth))
        draft->entry.compile = truth ? COMPILE_DEFAULT : COMPILE_FALSE;
    else
        status = assay_read_choice(r, key, node, target);
    if (status == ASSAY_OK && draft->mode && before != draft->entry.compile)
        return assay_reading_fail(r, assay_place_of(node), "%s contradicts %s in line %d",
                                  key->name, draft->mode->key, draft->mode->key_line);
    draft->mode = node;
    return status;
}

static enum assay_status read_scaling(struct assay_reading *r, const struct assay_key *key,
                                      const struct assay_yaml *node, void *target)
{
    struct assay_run_entry *entry = &((struct assay_run_draft *)target)->entry;
    entry->training_at = assay_place_of(node);
    if (key->choices == assay_run_granularities)
        entry->granularity_at = assay_place_of(node);
    return assay_read_choice(r, key, node, target);
}

static enum assay_status read_fast_accum(struct assay_reading *r, const struct assay_key *key,
                                         const struct assay_yaml *node, void *target)
{
    ((struct assay_run_draft *)target)->entry.training_at = assay_place_of(node);
    return assay_read_bool(r, key, node, target);
}

static enum assay_status read_repeats(struct assay_reading *r, const struct assay_key *key,
                                      const struct assay_yaml *node, void *target)
{
    ((struct assay_run_draft *)target)->entry.repeat_at = assay_place_of(node);
    return assay_read_int(r, key, node, target);
}

static enum assay_status read_model_params(struct assay_reading *r, const struct assay_key *key,
                                           const struct assay_yaml *node, void *target)
{
    (void)key;
    (void)target;
    r->model_params = node; /* when all defaults are known */
    return ASSAY_OK;
}

/* ---- models ------------------------------------------------------------------------------- */

static enum assay_status use_model(struct assay_reading *r, const struct assay_yaml *node,
                                   const char *name, struct assay_run_draft *draft)
{
    const struct assay_model *model;
    struct assay_error why = {0};
    struct assay_text known = {0};
    enum assay_status status = assay_model_find_mkn(name, &model, &why);
    if (status == ASSAY_OK && strlen(model->name) >= sizeof draft->entry.model)
        status = assay_error_set(&why, ASSAY_ERR_INVALID, NULL,
                                 "a model's name has at most %zu "
                                 "letters",
                                 sizeof draft->entry.model - 1);
    if (status == ASSAY_OK) {
        snprintf(draft->entry.model, sizeof draft->entry.model, "%s", model->name);
        return ASSAY_OK;
    }
    for (int64_t i = 0; i < assay_model_count(); i++)
        if (!assay_model_at(i)->axis_names[0])
            assay_text_format(&known, "%s%s", i ? ", " : "", assay_model_at(i)->name);
    status = assay_reading_pass_on(r, node, status, &why, known.failed ? NULL : known.data);
    assay_text_fini(&known);
    return status;
}

static enum assay_status one_model(struct assay_reading *r, const struct assay_yaml *node,
                                   struct assay_run_draft *draft)
{
    if (draft->model)
        return assay_reading_fail(r, assay_place_of_key(node),
                                  "%s and %s (line %d) both say what to run; write one", node->key,
                                  draft->model->key, draft->model->key_line);
    draft->model = node;
    return ASSAY_OK;
}

static enum assay_status read_model_type(struct assay_reading *r, const struct assay_key *key,
                                         const struct assay_yaml *node, void *target)
{
    if (node->kind != ASSAY_YAML_SCALAR)
        return assay_reading_wrong_type(r, key->name, node, "a model's name");
    enum assay_status status = one_model(r, node, target);
    return status == ASSAY_OK ? use_model(r, node, node->text, target) : status;
}

static enum assay_status keep_description(struct assay_reading *r, const char *json)
{
    for (int64_t i = 0; i < r->config->models.n; i++)
        if (strcmp(r->config->models.items[i], json) == 0)
            return ASSAY_OK;
    return assay_strings_add(&r->config->models, json) == ASSAY_OK ? ASSAY_OK
                                                                   : assay_reading_no_memory(r);
}

/* An error of the models in a description, with the line of what it is about: "nodes[3].features".
 */
static enum assay_status bad_description(struct assay_reading *r, const struct assay_yaml *node,
                                         enum assay_status status, const struct assay_error *why)
{
    if (status == ASSAY_ERR_NOMEM)
        return assay_reading_no_memory(r);
    return assay_reading_fail(r, assay_place_of(assay_yaml_at(node, why->where)), "%s%s%.300s",
                              why->where, why->where[0] ? ": " : "", why->message);
}

/* A description goes to the models as JSON. */
static enum assay_status read_model(struct assay_reading *r, const struct assay_key *key,
                                    const struct assay_yaml *node, void *target)
{
    struct assay_error why = {0};
    struct assay_text text = {0};
    if (node->kind == ASSAY_YAML_SCALAR)
        return assay_reading_fail(r, assay_place_of(node),
                                  "model describes one; to name one write model_type: %.60s",
                                  node->text);
    if (node->kind != ASSAY_YAML_MAP)
        return assay_reading_wrong_type(r, key->name, node,
                                        "a mapping with name, inputs and nodes");
    enum assay_status status = one_model(r, node, target);
    if (status != ASSAY_OK)
        return status;
    assay_json *json = assay_yaml_to_json(node);
    assay_json_write(json, 0, &text);
    assay_json_free(json);
    if (!json || text.failed) {
        assay_text_fini(&text);
        return assay_reading_no_memory(r);
    }
    status = assay_model_add(text.data, &why);
    const struct assay_yaml *name = assay_yaml_get(node, "name");
    if (status != ASSAY_OK)
        status = bad_description(r, node, status, &why);
    else
        status = keep_description(r, text.data);
    if (status == ASSAY_OK && name && name->kind == ASSAY_YAML_SCALAR)
        status = use_model(r, name, name->text, target);
    assay_text_fini(&text);
    return status;
}

/* ---- the keys ----------------------------------------------------------------------------- */

#define RUN(field) offsetof(struct assay_run_config, field)
#define ENTRY(field) offsetof(struct assay_run_draft, entry.field)
#define SET(field) offsetof(struct assay_set_draft, field)

/* clang-format off */
static const struct assay_key keys[] = {
    {"benchmark_mode", ASSAY_KEY_RUN, read_mode, RUN(mode), NULL, "inference",
     "what is measured: inference, or the forward pass, the backward pass and both together, each by itself", assay_run_modes, 0, 0},
    {"quantization_config_recipe_names", ASSAY_KEY_RUN, read_recipes, 0, "names", "baseline",
     "recipes, how weights are stored and multiplied (`assay list recipes`), or `all` for the usual one of each kind. `baseline` is always measured, and first", NULL, 0, 0},
    {"sparsity_config_recipe_names", ASSAY_KEY_RUN, read_sparsity, 0, "names", "none",
     "`semi-sparse` (also `semi`, `2:4`), `block`, or null. assay has none yet: the recipes that TorchAO measures with it have rows `unsupported`. Training passes over it, with a warning", NULL, 0, 0},
    {"output_dir", ASSAY_KEY_RUN, read_output_dir, 0, "folder", "results",
     "results go to `<output_dir>/<benchmark_mode>/results_DDMMYYYY_HHMMSS.csv`", NULL, 0, 0},
    {"model_params", ASSAY_KEY_RUN, read_model_params, 0, "mapping, or a list of them", "one entry of defaults",
     "what is measured: each entry has keys of the next table", NULL, 0, 0},

    {"name", ASSAY_KEY_MODEL, read_name, 0, "text", "the model's name",
     "the entry's name in tables and files. Several may have the same", NULL, 0, 0},
    {"matrix_shapes", ASSAY_KEY_MODEL, assay_read_shapes, 0, "list of mappings", "custom [1024, 1024, 1024]",
     "shapes [m, k, n]: x is [m, k], the weight [n, k]. Keys of the last table", NULL, 0, 0},
    {"high_precision_dtype", ASSAY_KEY_MODEL, read_dtypes, 0, "name, or a list", "torch.bfloat16",
     "the type of what is not quantised: bfloat16, float16 or float32, with or without `torch.`, or short: bf16, f16, f32", NULL, 0, 0},
    {"model_type", ASSAY_KEY_MODEL, read_model_type, 0, "name", "linear",
     "a model by its name: `linear`, `ln_linear_<activation>`, `transformer_block`; `ln_linear` alone is that with relu", NULL, 0, 0},
    {"model", ASSAY_KEY_MODEL, read_model, 0, "mapping", "none",
     "instead of `model_type`: a model of your own, with `name`, `inputs` and `nodes`", NULL, 0, 0},
    {"device", ASSAY_KEY_MODEL, read_device, 0, "name", "cpu",
     "`cpu`, `cuda` or `cuda:N`. One that is not here is replaced by the cpu, with a warning; so are `xpu` and `mps`, which are not supported", NULL, 0, 0},
    {"use_torch_compile", ASSAY_KEY_MODEL, assay_read_bool, ENTRY(use_torch_compile), "true or false", "true",
     "false: only eager is measured, whatever the mode", NULL, 0, 0},
    {"torch_compile_mode", ASSAY_KEY_MODEL, read_compile, ENTRY(compile), NULL, "default",
     "how the compiled model is made: `max-autotune` also times the kernels that could do it. `reduce-overhead` is `default` and `max-autotune-no-cudagraphs` is `max-autotune` under other names: what a launch costs is in no figure. `false`, in quotes or not: only eager", assay_run_compiles, 0, 0},
    {"compile", ASSAY_KEY_MODEL, read_compile, ENTRY(compile), NULL, "default",
     "the older spelling of `torch_compile_mode`; true is `default`", assay_run_compiles, 0, 0},
    {"enable_profiler", ASSAY_KEY_MODEL, assay_read_bool, ENTRY(enable_profiler), "true or false", "false",
     "once a group is measured, record a trace of each variant into `OUTPUT_DIR/MODE/profiler`; its path is in the CSV", NULL, 0, 0},
    {"enable_memory_profiler", ASSAY_KEY_MODEL, assay_read_bool, ENTRY(enable_memory_profiler), "true or false", "false",
     "once a group is measured, record what each variant allocates: a snapshot for PyTorch's viewer and a page, in `OUTPUT_DIR/MODE/memory_profiler`; their paths and `memory_stats` are in the CSV", NULL, 0, 0},

    {"scaling_type_input", ASSAY_KEY_TRAINING, read_scaling, ENTRY(scaling_input), NULL, "dynamic",
     "are inputs cast? With `disabled` they stay in high precision in all products they are in", assay_run_scalings, 0, 0},
    {"scaling_type_weight", ASSAY_KEY_TRAINING, read_scaling, ENTRY(scaling_weight), NULL, "dynamic",
     "the same of weights", assay_run_scalings, 0, 0},
    {"scaling_type_grad_output", ASSAY_KEY_TRAINING, read_scaling, ENTRY(scaling_grad_output), NULL, "dynamic",
     "the same of gradients of outputs", assay_run_scalings, 0, 0},
    {"scaling_granularity", ASSAY_KEY_TRAINING, read_scaling, ENTRY(scaling_granularity), NULL, "tensorwise",
     "what shares a scale in `float8dq`: the whole tensor, or a row along the dimension a product sums over, which the last three words mean alike. Other recipes say it in their names", assay_run_granularities, 0, 0},
    {"use_fast_accum", ASSAY_KEY_TRAINING, read_fast_accum, ENTRY(use_fast_accum), "true or false", "true",
     "sums of float8 products in less precision, where a GPU has that; it is written to the CSV. On the CPU all sums are f32", NULL, 0, 0},
    {"repeat_n", ASSAY_KEY_TRAINING, read_repeats, ENTRY(repeat_n), "whole number", "none",
     "where it is given: the most samples that are taken of each variant; `--iters` replaces it", NULL, 1, 1000000},

    {"name", ASSAY_KEY_SHAPES, assay_read_node, SET(name), "name", "none: needed",
     "`custom`, or a set of `assay list shapes`", NULL, 0, 0},
    {"shapes", ASSAY_KEY_SHAPES, assay_read_node, SET(shapes), "list of [m, k, n]", "none: needed",
     "of `custom`: the shapes, each size from 1 to 1073741824", NULL, 0, 0},
    {"min_power", ASSAY_KEY_SHAPES, assay_read_power, SET(min_power), "whole number", "10; of sweep 8",
     "of `pow2`, `pow2_extended`, `small_sweep` and `sweep`: the least power of two", NULL, 0, 30},
    {"max_power", ASSAY_KEY_SHAPES, assay_read_power, SET(max_power), "whole number", "14; of sweep 15",
     "of the same: the greatest", NULL, 0, 30},
};
/* clang-format on */

enum { KEYS = sizeof keys / sizeof keys[0] };

static const struct assay_key *find_key(const char *name, unsigned scopes)
{
    for (size_t i = 0; i < sizeof older_names / sizeof older_names[0]; i++)
        if (strcmp(older_names[i][0], name) == 0) {
            name = older_names[i][1];
            scopes |= 1u << ASSAY_KEY_RUN;
            break;
        }
    for (int i = 0; i < KEYS; i++)
        if ((scopes & 1u << keys[i].scope) && strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

/* A key of another mapping is told where it belongs. */
static enum assay_status unknown_key(struct assay_reading *r, const struct assay_yaml *member,
                                     unsigned scopes)
{
    static const char *const homes[ASSAY_KEY_SCOPES] = {
        "stands at the top of the file", "belongs to an entry of model_params",
        "belongs to an entry of model_params", "belongs to an entry of matrix_shapes"};
    struct assay_place at = assay_place_of_key(member);
    const char *names[KEYS + 1] = {0};
    int64_t n = 0;
    const struct assay_key *elsewhere = find_key(member->key, ~0u);
    if (elsewhere)
        return assay_reading_doubt(r, at, "%s %s", member->key, homes[elsewhere->scope]);
    for (int i = 0; i < KEYS; i++)
        if (scopes & 1u << keys[i].scope)
            names[n++] = keys[i].name;
    const char *nearest = assay_text_nearest(member->key, names, n);
    if (nearest)
        return assay_reading_doubt(r, at, "unknown key \"%.80s\"; did you mean \"%s\"?",
                                   member->key, nearest);
    return assay_reading_doubt(r, at, "unknown key \"%.80s\"; `assay help config` shows them all",
                               member->key);
}

/* A key without a value says nothing; of sparsity that is how one says that there is none. */
static enum assay_status read_member(struct assay_reading *r, const struct assay_key *key,
                                     const struct assay_yaml *member, unsigned scopes, void *target)
{
    if (!key)
        return unknown_key(r, member, scopes);
    if (assay_yaml_is_null(member))
        return key->read == read_sparsity
                   ? ASSAY_OK
                   : assay_reading_doubt(r, assay_place_of(member), "%s has no value", member->key);
    return key->read(r, key, member, key->scope == ASSAY_KEY_RUN ? (void *)r->config : target);
}

enum assay_status assay_reading_members(struct assay_reading *r, const struct assay_yaml *map,
                                        unsigned scopes, void *target)
{
    for (const struct assay_yaml *at = map->first; at; at = at->next) {
        const struct assay_key *key = find_key(at->key, scopes);
        enum assay_status status = read_member(r, key, at, scopes, target);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* ---- the reference ------------------------------------------------------------------------ */

static void write_key(const struct assay_key *key, struct assay_text *out)
{
    char words[200] = "";
    if (key->choices)
        assay_reading_words(key->choices, words, sizeof words);
    assay_text_format(out, "| `%s` | %s | %s | %s |\n", key->name, key->choices ? words : key->type,
                      key->fallback, key->meaning);
}

void assay_run_config_reference(struct assay_text *out)
{
    static const char *const titles[ASSAY_KEY_SCOPES] = {
        "Keys of the run",
        "Keys of a model, in `model_params` or, for all entries, at the top",
        "Keys of training, in the same places",
        "Keys of an entry of `matrix_shapes`",
    };
    for (int scope = 0; scope < ASSAY_KEY_SCOPES; scope++) {
        assay_text_format(out,
                          "%s### %s\n\n| key | value | default | meaning |\n"
                          "| --- | --- | --- | --- |\n",
                          scope ? "\n" : "", titles[scope]);
        for (int i = 0; i < KEYS; i++)
            if ((int)keys[i].scope == scope)
                write_key(&keys[i], out);
    }
}
