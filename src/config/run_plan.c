#include "config/run_plan.h"

#include "base/alloc.h"
#include "config/run_reading.h"
#include "config/run_training.h"
#include "config/sweep.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define AT(field) offsetof(struct assay_run_options, field)

/* clang-format off */
#define FILE_ROW \
    {"config", 0, ASSAY_OPTION_TEXT, AT(config), "FILE.yml", "the configuration (docs/configuration.md, `assay help config`)", 0, 0}

/* What both commands take. */
#define COMMON_ROWS \
    {"device", 0, ASSAY_OPTION_TEXT, AT(measure.device), "DEVICE", "run on cpu, cuda or cuda:N, instead of where the file says", 0, 0}, \
    {"dtype", 0, ASSAY_OPTION_LIST, AT(dtypes), "DTYPES", "high-precision types instead of the file's: bf16, f16, f32", 0, 0}, \
    {"recipe", 0, ASSAY_OPTION_LIST, AT(recipes), "RECIPES", "recipes instead of the file's: int8wo, int4wo-128, all (`assay list recipes`)", 0, 0}, \
    {"shapes", 0, ASSAY_OPTION_LIST, AT(shapes), "SETS", "shapes instead of the file's: custom=MxKxN, llama, pow2:10:12 (`assay list shapes`)", 0, 0}, \
    {"model", 0, ASSAY_OPTION_TEXT, AT(model), "MODEL", "the model instead of the file's: linear, ln_linear_gelu, transformer_block", 0, 0}, \
    {"compile", 0, ASSAY_OPTION_TEXT, AT(compile), "MODE", "how models are compiled, instead of the file's: default, max-autotune or false (only eager); reduce-overhead and max-autotune-no-cudagraphs are the first two again", 0, 0}, \
    ASSAY_MODEL_CHOICE_ROWS(AT(choice)), \
    ASSAY_TRAINING_CHOICE_ROWS(AT(training)), \
    {"limit", 0, ASSAY_OPTION_INT, AT(limit), "N", "only the first N groups; of training the first N models with all their passes", 1, 1e6}, \
    {"dry-run", 0, ASSAY_OPTION_FLAG, AT(dry_run), NULL, "print what would be measured, and end", 0, 0}, \
    {"cache", 0, ASSAY_OPTION_TEXT, AT(measure.cache), "STATE", "cache states: hot (default), cold or both", 0, 0}

static const struct assay_option run_rows[] = {
    FILE_ROW,
    COMMON_ROWS,
    {"lenient", 0, ASSAY_OPTION_FLAG, AT(lenient), NULL, "pass over keys and recipes that nobody knows, with a warning, as TorchAO does", 0, 0},
    {"output-dir", 0, ASSAY_OPTION_TEXT, AT(output_dir), "FOLDER", "where the CSV goes, instead of the file's output_dir", 0, 0},
    {"output", 'o', ASSAY_OPTION_REPEAT, AT(measure.outputs), "FILE", "also write FILE, in the format of its extension or as FORMAT:FILE; repeatable", 0, 0},
    {"format", 'f', ASSAY_OPTION_TEXT, AT(measure.format), "FORMAT", "format of --output, or of standard output without --output (`assay list formats`)", 0, 0},
    {"help-config", 0, ASSAY_OPTION_FLAG, AT(help_config), NULL, "print every key of a configuration, as Markdown", 0, 0},
    {0},
};

static const struct assay_option ci_rows[] = {
    FILE_ROW,
    {"output", 'o', ASSAY_OPTION_REPEAT, AT(measure.outputs), "FILE", "the records (default benchmark_results.json), or another format as FORMAT:FILE; repeatable", 0, 0},
    {"repeat", 0, ASSAY_OPTION_INT, AT(repeat), "N", "measure each group N times; each gives a value of benchmark_values (default 3)", 1, 1000},
    {"github-summary", 0, ASSAY_OPTION_SPARE, AT(github_summary), "[FILE]", "also write a summary in Markdown; without FILE, append it to $GITHUB_STEP_SUMMARY", 0, 0},
    COMMON_ROWS,
    {"format", 'f', ASSAY_OPTION_TEXT, AT(measure.format), "FORMAT", "format of --output instead of pytorch (`assay list formats`)", 0, 0},
    {0},
};
/* clang-format on */

const struct assay_option_table assay_run_options_table = {.options = run_rows,
                                                           .words_offset = AT(files),
                                                           .words = "CONFIG.yml",
                                                           .shared = assay_measure_rows,
                                                           .shared_offset = AT(measure)};

const struct assay_option_table assay_ci_options_table = {.options = ci_rows,
                                                          .words_offset = -1,
                                                          .shared = assay_measure_rows,
                                                          .shared_offset = AT(measure)};

void assay_run_options_init(struct assay_run_options *options)
{
    *options = (struct assay_run_options){.measure = {.cache = "hot"}, .repeat = 1};
}

void assay_run_options_fini(struct assay_run_options *options)
{
    assay_options_fini(&assay_run_options_table, options); /* has all lists of ci's */
}

const char *assay_run_options_file(const struct assay_run_options *options)
{
    return options->config ? options->config : options->files.n ? options->files.items[0] : NULL;
}

enum assay_status assay_run_options_read(const struct assay_run_options *options,
                                         struct assay_run_config *config, struct assay_error *err)
{
    int64_t named = options->files.n + (options->config != NULL);
    *config = (struct assay_run_config){0};
    if (named == 0)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "which configuration? name one with --config FILE");
    if (named > 1)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "one configuration at a time; \"%.100s\" is one too many",
                               options->files.items[options->config ? 0 : 1]);
    return assay_run_config_read(assay_run_options_file(options), options->lenient, config, err);
}

/* ---- what options replace ------------------------------------------------------------------ */

static enum assay_status override_dtypes(const struct assay_strings *names,
                                         struct assay_run_config *config, struct assay_error *err)
{
    enum assay_dtype dtypes[ASSAY_RUN_DTYPES];
    int64_t n = 0;
    for (int64_t i = 0; i < names->n; i++) {
        enum assay_dtype dtype;
        enum assay_status status = assay_dtype_parse(names->items[i], &dtype, err);
        if (status != ASSAY_OK)
            return status;
        if (dtype != ASSAY_DTYPE_F32 && dtype != ASSAY_DTYPE_F16 && dtype != ASSAY_DTYPE_BF16)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                   "no model runs in %s; try bf16, f16 or f32",
                                   assay_dtype_name(dtype));
        bool there = false;
        for (int64_t k = 0; k < n; k++)
            there = there || dtypes[k] == dtype;
        if (!there)
            dtypes[n++] = dtype;
    }
    for (int64_t i = 0; i < config->n_entries && n; i++) {
        memcpy(config->entries[i].dtypes, dtypes, (size_t)n * sizeof *dtypes);
        config->entries[i].n_dtypes = n;
    }
    return ASSAY_OK;
}

static enum assay_status override_recipes(const struct assay_strings *names,
                                          struct assay_run_config *config, struct assay_error *err)
{
    if (!names->n)
        return ASSAY_OK;
    config->recipes.n = 0;
    enum assay_status status = assay_recipe_list_add(&config->recipes, "baseline", err);
    for (int64_t i = 0; i < names->n && status == ASSAY_OK; i++) {
        const char *name = names->items[i];
        if (config->mode == ASSAY_RUN_TRAINING)
            name = assay_training_recipe(name, config->entries[0].scaling_granularity);
        status = assay_recipe_list_add(&config->recipes, name, err);
    }
    return status;
}

/* "custom=8x16x32", then "4x8x16": the rest of its list; or a set. */
static enum assay_status add_shape(const char *text, struct assay_shapes *out,
                                   struct assay_error *err)
{
    static const char custom[] = "custom=";
    struct assay_shapes one = {0};
    bool named = strncmp(text, custom, sizeof custom - 1) == 0;
    if (!named && (text[0] < '0' || text[0] > '9'))
        return assay_shapes_add_set(out, text, err);
    enum assay_status status =
        assay_shapes_add_text(&one, named ? text + sizeof custom - 1 : text, err);
    if (status == ASSAY_OK && one.items[0].n != 3)
        status = assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                 "--shapes takes custom=MxKxN, three sizes, not \"%.100s\"", text);
    if (status == ASSAY_OK)
        status = assay_shapes_add_mkn(out, one.items[0].sizes, "custom", err);
    assay_shapes_fini(&one);
    return status;
}

static enum assay_status override_shapes(const struct assay_strings *names,
                                         struct assay_run_config *config, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t e = 0; e < config->n_entries && names->n && status == ASSAY_OK; e++) {
        struct assay_shapes *shapes = &config->entries[e].shapes;
        assay_shapes_fini(shapes);
        for (int64_t i = 0; i < names->n && status == ASSAY_OK; i++)
            status = add_shape(names->items[i], shapes, err);
    }
    return status;
}

static enum assay_status override_model(const char *name, struct assay_run_config *config,
                                        struct assay_error *err)
{
    const struct assay_model *model;
    if (!name)
        return ASSAY_OK;
    enum assay_status status = assay_model_find_mkn(name, &model, err);
    for (int64_t i = 0; i < config->n_entries && status == ASSAY_OK; i++)
        snprintf(config->entries[i].model, sizeof config->entries[i].model, "%s", model->name);
    return status;
}

static enum assay_status override_compile(const char *mode, struct assay_run_config *config,
                                          struct assay_error *err)
{
    int64_t found = 0;
    if (!mode)
        return ASSAY_OK;
    while (assay_run_compiles[found] && !assay_text_same(assay_run_compiles[found], mode))
        found++;
    char modes[128];
    assay_reading_words(assay_run_compiles, modes, sizeof modes);
    if (!assay_run_compiles[found])
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--compile takes %s, not \"%.100s\"",
                               modes, mode);
    for (int64_t i = 0; i < config->n_entries; i++) {
        config->entries[i].compile = found;
        config->entries[i].use_torch_compile = true;
    }
    return ASSAY_OK;
}

static enum assay_status override_places(const struct assay_run_options *options,
                                         struct assay_run_config *config, struct assay_error *err)
{
    const char *device = options->measure.device;
    for (int64_t i = 0; i < config->n_entries && device; i++) {
        struct assay_run_entry *entry = &config->entries[i];
        if (strlen(device) >= sizeof entry->device)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "unknown device \"%.100s\"",
                                   device);
        snprintf(entry->device, sizeof entry->device, "%s", device);
        entry->device_at = (struct assay_place){0};
    }
    if (!options->output_dir)
        return ASSAY_OK;
    assay_free(config->output_dir);
    config->output_dir = assay_strdup(options->output_dir);
    config->output_dir_at = (struct assay_place){0};
    return config->output_dir ? ASSAY_OK : assay_error_nomem(err);
}

static enum assay_status override(const struct assay_run_options *options,
                                  struct assay_run_config *config, struct assay_error *err)
{
    enum assay_status status = override_dtypes(&options->dtypes, config, err);
    if (status == ASSAY_OK)
        status = override_recipes(&options->recipes, config, err);
    if (status == ASSAY_OK)
        status = override_shapes(&options->shapes, config, err);
    if (status == ASSAY_OK)
        status = override_model(options->model, config, err);
    if (status == ASSAY_OK)
        status = override_compile(options->compile, config, err);
    if (status == ASSAY_OK)
        status = override_places(options, config, err);
    return status;
}

/* ---- checks -------------------------------------------------------------------------------- */

/* `why` with a line of the file, or without one for an option. */
static enum assay_status at_place(const struct assay_run_config *config, struct assay_place at,
                                  enum assay_status status, const struct assay_error *why,
                                  struct assay_error *err)
{
    char where[128] = "";
    if (at.line)
        assay_run_config_place(config, at, where, sizeof where);
    return assay_error_set(err, status, where[0] ? where : NULL, "%s", why->message);
}

/* No part of the path is something else than a folder. */
static enum assay_status check_output_dir(const struct assay_run_config *config,
                                          struct assay_error *err)
{
    struct assay_error why = {0};
    struct stat info;
    char path[1024];
    size_t length = strlen(config->output_dir);
    if (length >= sizeof path)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "the folder's name is too long");
    for (size_t i = 1; i <= length; i++) {
        if (config->output_dir[i] != '/' && config->output_dir[i])
            continue;
        snprintf(path, sizeof path, "%.*s", (int)i, config->output_dir);
        if (stat(path, &info) == 0 && !S_ISDIR(info.st_mode)) {
            assay_error_set(&why, ASSAY_ERR_INVALID, NULL,
                            "output_dir \"%.100s\": %.100s is a file, not a folder",
                            config->output_dir, path);
            return at_place(config, config->output_dir_at, ASSAY_ERR_INVALID, &why, err);
        }
    }
    return ASSAY_OK;
}

/* ---- the groups ---------------------------------------------------------------------------- */

/* Devices as written and as they are called; each is looked for, and missed, once. */
struct devices {
    const char *written[ASSAY_RUN_ENTRIES];
    char called[ASSAY_RUN_ENTRIES][32];
    int64_t n;
};

/* A device that nobody knows, for a lenient reader. */
static enum assay_status pass_over_device(const struct assay_run_config *config,
                                          const struct assay_run_entry *entry,
                                          const struct assay_error *why, char called[32],
                                          void (*warn)(const char *))
{
    char where[128], text[512];
    assay_run_config_place(config, entry->device_at, where, sizeof where);
    snprintf(text, sizeof text, "%s: %.300s (using the cpu instead)", where, why->message);
    warn(text);
    snprintf(called, 32, "cpu");
    return ASSAY_OK;
}

static enum assay_status settle_device(const struct assay_run_options *options,
                                       const struct assay_run_config *config,
                                       const struct assay_run_entry *entry, struct devices *devices,
                                       const char **out, void (*warn)(const char *),
                                       struct assay_error *err)
{
    struct assay_error why = {0};
    for (int64_t i = 0; i < devices->n; i++)
        if (assay_text_same(devices->written[i], entry->device)) {
            *out = devices->called[i];
            return ASSAY_OK;
        }
    char *called = devices->called[devices->n];
    enum assay_status status = assay_measure_device(entry->device, options->measure.strict_device,
                                                    called, sizeof devices->called[0], warn, &why);
    if (status == ASSAY_ERR_INVALID && config->lenient && entry->device_at.line)
        status = pass_over_device(config, entry, &why, called, warn);
    if (status != ASSAY_OK)
        return at_place(config, entry->device_at, status, &why, err);
    devices->written[devices->n++] = entry->device;
    *out = called;
    return ASSAY_OK;
}

/* Is there such a problem, and do the recipes fit it? In training nothing is stored, and casts fit
 * every shape. */
static enum assay_status check_group(const struct assay_run_config *config,
                                     const struct assay_run_entry *entry, const struct assay_op *op,
                                     const struct assay_shape *shape, enum assay_dtype dtype,
                                     struct assay_error *err)
{
    struct assay_problem problem;
    struct assay_error why = {0};
    enum assay_status status = assay_op_problem(op, dtype, "", shape->sizes, 1, &problem, &why);
    if (status == ASSAY_OK && config->mode == ASSAY_RUN_INFERENCE)
        status = assay_recipe_list_fits(&config->recipes, entry->model, dtype, shape->sizes, &why);
    struct assay_place at = {shape->line, shape->column};
    return status == ASSAY_OK ? ASSAY_OK : at_place(config, at, status, &why, err);
}

static enum assay_status add_groups(const struct assay_training_choice *training,
                                    const struct assay_run_config *config,
                                    const struct assay_run_entry *entry, const char *device,
                                    struct assay_plan *plan, struct assay_error *err)
{
    struct assay_group model = {.n_axes = 3};
    snprintf(model.op, sizeof model.op, ASSAY_MODEL_PREFIX "%s", entry->model);
    snprintf(model.device, sizeof model.device, "%s", device);
    snprintf(model.entry, sizeof model.entry, "%s", entry->name);
    snprintf(model.compile, sizeof model.compile, "%s",
             entry->use_torch_compile ? assay_run_compiles[entry->compile] : "false");
    if (entry->enable_profiler || entry->enable_memory_profiler)
        snprintf(model.profilers, sizeof model.profilers, "%s",
                 !entry->enable_memory_profiler ? "profiler"
                 : !entry->enable_profiler      ? "memory"
                                                : "both");
    const struct assay_op *op = assay_model_op(model.op);
    if (!op) /* the model is known since the file was read */
        return assay_error_nomem(err);
    for (int64_t i = 0; i < entry->shapes.n; i++)
        for (int64_t k = 0; k < entry->n_dtypes; k++) {
            const struct assay_shape *shape = &entry->shapes.items[i];
            struct assay_group group = model;
            enum assay_status status = check_group(config, entry, op, shape, entry->dtypes[k], err);
            if (status != ASSAY_OK)
                return status;
            group.dtype = entry->dtypes[k];
            memcpy(group.axes, shape->sizes, 3 * sizeof *group.axes);
            snprintf(group.label, sizeof group.label, "%s", shape->label);
            status = assay_training_add(training, &group, plan, err);
            if (status != ASSAY_OK)
                return status;
        }
    return ASSAY_OK;
}

static enum assay_status add_entries(const struct assay_run_options *options,
                                     const struct assay_training_choice *training,
                                     const struct assay_run_config *config, struct assay_plan *plan,
                                     void (*warn)(const char *), struct assay_error *err)
{
    struct devices devices = {0};
    int64_t groups = 0, passes;
    enum assay_status status = assay_training_check(training, &passes, err);
    if (status != ASSAY_OK)
        return status;
    for (int64_t i = 0; i < config->n_entries; i++)
        groups += passes * config->entries[i].shapes.n * config->entries[i].n_dtypes;
    if (groups > ASSAY_SWEEP_GROUPS) /* options may have replaced what the file had few of */
        return assay_error_set(err, ASSAY_ERR_INVALID, config->file,
                               "this makes %lld groups; a run takes %d at the most",
                               (long long)groups, ASSAY_SWEEP_GROUPS);
    for (int64_t i = 0; i < config->n_entries && status == ASSAY_OK; i++) {
        const char *device = NULL;
        status = settle_device(options, config, &config->entries[i], &devices, &device, warn, err);
        if (status == ASSAY_OK)
            status = add_groups(training, config, &config->entries[i], device, plan, err);
    }
    return status;
}

/* With the passes of the options, or of training. */
static enum assay_status add_all(const struct assay_run_options *options,
                                 const struct assay_run_config *config, struct assay_plan *plan,
                                 void (*warn)(const char *), struct assay_error *err)
{
    struct assay_training_choice passes = {0};
    if (config->mode == ASSAY_RUN_INFERENCE)
        return add_entries(options, &options->training, config, plan, warn, err);
    enum assay_status status = assay_training_passes(&options->training, &passes, err);
    if (status == ASSAY_OK)
        status = add_entries(options, &passes, config, plan, warn, err);
    assay_strings_fini(&passes.passes);
    return status;
}

/* The first `limit` groups, of training with all their passes, all of them `repeat` times: repeats
 * that lie apart see more of what disturbs a machine than repeats in a row. */
static enum assay_status repeat_groups(struct assay_plan *plan, int64_t limit, int64_t passes,
                                       int64_t repeat, struct assay_error *err)
{
    if (limit && limit * passes < plan->n_groups)
        plan->n_groups = limit * passes;
    if (repeat == 1)
        return ASSAY_OK;
    int64_t n = plan->n_groups, total = n * repeat;
    if (total > ASSAY_SWEEP_GROUPS)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--repeat makes %lld groups; a run takes %d at the most",
                               (long long)total, ASSAY_SWEEP_GROUPS);
    struct assay_group *groups = assay_realloc(plan->groups, (size_t)total, sizeof *plan->groups);
    if (!groups)
        return assay_error_nomem(err);
    for (int64_t i = n; i < total; i++)
        groups[i] = groups[i - n];
    plan->groups = groups;
    plan->n_groups = plan->capacity = total;
    return ASSAY_OK;
}

static enum assay_status make_settings(const struct assay_run_options *options,
                                       const struct assay_run_config *config,
                                       struct assay_settings *settings, struct assay_error *err)
{
    enum assay_status status = assay_measure_settings(&options->measure, 2, settings, err);
    if (status != ASSAY_OK)
        return status;
    status = assay_model_choice_apply(&options->choice, options->measure.python, settings, err);
    if (status != ASSAY_OK)
        return status;
    if (assay_strings_copy(&config->models, &settings->models) != ASSAY_OK)
        return assay_error_nomem(err);
    return assay_recipe_list_names(&config->recipes, &settings->recipes, err);
}

static enum assay_status make_plan(const struct assay_run_options *options,
                                   const struct assay_run_config *config, struct assay_plan *plan,
                                   void (*warn)(const char *), struct assay_error *err)
{
    enum assay_status status = make_settings(options, config, &plan->settings, err);
    if (status == ASSAY_OK)
        status = check_output_dir(config, err);
    if (status == ASSAY_OK)
        status = add_all(options, config, plan, warn, err);
    if (status != ASSAY_OK)
        return status;
    if (config->mode == ASSAY_RUN_TRAINING)
        assay_training_repeats(config, &plan->settings);
    snprintf(plan->settings.device, sizeof plan->settings.device, "%s", plan->groups[0].device);
    int64_t passes = config->mode == ASSAY_RUN_TRAINING ? ASSAY_RUN_PASSES : 1;
    return repeat_groups(plan, options->limit, passes, options->repeat, err);
}

enum assay_status assay_run_plan(const struct assay_run_options *options,
                                 struct assay_run_config *config, struct assay_plan *out,
                                 void (*warn)(const char *text), struct assay_error *err)
{
    *out = (struct assay_plan){0};
    enum assay_status status = override(options, config, err);
    if (status == ASSAY_OK && config->mode == ASSAY_RUN_TRAINING)
        status = assay_training_settle(config, warn, err);
    if (status == ASSAY_OK)
        status = make_plan(options, config, out, warn, err);
    for (int64_t i = 0; i < config->warnings.n && status == ASSAY_OK; i++)
        warn(config->warnings.items[i]);
    if (status != ASSAY_OK)
        assay_plan_fini(out);
    return status;
}
