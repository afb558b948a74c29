#include "config/kernel_config.h"

#include "config/bench_config.h"
#include "device/device.h"
#include "op/op.h"
#include "tensor/dtype.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct assay_kernel_options, field)

/* clang-format off */
static const struct assay_option rows[] = {
    {"version", 0, ASSAY_OPTION_TEXT, AT(version), "N", "version of a remote repository: its branch or tag vN", 0, 0},
    {"branch", 0, ASSAY_OPTION_TEXT, AT(branch), "NAME", "revision of a remote repository: a branch, tag or commit", 0, 0},
    {"hub", 0, ASSAY_OPTION_TEXT, AT(hub), "URL", "where remote repositories are: git clone URL/NAME (default $ASSAY_HUB, else https://huggingface.co)", 0, 0},
    {"offline", 0, ASSAY_OPTION_FLAG, AT(offline), NULL, "use only what was downloaded before", 0, 0},
    {"list", 0, ASSAY_OPTION_FLAG, AT(list), NULL, "compile, show what would run, and end", 0, 0},
    {"build", 0, ASSAY_OPTION_FLAG, AT(build), NULL, "compile everything, whatever device it is for, and end", 0, 0},
    {"workload", 0, ASSAY_OPTION_LIST, AT(workloads), "LIST", "only these workloads: names or patterns such as large, Silu.*", 0, 0},
    {"iterations", 0, ASSAY_OPTION_INT, AT(measure.rounds), "N", "samples of each workload and of its reference (default 100, within 0.7 s); --iters is the same; --precision or --budget: until it is precise", 1, 1e6},
    {"shape", 0, ASSAY_OPTION_LIST, AT(shapes), "LIST", "shapes for kernels of known ops, as `assay bench OP --shape` takes them", 0, 0},
    {"dtype", 0, ASSAY_OPTION_LIST, AT(dtypes), "DTYPES", "element types for kernels of known ops: f32, f16, bf16 (default: all the kernel takes)", 0, 0},
    {"mode", 0, ASSAY_OPTION_LIST, AT(modes), "LIST", "modes for kernels of known ops, as of `assay bench`", 0, 0},
    {"recipe", 0, ASSAY_OPTION_LIST, AT(recipes), "RECIPES", "recipes for kernels of linear (default: all the kernel takes)", 0, 0},
    {"device", 0, ASSAY_OPTION_TEXT, AT(measure.device), "DEVICE", "only what is for cpu, cuda or cuda:N (default: everything this machine can run)", 0, 0},
    {"cache", 0, ASSAY_OPTION_TEXT, AT(measure.cache), "STATE", "cache states: hot (default), cold or both", 0, 0},
    {"output", 'o', ASSAY_OPTION_REPEAT, AT(measure.outputs), "FILE", "also write FILE, in the format of its extension (.json: kernel-json) or as FORMAT:FILE; repeatable", 0, 0},
    {"format", 'f', ASSAY_OPTION_TEXT, AT(measure.format), "FORMAT", "format of --output, or of standard output without --output: kernel, kernel-json, … (`assay list formats`)", 0, 0},
    {"json", 0, ASSAY_OPTION_FLAG, AT(json), NULL, "print kernel-json instead of the table: the same as --format kernel-json", 0, 0},
    {"visual", 0, ASSAY_OPTION_TEXT, AT(visual), "PATH", "also draw the speedups: PATH_light.svg and PATH_dark.svg", 0, 0},
    {"rasterized", 0, ASSAY_OPTION_FLAG, AT(rasterized), NULL, "with --visual: PNG instead of SVG, where rsvg-convert is installed", 0, 0},
    {"new", 0, ASSAY_OPTION_TEXT, AT(new_name), "FOLDER", "write a new repository with a kernel that works, for --op in --lang", 0, 0},
    {"op", 0, ASSAY_OPTION_TEXT, AT(op), "OP", "the op that the kernel of --new computes", 0, 0},
    {"lang", 0, ASSAY_OPTION_TEXT, AT(language), "LANGUAGE", "the language of --new: c (default) or cu", 0, 0},
    {0},
};
/* clang-format on */

const struct assay_option_table assay_kernel_options_table = {.options = rows,
                                                              .words_offset = AT(words),
                                                              .words = "PATH | REPO[@REVISION]",
                                                              .shared = assay_measure_rows,
                                                              .shared_offset = AT(measure)};

/* The numbers `kernels benchmark` has; a slow one takes as many as fit into the budget. */
enum { USUAL_WARMUP = 10, USUAL_ITERATIONS = 100 };
static const double BUDGET_S = 0.7, SWEEP_BUDGET_S = 0.5;

void assay_kernel_options_init(struct assay_kernel_options *options)
{
    *options = (struct assay_kernel_options){.measure = {.cache = "hot"}};
}

void assay_kernel_options_fini(struct assay_kernel_options *options)
{
    assay_options_fini(&assay_kernel_options_table, options);
}

bool assay_kernel_wants(const struct assay_kernel_options *options, const char *benchmark,
                        const char *workload)
{
    char whole[160];
    snprintf(whole, sizeof whole, "%s.%s", benchmark, workload);
    for (int64_t i = 0; i < options->workloads.n; i++)
        if (fnmatch(options->workloads.items[i], workload, 0) == 0 ||
            fnmatch(options->workloads.items[i], whole, 0) == 0)
            return true;
    return options->workloads.n == 0;
}

enum assay_status assay_kernel_device(const struct assay_kernel_options *options, const char *kind,
                                      char *out, size_t size, struct assay_error *err)
{
    const char *asked = options->measure.device;
    const struct assay_device_driver *driver;
    int32_t index;
    size_t length = strlen(kind);
    bool other = asked && !(strncmp(asked, kind, length) == 0 &&
                            (asked[length] == '\0' || asked[length] == ':'));
    if (other)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "is for %s, and --device is %s", kind,
                               asked);
    enum assay_status status = assay_device_parse(asked ? asked : kind, &driver, &index, err);
    if (status == ASSAY_OK)
        snprintf(out, size, "%s", asked ? asked : kind);
    return status;
}

/* ---- known ops ------------------------------------------------------------------------------ */

static enum assay_status choose_shapes(const struct assay_kernel_options *o,
                                       const struct assay_kernel_file *file, const char *op,
                                       struct assay_strings *out)
{
    const struct assay_strings *asked = o->shapes.n ? &o->shapes : &file->shapes;
    const char *sample = assay_op_sample_shapes(assay_op_find(op));
    if (asked->n)
        return assay_strings_copy(asked, out);
    return sample ? assay_strings_split(out, sample) : ASSAY_OK; /* the sweep asks for some */
}

/* All the kernel takes of the usual three, where none is named. */
static enum assay_status choose_dtypes(const struct assay_kernel_options *o,
                                       const struct assay_kernel_file *file,
                                       const struct assay_kernel_found *kernel,
                                       struct assay_strings *out)
{
    static const enum assay_dtype usual[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16, ASSAY_DTYPE_F16};
    const struct assay_strings *asked = o->dtypes.n ? &o->dtypes : &file->dtypes;
    const struct assay_op *op = assay_op_find(kernel->op);
    enum assay_status status = ASSAY_OK;
    if (asked->n)
        return assay_strings_copy(asked, out);
    for (size_t i = 0; i < sizeof usual / sizeof usual[0] && status == ASSAY_OK; i++)
        if (kernel->dtypes & ASSAY_DTYPE_BIT(usual[i]) && assay_op_has_dtype(op, usual[i]))
            status = assay_strings_add(out, assay_dtype_name(usual[i]));
    return status;
}

static enum assay_status choose_recipes(const struct assay_kernel_options *o,
                                        const struct assay_kernel_found *kernel,
                                        struct assay_strings *out)
{
    enum assay_status status = ASSAY_OK;
    if (o->recipes.n)
        return assay_strings_copy(&o->recipes, out);
    for (int64_t i = 0; i < kernel->n_recipes && status == ASSAY_OK; i++)
        status = assay_strings_add(out, kernel->recipes[i]);
    return status;
}

/* What `assay bench` would measure of this op, with this kernel as what all are compared with. */
static enum assay_status add_sweep(const struct assay_kernel_options *o,
                                   const struct assay_kernel_file *file,
                                   const struct assay_kernel_found *kernel, const char *device,
                                   struct assay_plan *plan, struct assay_error *err)
{
    struct assay_bench_config bench;
    struct assay_plan groups = {0};
    assay_bench_config_init(&bench);
    enum assay_status status = assay_strings_add(&bench.ops, kernel->op);
    if (status == ASSAY_OK)
        status = choose_shapes(o, file, kernel->op, &bench.shapes);
    if (status == ASSAY_OK)
        status = choose_dtypes(o, file, kernel, &bench.dtypes);
    if (status == ASSAY_OK)
        status = choose_recipes(o, kernel, &bench.recipes);
    if (status == ASSAY_OK)
        status = assay_strings_copy(&o->modes, &bench.modes);
    if (status != ASSAY_OK)
        assay_error_nomem(err);
    else
        status = assay_bench_plan(&bench, &groups, NULL, err);
    for (int64_t i = 0; i < groups.n_groups && status == ASSAY_OK; i++) {
        struct assay_group *group = &groups.groups[i];
        snprintf(group->device, sizeof group->device, "%s", device);
        snprintf(group->baseline, sizeof group->baseline, "%s", kernel->implementation);
        status = assay_plan_add(plan, group) == ASSAY_OK ? ASSAY_OK : assay_error_nomem(err);
    }
    for (int64_t i = 0; i < groups.settings.recipes.n && status == ASSAY_OK; i++)
        if (!assay_strings_have(&plan->settings.recipes, groups.settings.recipes.items[i]))
            status = assay_strings_add(&plan->settings.recipes, groups.settings.recipes.items[i]);
    assay_plan_fini(&groups);
    assay_bench_config_fini(&bench);
    return status;
}

/* Several kernels of one op and implementation are one variant: the best that can run. */
static bool is_planned(const struct assay_plan *plan, const struct assay_kernel_found *kernel,
                       const char *device)
{
    for (int64_t i = 0; i < plan->n_groups; i++) {
        const struct assay_group *group = &plan->groups[i];
        if (strcmp(group->op, kernel->op) == 0 && strcmp(group->device, device) == 0)
            return true;
    }
    return false;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static enum assay_status add_workload(const struct assay_kernel_object *object,
                                      const struct assay_workload_found *workload,
                                      const char *device, struct assay_plan *plan,
                                      struct assay_error *err)
{
    struct assay_group group = {.dtype = ASSAY_DTYPE_NONE};
    for (int64_t i = 0; i < plan->n_groups; i++)
        if (strcmp(plan->groups[i].op, workload->op) == 0)
            return assay_error_set(err, ASSAY_ERR_INVALID, object->shown,
                                   "another file has a workload %s.%s too", workload->benchmark,
                                   workload->name);
    snprintf(group.op, sizeof group.op, "%s", workload->op);
    snprintf(group.entry, sizeof group.entry, "%s", workload->benchmark);
    snprintf(group.label, sizeof group.label, "%s", workload->name);
    snprintf(group.device, sizeof group.device, "%s", device);
    return assay_plan_add(plan, &group) == ASSAY_OK ? ASSAY_OK : assay_error_nomem(err);
}

static void say_left_out(const char *shown, const char *what, const struct assay_error *why,
                         void (*warn)(const char *))
{
    char text[700];
    snprintf(text, sizeof text, "%s: %s: skipped: %s", shown, what, why->message);
    warn(text);
}

static enum assay_status add_object(const struct assay_kernel_options *o,
                                    const struct assay_kernel_file *file,
                                    const struct assay_kernel_object *object,
                                    struct assay_plan *plan, void (*warn)(const char *),
                                    struct assay_error *err)
{
    const struct assay_contents *c = object->contents;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < c->n_workloads && status == ASSAY_OK; i++) {
        const struct assay_workload_found *w = &c->workloads[i];
        struct assay_error why = {0};
        char device[32];
        if (!assay_kernel_wants(o, w->benchmark, w->name))
            continue;
        if (assay_kernel_device(o, w->device, device, sizeof device, &why) == ASSAY_OK)
            status = add_workload(object, w, device, plan, err);
        else
            say_left_out(object->shown, w->name, &why, warn);
    }
    for (int64_t i = 0; i < c->n_kernels && status == ASSAY_OK; i++) {
        const struct assay_kernel_found *k = &c->kernels[i];
        struct assay_error why = {0};
        char device[32];
        if (!assay_kernel_wants(o, k->op, k->name))
            continue;
        if (assay_kernel_device(o, k->device, device, sizeof device, &why) != ASSAY_OK)
            say_left_out(object->shown, k->name, &why, warn);
        else if (!is_planned(plan, k, device))
            status = add_sweep(o, file, k, device, plan, err);
    }
    if (status == ASSAY_OK && assay_strings_add(&plan->settings.plugins, object->path) != ASSAY_OK)
        status = assay_error_nomem(err);
    return status;
}

/* Fixed numbers as `kernels benchmark` has them, unless precision is asked for; a sweep over known
 * ops goes by precision unless numbers are. */
static void choose_counts(const struct assay_kernel_options *o, bool sweep,
                          struct assay_settings *s)
{
    const struct assay_measure_config *m = &o->measure;
    bool by_precision = m->precision > 0 || m->budget_s > 0;
    if (m->rounds == 0 && (by_precision || sweep))
        return;
    s->within_budget = m->rounds == 0;
    s->warmup = m->warmup ? m->warmup : USUAL_WARMUP;
    s->rounds = m->rounds ? m->rounds : USUAL_ITERATIONS;
}

static enum assay_status nothing_to_run(const struct assay_kernel_options *o,
                                        const struct assay_kernel_object *objects, int64_t n,
                                        struct assay_error *err)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t w = 0; w < objects[i].contents->n_workloads; w++)
            if (assay_kernel_wants(o, objects[i].contents->workloads[w].benchmark,
                                   objects[i].contents->workloads[w].name))
                return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                                       "nothing here runs on this machine's devices");
    for (int64_t i = 0; i < n; i++)
        if (objects[i].contents->n_kernels && !o->workloads.n)
            return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                                   "nothing here runs on this machine's devices");
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "no workload is called \"%s\"; --list shows them all",
                           o->workloads.n ? o->workloads.items[0] : "");
}

enum assay_status assay_kernel_plan(const struct assay_kernel_options *options,
                                    const struct assay_kernel_file *file,
                                    const struct assay_kernel_object *objects, int64_t n,
                                    struct assay_plan *out, void (*warn)(const char *text),
                                    struct assay_error *err)
{
    bool sweep = true;
    *out = (struct assay_plan){0};
    for (int64_t i = 0; i < n; i++)
        sweep = sweep && objects[i].contents->n_workloads == 0;
    enum assay_status status = assay_measure_settings(
        &options->measure, sweep ? SWEEP_BUDGET_S : BUDGET_S, &out->settings, err);
    if (status == ASSAY_OK) {
        choose_counts(options, sweep, &out->settings);
        snprintf(out->settings.device, sizeof out->settings.device, "cpu");
    }
    for (int64_t i = 0; i < n && status == ASSAY_OK; i++)
        status = add_object(options, file, &objects[i], out, warn, err);
    if (status == ASSAY_OK && out->n_groups == 0)
        status = nothing_to_run(options, objects, n, err);
    if (status == ASSAY_OK)
        status = assay_measure_python(options->measure.python, &out->settings, err);
    if (status == ASSAY_OK) /* what the head of the report tells of */
        snprintf(out->settings.device, sizeof out->settings.device, "%s", out->groups[0].device);
    if (status != ASSAY_OK)
        assay_plan_fini(out);
    return status;
}
