/* torchao_csv.c: the CSV file of TorchAO's microbenchmarks, so that scripts made for it go on
 * working: one row for each group and recipe, the eager and the compiled model in the same row.
 * First TorchAO's columns in its order, then assay's own. docs/protocol.md says what they mean.
 * A column without a value is empty; new columns come at the end. */
#include "report/report_pairs.h"
#include "report/report_sink.h"
#include "report/report_trained_formats.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct state {
    struct assay_sink sink;
    struct assay_run_info run;
};

/* What a column may look at. */
struct row {
    const struct assay_sink *sink;
    const struct assay_run_info *run;
    const struct assay_record *records;
    int64_t n;
    const struct assay_record *any;          /* what is the same for the whole row */
    const struct assay_record *shown;        /* the one that stands for the recipe */
    const struct assay_record *trouble;      /* not ok; NULL where both are */
    const struct assay_record *of;           /* the column's: the row's eager or compiled model */
    const struct assay_measurement *figures; /* of `of`, or NULL */
};

static void put(const struct row *r, const char *text) { assay_sink_csv(r->sink, text); }
static void real(const struct row *r, double value) { assay_sink_csv_real(r->sink, value); }
static void flag(const struct row *r, bool value) { put(r, value ? "true" : "false"); }
static void number(const struct row *r, int64_t value)
{
    assay_sink_format(r->sink, "%lld", (long long)value);
}

static void name(const struct row *r) { put(r, r->any->entry[0] ? r->any->entry : r->any->label); }
static void shape_name(const struct row *r) { put(r, r->any->label); }

/* A recipe's name is "int8dq", or "int8dq+semi-sparse". */
static void quantization(const struct row *r)
{
    char recipe[sizeof r->any->recipe];
    snprintf(recipe, sizeof recipe, "%s", r->any->recipe);
    recipe[strcspn(recipe, "+")] = '\0';
    put(r, recipe);
}

static void sparsity(const struct row *r)
{
    const char *plus = strchr(r->any->recipe, '+');
    put(r, plus ? plus + 1 : "");
}

static void device(const struct row *r) { put(r, r->any->device); }
static void model_type(const struct row *r) { put(r, assay_cell_subject(r->any)); }
static void compile_mode(const struct row *r) { put(r, r->any->compile); }

/* As Python writes it: what the configuration asked for. */
static void asked_for(const struct row *r, const char *profiler)
{
    const char *asked = r->any->profilers;
    put(r, strcmp(asked, profiler) == 0 || strcmp(asked, "both") == 0 ? "True" : "False");
}
static void profiler(const struct row *r) { asked_for(r, "profiler"); }
static void memory_profiler(const struct row *r) { asked_for(r, "memory"); }

/* What is made of a profile: of the compiled model where there is one, as TorchAO traces it. */
static void put_file(const struct row *r, size_t offset)
{
    const char *own = (const char *)&r->shown->files + offset;
    for (int64_t i = 0; i < r->n; i++) {
        const char *its = (const char *)&r->records[i].files + offset;
        if (strcmp(r->records[i].recipe, r->shown->recipe) == 0 &&
            (!own[0] || strcmp(r->records[i].implementation, "compiled") == 0) && its[0])
            own = its;
    }
    put(r, own);
}
#define FILE_OF(member) offsetof(struct assay_profile_files, member)
static void profile(const struct row *r) { put_file(r, FILE_OF(trace)); }
static void memory_profile(const struct row *r) { put_file(r, FILE_OF(snapshot)); }
static void memory_page(const struct row *r) { put_file(r, FILE_OF(memory_page)); }
static void memory_stats(const struct row *r) { put_file(r, FILE_OF(memory_stats)); }

static void output_dir(const struct row *r) { put(r, r->run->output_dir); }

static void axis(const struct row *r, const char *wanted)
{
    for (int32_t i = 0; i < r->any->n_axes && i < ASSAY_MAX_AXES; i++)
        if (strcmp(r->any->axis_names[i], wanted) == 0)
            number(r, r->any->axes[i]);
}
static void axis_m(const struct row *r) { axis(r, "m"); }
static void axis_k(const struct row *r) { axis(r, "k"); }
static void axis_n(const struct row *r) { axis(r, "n"); }

/* "torch.bfloat16" */
static void torch_dtype(const struct row *r)
{
    const struct assay_dtype_info *info = assay_dtype_info(r->any->dtype);
    if (!info)
        return;
    put(r, "torch.");
    put(r, info->aliases[1] ? info->aliases[1] : info->name);
}

static void baseline_time(const struct row *r)
{
    const struct assay_measurement *m =
        r->of ? assay_pair_figures(assay_pair_baseline(r->records, r->n, r->of)) : NULL;
    if (m)
        real(r, m->time.median / 1e6);
}

static void time_ms(const struct row *r)
{
    if (r->figures)
        real(r, r->figures->time.median / 1e6);
}

static const struct assay_ratio *ratio_of(const struct row *r)
{
    return r->figures && r->figures->has_ratio ? &r->figures->ratio : NULL;
}

static const struct assay_ratio *eager_ratio_of(const struct row *r)
{
    return r->figures && r->figures->has_eager_ratio ? &r->figures->eager_ratio : NULL;
}

/* The baseline is as fast as itself. */
static void speedup(const struct row *r)
{
    const struct assay_ratio *ratio = ratio_of(r);
    if (ratio)
        real(r, ratio->ratio);
    else if (r->figures && assay_cell_is_baseline(r->of))
        real(r, 1);
}

static void put_ratio(const struct row *r, const struct assay_ratio *ratio)
{
    if (ratio)
        real(r, ratio->ratio);
}
static void put_lo(const struct row *r, const struct assay_ratio *ratio)
{
    if (ratio)
        real(r, ratio->ci.lo);
}
static void put_hi(const struct row *r, const struct assay_ratio *ratio)
{
    if (ratio)
        real(r, ratio->ci.hi);
}
static void put_significant(const struct row *r, const struct assay_ratio *ratio)
{
    if (ratio)
        flag(r, ratio->significant);
}

static void speedup_lo(const struct row *r) { put_lo(r, ratio_of(r)); }
static void speedup_hi(const struct row *r) { put_hi(r, ratio_of(r)); }
static void speedup_significant(const struct row *r) { put_significant(r, ratio_of(r)); }
static void versus(const struct row *r) { put_ratio(r, eager_ratio_of(r)); }
static void versus_lo(const struct row *r) { put_lo(r, eager_ratio_of(r)); }
static void versus_hi(const struct row *r) { put_hi(r, eager_ratio_of(r)); }
static void versus_significant(const struct row *r) { put_significant(r, eager_ratio_of(r)); }

static void median_lo(const struct row *r)
{
    if (r->figures)
        real(r, r->figures->time.median_ci.lo / 1e6);
}
static void median_hi(const struct row *r)
{
    if (r->figures)
        real(r, r->figures->time.median_ci.hi / 1e6);
}
static void samples(const struct row *r)
{
    if (r->figures)
        number(r, r->figures->time.n);
}
static void precise(const struct row *r)
{
    if (r->figures)
        flag(r, r->figures->precise);
}
static void cache(const struct row *r)
{
    if (r->figures)
        put(r, assay_cache_state_name(r->figures == &r->of->states[ASSAY_CACHE_HOT]
                                          ? ASSAY_CACHE_HOT
                                          : ASSAY_CACHE_COLD));
}

static void threads(const struct row *r) { number(r, r->any->threads); }
static void implementation(const struct row *r) { put(r, r->of ? r->of->implementation : ""); }
static void baseline(const struct row *r) { put(r, r->of ? r->of->baseline : ""); }
static void kernel(const struct row *r) { put(r, r->of ? r->of->kernel : ""); }
static void status(const struct row *r) { put(r, r->of ? assay_outcome_name(r->of->outcome) : ""); }
static void row_status(const struct row *r)
{
    put(r, assay_outcome_name(r->trouble ? r->trouble->outcome : ASSAY_OUTCOME_OK));
}
static void row_reason(const struct row *r) { put(r, r->trouble ? r->trouble->reason : ""); }
static void interrupted(const struct row *r) { flag(r, r->any->interrupted); }

static void sqnr_db(const struct row *r)
{
    if (r->shown->outcome == ASSAY_OUTCOME_OK)
        assay_sink_csv_level(r->sink, r->shown->accuracy_db);
}
static void weight_mb(const struct row *r)
{
    if (r->shown->weight_bytes > 0)
        real(r, r->shown->weight_bytes / 1e6);
}
static void memory_mb(const struct row *r)
{
    if (r->shown->peak_bytes > 0)
        real(r, r->shown->peak_bytes / 1e6);
}
static void prepare_ms(const struct row *r)
{
    if (r->shown->prepare_ns > 0)
        real(r, r->shown->prepare_ns / 1e6);
}
static void pareto(const struct row *r) { flag(r, r->of && r->of->pareto); }

enum of { ROW, EAGER, COMPILED };

static const struct {
    const char *name;
    enum of of;
    void (*write)(const struct row *r);
} columns[] = {
    {"name", ROW, name},
    {"quantization", ROW, quantization},
    {"sparsity", ROW, sparsity},
    {"m", ROW, axis_m},
    {"k", ROW, axis_k},
    {"n", ROW, axis_n},
    {"high_precision_dtype", ROW, torch_dtype},
    {"torch_compile_mode", ROW, compile_mode},
    {"device", ROW, device},
    {"model_type", ROW, model_type},
    {"output_dir", ROW, output_dir},
    {"enable_profiler", ROW, profiler},
    {"enable_memory_profiler", ROW, memory_profiler},
    {"baseline_model_eager_inference_time_in_ms", EAGER, baseline_time},
    {"quantized_model_eager_inference_time_in_ms", EAGER, time_ms},
    {"baseline_model_compiled_inference_time_in_ms", COMPILED, baseline_time},
    {"quantized_model_compiled_inference_time_in_ms", COMPILED, time_ms},
    {"eager speedup on baseline", EAGER, speedup},
    {"compile speedup on baseline", COMPILED, speedup},
    {"eager vs compile speedup", COMPILED, versus},
    {"profiler_json_path", ROW, profile},
    {"memory_profile_path", ROW, memory_profile},
    {"memory_visualization_path", ROW, memory_page},
    {"memory_stats", ROW, memory_stats},
    /* assay's own */
    {"shape_name", ROW, shape_name},
    {"threads", ROW, threads},
    {"eager_speedup_lo", EAGER, speedup_lo},
    {"eager_speedup_hi", EAGER, speedup_hi},
    {"eager_speedup_significant", EAGER, speedup_significant},
    {"compile_speedup_lo", COMPILED, speedup_lo},
    {"compile_speedup_hi", COMPILED, speedup_hi},
    {"compile_speedup_significant", COMPILED, speedup_significant},
    {"eager_vs_compile_lo", COMPILED, versus_lo},
    {"eager_vs_compile_hi", COMPILED, versus_hi},
    {"eager_vs_compile_significant", COMPILED, versus_significant},
    {"sqnr_db", ROW, sqnr_db},
    {"weight_mb", ROW, weight_mb},
    {"memory_mb", ROW, memory_mb},
    {"prepare_ms", ROW, prepare_ms},
    {"status", ROW, row_status},
    {"reason", ROW, row_reason},
    {"eager_status", EAGER, status},
    {"compiled_status", COMPILED, status},
    {"eager_pareto", EAGER, pareto},
    {"compiled_pareto", COMPILED, pareto},
    {"eager_median_lo_ms", EAGER, median_lo},
    {"eager_median_hi_ms", EAGER, median_hi},
    {"eager_samples", EAGER, samples},
    {"eager_precise", EAGER, precise},
    {"eager_cache", EAGER, cache},
    {"eager_implementation", EAGER, implementation},
    {"eager_kernel", EAGER, kernel},
    {"compiled_median_lo_ms", COMPILED, median_lo},
    {"compiled_median_hi_ms", COMPILED, median_hi},
    {"compiled_samples", COMPILED, samples},
    {"compiled_precise", COMPILED, precise},
    {"compiled_cache", COMPILED, cache},
    {"compiled_kernel", COMPILED, kernel},
    {"interrupted", ROW, interrupted},
    {"compiled_implementation", COMPILED, implementation},
    {"eager_baseline_implementation", EAGER, baseline},
    {"compiled_baseline_implementation", COMPILED, baseline},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static void torchao_csv_begin(void *state, const struct assay_sink *sink,
                              const struct assay_report_style *style,
                              const struct assay_run_info *run)
{
    (void)style;
    struct state *s = state;
    s->sink = *sink;
    s->run = *run;
    for (int i = 0; i < COLUMNS; i++) {
        assay_sink_put(sink, i ? "," : "");
        assay_sink_csv(sink, columns[i].name);
    }
    assay_sink_put(sink, "\n");
}

static void put_row(const struct state *s, const struct assay_record *records, int64_t n,
                    const struct assay_pair *pair)
{
    struct row r = {.sink = &s->sink,
                    .run = &s->run,
                    .records = records,
                    .n = n,
                    .any = assay_pair_any(pair),
                    .shown = assay_pair_shown(pair),
                    .trouble = assay_pair_trouble(pair)};
    for (int i = 0; i < COLUMNS; i++) {
        assay_sink_put(&s->sink, i ? "," : "");
        r.of = columns[i].of == ROW     ? r.shown
               : columns[i].of == EAGER ? pair->eager
                                        : pair->compiled;
        r.figures = assay_pair_figures(r.of);
        columns[i].write(&r);
    }
    assay_sink_put(&s->sink, "\n");
}

static void torchao_csv_group(void *state, const struct assay_record *records, int64_t n)
{
    const struct state *s = state;
    struct assay_pair pair = {0};
    while (assay_pair_next(records, n, ASSAY_PAIRS_AS_LISTED, &pair))
        put_row(s, records, n, &pair);
}

static void torchao_csv_end(void *state) { (void)state; }

const struct assay_report_format assay_report_torchao_csv = {
    .name = "torchao-csv",
    .extension = NULL, /* .csv means the format of that name */
    .summary = "the CSV file of TorchAO's microbenchmarks: one row for each recipe",
    .state_bytes = sizeof(struct state),
    .in_training = &assay_report_trained_csv,
    .begin = torchao_csv_begin,
    .group = torchao_csv_group,
    .end = torchao_csv_end,
};
