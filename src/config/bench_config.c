#include "config/bench_config.h"

#include "config/sweep.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct assay_bench_config, field)

static const struct assay_option bench_option_rows[] = {
    {"batch", 0, ASSAY_OPTION_TEXT, AT(batch), "LIST",
     "sizes of the first axis: 16,32 or 16:128:x2 or 256:1024:+256", 0, 0},
    {"seq", 0, ASSAY_OPTION_TEXT, AT(seq), "LIST", "sizes of the second axis", 0, 0},
    {"dim", 0, ASSAY_OPTION_TEXT, AT(dim), "LIST", "sizes of the last axis", 0, 0},
    {"sweep", 0, ASSAY_OPTION_FLAG, AT(sweep), NULL,
     "every batch (" ASSAY_SWEEP_BATCH "), seq (" ASSAY_SWEEP_SEQ ") and dim (" ASSAY_SWEEP_DIM
     "): 112 groups for each op",
     0, 0},
    {"shape", 0, ASSAY_OPTION_LIST, AT(shapes), "LIST",
     "whole shapes: MxKxN for linear, MxK for quantize, BATCHxSEQxHEADSxDIM for attention, "
     "BATCHxHEIGHTxWIDTHxINxOUTxKERNELxSTRIDE for conv2d, else BATCHxSEQxDIM",
     0, 0},
    {"shapes", 0, ASSAY_OPTION_LIST, AT(shape_sets), "SETS",
     "sets of shapes for linear: llama, pow2, pow2:10:12 (`assay list shapes`)", 0, 0},
    {"mode", 0, ASSAY_OPTION_LIST, AT(modes), "LIST",
     "modes of an op (`assay list ops`): bias+gelu, rms+silu+add, s8-row; none is the op alone", 0,
     0},
    {"pass", 0, ASSAY_OPTION_TEXT, AT(pass), "PASS",
     "forward (default), backward: the gradients of each op, or both: one group after the other", 0,
     0},
    {"recipe", 0, ASSAY_OPTION_LIST, AT(recipes), "RECIPES",
     "how linear's weights are stored, or cast in training: int8wo, int4wo-128, 'float8*', all "
     "(`assay list recipes`); baseline is always among them",
     0, 0},
    {"dtype", 0, ASSAY_OPTION_LIST, AT(dtypes), "DTYPES",
     "element types: f32 (default), bf16, f16; of linear also s8", 0, 0},
    {"impl", 0, ASSAY_OPTION_LIST, AT(implementations), "IMPLS",
     "implementations to compare: native, onednn, ref (default: all)", 0, 0},
    {"kernel", 0, ASSAY_OPTION_LIST, AT(kernels), "KERNELS",
     "exactly these kernels (`assay list kernels`); all: every kernel of the op", 0, 0},
    {"cache", 0, ASSAY_OPTION_TEXT, AT(measure.cache), "STATE",
     "cache states: hot, cold or both (default)", 0, 0},
    {"baseline", 0, ASSAY_OPTION_TEXT, AT(baseline), "IMPL",
     "what speedups refer to (default: onednn where it runs, else ref; native with --recipe)", 0,
     0},
    {"max-elements", 0, ASSAY_OPTION_SIZE, AT(max_elements), "N",
     "skip larger inputs; 0: no limit (default 50M where batch, seq and dim make more than one "
     "combination)",
     0, 9e18},
    {"dry-run", 0, ASSAY_OPTION_FLAG, AT(dry_run), NULL, "print what would be measured, and end", 0,
     0},
    {"output", 'o', ASSAY_OPTION_REPEAT, AT(measure.outputs), "FILE",
     "also write FILE, in the format of its extension or as FORMAT:FILE; repeatable", 0, 0},
    {"format", 'f', ASSAY_OPTION_TEXT, AT(measure.format), "FORMAT",
     "format of --output, or of standard output without --output (`assay list formats`)", 0, 0},
    {"device", 0, ASSAY_OPTION_TEXT, AT(measure.device), "DEVICE",
     "where to run: cpu, cuda or cuda:N (default cpu)", 0, 0},
    {0},
};

const struct assay_option_table assay_bench_options = {.options = bench_option_rows,
                                                       .words_offset = AT(ops),
                                                       .words = "[OP...]",
                                                       .shared = assay_measure_rows,
                                                       .shared_offset = AT(measure)};

void assay_bench_config_init(struct assay_bench_config *config)
{
    *config = (struct assay_bench_config){
        .measure = {.cache = "both", .device = "cpu"},
        .max_elements = -1,
    };
}

void assay_bench_config_fini(struct assay_bench_config *config)
{
    assay_options_fini(&assay_bench_options, config);
}

/* What a tour takes for each group and cache state, and what can be known by then. */
static const double TOUR_BUDGET_S = 0.4, TOUR_PRECISION = 0.05;

/* With plug-ins, whose names only the worker knows, it checks. */
static enum assay_status check_kernels(const struct assay_bench_config *c,
                                       const struct assay_sweep *sweep,
                                       const struct assay_settings *s, struct assay_error *err)
{
    char kind[32]; /* "cuda" of "cuda:1" */
    const char *device = s->device;
    if (s->plugins.n)
        return ASSAY_OK;
    assay_kernel_registry *registry = assay_kernel_registry_create();
    if (!registry)
        return assay_error_nomem(err);
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(device, ":"), device);
    struct assay_kernel_choice choice = {
        .device = kind,
        .implementations = (const char *const *)c->implementations.items,
        .n_implementations = c->implementations.n,
        .kernels = (const char *const *)c->kernels.items,
        .n_kernels = c->kernels.n,
        .baseline = c->baseline,
    };
    enum assay_status status = assay_kernel_check_choice(registry, &choice, err);
    for (int64_t i = 0; i < sweep->n_ops && status == ASSAY_OK; i++)
        status = assay_kernel_check_baseline(registry, sweep->ops[i]->name, &choice, err);
    assay_kernel_registry_destroy(registry);
    return status;
}

static enum assay_status make_settings(const struct assay_bench_config *c,
                                       const struct assay_sweep *sweep, struct assay_settings *s,
                                       void (*warn)(const char *), struct assay_error *err)
{
    enum assay_status status =
        assay_measure_settings(&c->measure, sweep->is_tour ? TOUR_BUDGET_S : 2, s, err);
    if (sweep->is_tour && c->measure.precision <= 0)
        s->precision = TOUR_PRECISION;
    if (status == ASSAY_OK)
        status = assay_measure_device(c->measure.device, c->measure.strict_device, s->device,
                                      sizeof s->device, warn, err);
    if (status != ASSAY_OK)
        return status;
    if (c->baseline)
        snprintf(s->baseline, sizeof s->baseline, "%s", c->baseline);
    if (assay_strings_copy(&c->implementations, &s->implementations) != ASSAY_OK ||
        assay_strings_copy(&c->kernels, &s->kernels) != ASSAY_OK)
        return assay_error_nomem(err);
    status = assay_measure_python(c->measure.python, s, err);
    if (status == ASSAY_OK)
        status = check_kernels(c, sweep, s, err);
    if (status != ASSAY_OK)
        return status;
    return assay_recipe_list_names(&sweep->recipes, &s->recipes, err);
}

enum assay_status assay_bench_plan(const struct assay_bench_config *config, struct assay_plan *out,
                                   void (*warn)(const char *text), struct assay_error *err)
{
    struct assay_sweep sweep;
    *out = (struct assay_plan){0};
    enum assay_status status = assay_sweep_init(&sweep, config, err);
    if (status == ASSAY_OK)
        status = make_settings(config, &sweep, &out->settings, warn, err);
    if (status == ASSAY_OK)
        status = assay_sweep_plan(&sweep, out, err);
    assay_sweep_fini(&sweep);
    if (status != ASSAY_OK)
        assay_plan_fini(out);
    return status;
}
