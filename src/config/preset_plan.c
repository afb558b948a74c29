#include "config/preset_plan.h"

#include "config/preset_set.h"
#include "config/sweep.h"
#include "device/device.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct assay_preset_options, field)

/* clang-format off */
static const struct assay_option rows[] = {
    {"preset", 0, ASSAY_OPTION_LIST, AT(presets), "PRESETS", "presets, which may also stand as words: attn, mlp, conv, norm, transformer, sdres, all, or files", 0, 0},
    {"list", 0, ASSAY_OPTION_FLAG, AT(list), NULL, "show the presets, their cases and parameters with their defaults, and end", 0, 0},
    {"set", 0, ASSAY_OPTION_REPEAT, AT(sets), "P=VALUES", "a parameter: seq_len=4096, a list 1,2,4 or a range 1024:8192:x2; of one preset or case: attn.seq_len=…; repeatable", 0, 0},
    {"device", 0, ASSAY_OPTION_TEXT, AT(measure.device), "DEVICE", "where to run: cpu, cuda or cuda:N (default: cuda where there is one, else cpu)", 0, 0},
    {"dtype", 0, ASSAY_OPTION_LIST, AT(dtypes), "DTYPES", "element types: float16 (default on CUDA), float32 (default elsewhere), bfloat16", 0, 0},
    {"compile", 0, ASSAY_OPTION_FLAG, AT(compile), NULL, "also measure each case compiled, with its ratio to eager", 0, 0},
    ASSAY_MODEL_CHOICE_ROWS(AT(choice)),
    ASSAY_TRAINING_CHOICE_ROWS(AT(training)),
    {"cache", 0, ASSAY_OPTION_TEXT, AT(measure.cache), "STATE", "cache states: hot (default), cold or both", 0, 0},
    {"output", 'o', ASSAY_OPTION_REPEAT, AT(measure.outputs), "FILE", "also write FILE, in the format of its extension or as FORMAT:FILE; repeatable", 0, 0},
    {"format", 'f', ASSAY_OPTION_TEXT, AT(measure.format), "FORMAT", "format of --output, or of standard output without --output: kobench, kobench-json, … (`assay list formats`)", 0, 0},
    {0},
};
/* clang-format on */

const struct assay_option_table assay_preset_options_table = {.options = rows,
                                                              .words_offset = AT(words),
                                                              .words = "[PRESET...]",
                                                              .shared = assay_measure_rows,
                                                              .shared_offset = AT(measure)};

/* Of a case, where they are not: long enough for 1 % in most cases, short enough to run them all
 * at once. */
static const double BUDGET_S = 0.5;

void assay_preset_options_init(struct assay_preset_options *options)
{
    *options = (struct assay_preset_options){.measure = {.cache = "hot"}};
}

void assay_preset_options_fini(struct assay_preset_options *options)
{
    assay_options_fini(&assay_preset_options_table, options);
}

/* ---- which presets -------------------------------------------------------------------------- */

static enum assay_status add_preset(struct assay_preset_choice *choice,
                                    const struct assay_preset *preset, struct assay_error *err)
{
    for (int64_t i = 0; i < choice->n; i++)
        if (choice->items[i] == preset)
            return ASSAY_OK;
    if (choice->n == ASSAY_PRESETS_AT_ONCE)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "more than %d presets at once",
                               ASSAY_PRESETS_AT_ONCE);
    choice->items[choice->n++] = preset;
    return ASSAY_OK;
}

static enum assay_status add_file(struct assay_preset_choice *choice, const char *path,
                                  struct assay_error *err)
{
    if (choice->n_files == ASSAY_PRESET_FILES)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "more than %d files of presets",
                               ASSAY_PRESET_FILES);
    struct assay_preset_file *file = &choice->files[choice->n_files++];
    enum assay_status status = assay_preset_file_read(path, file, err);
    return status == ASSAY_OK ? add_preset(choice, &file->preset, err) : status;
}

static enum assay_status add_named(struct assay_preset_choice *choice, const char *name,
                                   struct assay_error *err)
{
    const struct assay_preset *preset;
    enum assay_status status = ASSAY_OK;
    if (assay_preset_file_is(name))
        return add_file(choice, name, err);
    if (assay_text_same(name, "all")) {
        for (int64_t i = 0; i < assay_preset_count() && status == ASSAY_OK; i++)
            status = add_preset(choice, assay_preset_at(i), err);
        return status;
    }
    status = assay_preset_find(name, &preset, err);
    return status == ASSAY_OK ? add_preset(choice, preset, err) : status;
}

enum assay_status assay_preset_choose(const struct assay_preset_options *options,
                                      struct assay_preset_choice *out, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    *out = (struct assay_preset_choice){0};
    for (int64_t i = 0; i < options->words.n && status == ASSAY_OK; i++)
        status = add_named(out, options->words.items[i], err);
    for (int64_t i = 0; i < options->presets.n && status == ASSAY_OK; i++)
        status = add_named(out, options->presets.items[i], err);
    return status;
}

void assay_preset_choice_fini(struct assay_preset_choice *choice)
{
    for (int64_t i = 0; i < choice->n_files; i++)
        assay_preset_file_fini(&choice->files[i]);
    choice->n = choice->n_files = 0;
}

/* ---- settings ------------------------------------------------------------------------------- */

static enum assay_status settle_device(const struct assay_measure_config *measure, char *out,
                                       size_t size, void (*warn)(const char *),
                                       struct assay_error *err)
{
    const struct assay_device_driver *driver;
    int32_t index;
    if (measure->device)
        return assay_measure_device(measure->device, measure->strict_device, out, size, warn, err);
    bool cuda = assay_device_parse("cuda", &driver, &index, NULL) == ASSAY_OK;
    snprintf(out, size, "%s", cuda ? "cuda" : "cpu");
    return ASSAY_OK;
}

static enum assay_status make_settings(const struct assay_preset_options *options,
                                       const struct assay_preset_choice *choice,
                                       struct assay_settings *s, void (*warn)(const char *),
                                       struct assay_error *err)
{
    enum assay_status status = assay_measure_settings(&options->measure, BUDGET_S, s, err);
    if (status == ASSAY_OK)
        status = settle_device(&options->measure, s->device, sizeof s->device, warn, err);
    if (status != ASSAY_OK)
        return status;
    if (s->warmup || s->rounds) {
        s->warmup = s->warmup ? s->warmup : ASSAY_PRESET_WARMUP;
        s->rounds = s->rounds ? s->rounds : ASSAY_PRESET_ITERS;
    }
    status = assay_model_choice_apply(&options->choice, options->measure.python, s, err);
    if (status != ASSAY_OK)
        return status;
    if (assay_strings_add(&s->recipes, "baseline") != ASSAY_OK)
        return assay_error_nomem(err);
    for (int64_t i = 0; i < choice->n_files; i++)
        for (int64_t k = 0; k < choice->files[i].models.n; k++)
            if (assay_strings_add(&s->models, choice->files[i].models.items[k]) != ASSAY_OK)
                return assay_error_nomem(err);
    return ASSAY_OK;
}

static enum assay_status read_dtypes(const struct assay_strings *names, const char *device,
                                     enum assay_dtype *out, int64_t *n, struct assay_error *err)
{
    *n = 0;
    if (!names->n)
        out[(*n)++] = assay_device_is_host(device) ? ASSAY_DTYPE_F32 : ASSAY_DTYPE_F16;
    for (int64_t i = 0; i < names->n; i++) {
        enum assay_dtype dtype;
        enum assay_status status = assay_dtype_parse(names->items[i], &dtype, err);
        if (status != ASSAY_OK)
            return status;
        if (dtype != ASSAY_DTYPE_F32 && dtype != ASSAY_DTYPE_F16 && dtype != ASSAY_DTYPE_BF16)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                   "no preset runs in %s; try float16, bfloat16 or float32",
                                   assay_dtype_name(dtype));
        bool there = false;
        for (int64_t k = 0; k < *n; k++)
            there = there || out[k] == dtype;
        if (!there)
            out[(*n)++] = dtype;
    }
    return ASSAY_OK;
}

/* ---- groups --------------------------------------------------------------------------------- */

/* One case on its way through the values of its parameters. */
struct sweep {
    const struct assay_preset_options *options;
    const struct assay_preset_case *preset_case;
    enum assay_dtype dtype;
    const struct assay_preset_set *sets[ASSAY_PRESET_PARAMETERS]; /* NULL: the default */
    int64_t at[ASSAY_PRESET_PARAMETERS];                          /* which of the set's values */
    int64_t values[ASSAY_PRESET_PARAMETERS];
    int64_t passes; /* groups that each combination makes */
    struct assay_plan *plan;
};

/* The parameter before this one that changes together with it: height, of image_size's width; -1:
 * none. */
static int64_t leader(const struct sweep *sweep, int64_t parameter)
{
    for (int64_t i = 0; i < parameter && sweep->sets[parameter]; i++)
        if (sweep->sets[i] && sweep->sets[i]->text == sweep->sets[parameter]->text)
            return i;
    return -1;
}

/* What tells a swept case's groups apart: "seq_len=2048 num_heads=8". */
static void write_label(const struct sweep *sweep, char *out, size_t size)
{
    const struct assay_preset_case *c = sweep->preset_case;
    char value[32];
    out[0] = '\0';
    for (int64_t i = 0; i < assay_preset_case_parameters(c); i++) {
        size_t used = strlen(out);
        if (!sweep->sets[i] || sweep->sets[i]->values.n < 2 || leader(sweep, i) >= 0)
            continue;
        assay_preset_case_value(c, i, sweep->values[i], value, sizeof value);
        snprintf(out + used, size - used, "%s%s=%s", used ? " " : "", sweep->sets[i]->written,
                 value);
    }
}

static enum assay_status add_group(const struct sweep *sweep, struct assay_error *err)
{
    const struct assay_preset_case *c = sweep->preset_case;
    struct assay_preset_problem problem;
    enum assay_status status =
        assay_preset_case_problem(c, sweep->values, sweep->dtype, &problem, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_group group = {
        .dtype = sweep->dtype,
        .n_axes = problem.n_axes,
        .macs = problem.macs,
        .counted_flops = problem.flops,
    };
    memcpy(group.axes, problem.axes, sizeof group.axes);
    snprintf(group.op, sizeof group.op, "%s", problem.op);
    snprintf(group.entry, sizeof group.entry, "%s", assay_preset_case_name(c, sweep->values));
    snprintf(group.device, sizeof group.device, "%s", sweep->plan->settings.device);
    snprintf(group.compile, sizeof group.compile, "%s",
             sweep->options->compile ? "default" : "false");
    write_label(sweep, group.label, sizeof group.label);
    if (sweep->plan->n_groups + sweep->passes > ASSAY_SWEEP_GROUPS)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "more than %d groups in one run",
                               ASSAY_SWEEP_GROUPS);
    return assay_training_add(&sweep->options->training, &group, sweep->plan, err);
}

/* Every combination of the values of the parameters from this one on. */
static enum assay_status add_combinations(struct sweep *sweep, int64_t parameter,
                                          struct assay_error *err)
{
    const struct assay_preset_case *c = sweep->preset_case;
    if (parameter == assay_preset_case_parameters(c))
        return add_group(sweep, err);
    const struct assay_axis *axis = sweep->sets[parameter] ? &sweep->sets[parameter]->values : NULL;
    int64_t with = leader(sweep, parameter);
    enum assay_status status = ASSAY_OK;
    if (!axis) {
        status = assay_preset_case_default(c, parameter, sweep->values, err);
        return status == ASSAY_OK ? add_combinations(sweep, parameter + 1, err) : status;
    }
    for (int64_t i = with < 0 ? 0 : sweep->at[with];
         i < (with < 0 ? axis->n : sweep->at[with] + 1) && status == ASSAY_OK; i++) {
        sweep->at[parameter] = i;
        sweep->values[parameter] = axis->values[i];
        status = add_combinations(sweep, parameter + 1, err);
    }
    return status;
}

static enum assay_status add_preset_groups(const struct assay_preset_options *options,
                                           const struct assay_preset *preset,
                                           const struct assay_preset_sets *sets,
                                           enum assay_dtype dtype, struct assay_plan *plan,
                                           struct assay_error *err)
{
    int64_t passes;
    enum assay_status status = assay_training_check(&options->training, &passes, err);
    for (const struct assay_preset_case *c = preset->cases; c->name && status == ASSAY_OK; c++) {
        struct sweep sweep = {
            .options = options, .preset_case = c, .dtype = dtype, .passes = passes, .plan = plan};
        for (int64_t i = 0; i < assay_preset_case_parameters(c); i++)
            sweep.sets[i] = assay_preset_sets_find(sets, preset, c, c->parameters[i].name);
        status = add_combinations(&sweep, 0, err);
    }
    return status;
}

static enum assay_status make_plan(const struct assay_preset_options *options,
                                   const struct assay_preset_choice *choice,
                                   struct assay_preset_sets *sets, struct assay_plan *plan,
                                   void (*warn)(const char *), struct assay_error *err)
{
    enum assay_dtype dtypes[3];
    int64_t n_dtypes = 0;
    enum assay_status status =
        assay_preset_sets_read(&options->sets, choice->items, choice->n, sets, err);
    if (status == ASSAY_OK)
        status = make_settings(options, choice, &plan->settings, warn, err);
    if (status == ASSAY_OK)
        status = read_dtypes(&options->dtypes, plan->settings.device, dtypes, &n_dtypes, err);
    for (int64_t i = 0; i < n_dtypes; i++)
        for (int64_t k = 0; k < choice->n && status == ASSAY_OK; k++)
            status = add_preset_groups(options, choice->items[k], sets, dtypes[i], plan, err);
    return status;
}

enum assay_status assay_preset_plan(const struct assay_preset_options *options,
                                    const struct assay_preset_choice *choice,
                                    struct assay_plan *out, void (*warn)(const char *text),
                                    struct assay_error *err)
{
    struct assay_preset_sets sets = {0};
    *out = (struct assay_plan){0};
    if (!choice->n)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "which preset? name some, or all; `assay preset --list` shows them");
    enum assay_status status = make_plan(options, choice, &sets, out, warn, err);
    assay_preset_sets_fini(&sets);
    if (status != ASSAY_OK)
        assay_plan_fini(out);
    return status;
}
