/* report_trained_csv.c: the CSV file of TorchAO's training benchmarks: one row for each model,
 * shape, recipe and executor, with its forward pass, its backward pass and both. First TorchAO's
 * columns, then assay's own. docs/protocol.md says what they mean. A column without a value is
 * empty; new columns come at the end. */
#include "report/report_trained_formats.h"

#include "kernel/implementation.h"
#include "quant/quant.h"
#include "report/report_pairs.h"
#include "report/report_sink.h"
#include "report/report_trained.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct state {
    struct assay_sink sink;
    struct assay_run_info run;
    struct assay_trained trained;
};

/* What a column may look at. */
struct cell {
    const struct assay_sink *sink;
    const struct assay_run_info *run;
    const struct assay_trained_row *row;
    const struct assay_record *any; /* what is the same for the whole row */
    int of;                         /* the column's pass, or operand */
};

static void put(const struct cell *c, const char *text) { assay_sink_csv(c->sink, text); }
static void real(const struct cell *c, double value) { assay_sink_csv_real(c->sink, value); }
static void flag(const struct cell *c, bool value) { put(c, value ? "true" : "false"); }
static void number(const struct cell *c, int64_t value)
{
    assay_sink_format(c->sink, "%lld", (long long)value);
}

static void empty(const struct cell *c) { (void)c; }

/* ---- what was measured ----------------------------------------------------------------------- */

static void name(const struct cell *c) { put(c, c->any->entry[0] ? c->any->entry : c->any->label); }
static void quantization(const struct cell *c) { put(c, c->any->recipe); }
static void device(const struct cell *c) { put(c, c->any->device); }
static void model_type(const struct cell *c) { put(c, assay_trained_subject(c->any).text); }
static void output_dir(const struct cell *c) { put(c, c->run->output_dir); }
static void shape_name(const struct cell *c) { put(c, c->any->label); }
static void threads(const struct cell *c) { number(c, c->any->threads); }
static void implementation(const struct cell *c) { put(c, c->any->implementation); }

/* Of an eager model: that it is not compiled. */
static void compile_mode(const struct cell *c)
{
    put(c, assay_implementation_compiles(c->any->implementation) ? c->any->compile : "false");
}

static void axis(const struct cell *c)
{
    static const char *const names[] = {"m", "k", "n"};
    for (int32_t i = 0; i < c->any->n_axes && i < ASSAY_MAX_AXES; i++)
        if (strcmp(c->any->axis_names[i], names[c->of]) == 0)
            number(c, c->any->axes[i]);
}

/* "torch.bfloat16" */
static void torch_dtype(const struct cell *c)
{
    const struct assay_dtype_info *info = assay_dtype_info(c->any->dtype);
    if (!info)
        return;
    put(c, "torch.");
    put(c, info->aliases[1] ? info->aliases[1] : info->name);
}

/* As Python writes it: what the configuration asked for. */
static void asked_for(const struct cell *c, const char *profiler)
{
    const char *asked = c->any->profilers;
    put(c, strcmp(asked, profiler) == 0 || strcmp(asked, "both") == 0 ? "True" : "False");
}
static void profiler(const struct cell *c) { asked_for(c, "profiler"); }
static void memory_profiler(const struct cell *c) { asked_for(c, "memory"); }

/* What is made of the whole step's profiles; of another pass's where that has none. */
static void put_file(const struct cell *c, size_t offset)
{
    for (int i = ASSAY_TRAINED_PASSES - 1; i >= 0; i--) {
        const struct assay_record *record = c->row->passes[i];
        const char *file = record ? (const char *)&record->files + offset : "";
        if (file[0]) {
            put(c, file);
            return;
        }
    }
}
#define FILE_OF(member) offsetof(struct assay_profile_files, member)
static void profile(const struct cell *c) { put_file(c, FILE_OF(trace)); }
static void memory_profile(const struct cell *c) { put_file(c, FILE_OF(snapshot)); }
static void memory_page(const struct cell *c) { put_file(c, FILE_OF(memory_page)); }
static void memory_stats(const struct cell *c) { put_file(c, FILE_OF(memory_stats)); }

/* ---- scaling --------------------------------------------------------------------------------- */

static bool casts(const struct cell *c, struct assay_recipe *recipe)
{
    return assay_recipe_parse(c->any->recipe, recipe, NULL) == ASSAY_OK && recipe->trains;
}

static void scaling_type(const struct cell *c)
{
    struct assay_recipe recipe;
    if (casts(c, &recipe))
        put(c, recipe.precise_operands >> c->of & 1 ? "disabled" : "dynamic");
}

static void scaling_granularity(const struct cell *c)
{
    struct assay_recipe recipe;
    if (casts(c, &recipe))
        put(c, recipe.scope == ASSAY_SCOPE_TENSOR ? "tensorwise" : "rowwise");
}

static void scaling_repr(const struct cell *c)
{
    put(c, assay_trained_scaling(c->any->recipe).text);
}

static void use_fast_accum(const struct cell *c)
{
    put(c, c->run->use_fast_accum ? "True" : "False");
}

static void repeat_n(const struct cell *c)
{
    if (c->run->rounds > 0)
        number(c, c->run->rounds);
}

/* ---- figures --------------------------------------------------------------------------------- */

static const struct assay_record *record_of(const struct cell *c) { return c->row->passes[c->of]; }

static const struct assay_measurement *figures_of(const struct cell *c)
{
    return assay_pair_figures(record_of(c));
}

static void put_time(const struct cell *c, const struct assay_record *record)
{
    const struct assay_measurement *m = assay_pair_figures(record);
    if (m)
        real(c, m->time.median / 1e6);
}

static void time_ms(const struct cell *c) { put_time(c, record_of(c)); }
static void reference_ms(const struct cell *c) { put_time(c, c->row->references[c->of]); }

static const struct assay_ratio *ratio_of(const struct cell *c)
{
    const struct assay_measurement *m = figures_of(c);
    return m && m->has_ratio ? &m->ratio : NULL;
}

/* The baseline is as fast as itself. */
static void speedup(const struct cell *c)
{
    const struct assay_ratio *ratio = ratio_of(c);
    if (ratio)
        real(c, ratio->ratio);
    else if (figures_of(c) && assay_cell_is_baseline(record_of(c)))
        real(c, 1);
}
static void speedup_lo(const struct cell *c)
{
    if (ratio_of(c))
        real(c, ratio_of(c)->ci.lo);
}
static void speedup_hi(const struct cell *c)
{
    if (ratio_of(c))
        real(c, ratio_of(c)->ci.hi);
}
static void speedup_significant(const struct cell *c)
{
    if (ratio_of(c))
        flag(c, ratio_of(c)->significant);
}

static void put_tops(const struct cell *c, const struct assay_record *record)
{
    real(c, assay_trained_ops_per_s(record) / 1e12);
}
static void tops(const struct cell *c) { put_tops(c, record_of(c)); }
static void ref_tops(const struct cell *c) { put_tops(c, c->row->references[c->of]); }

static void put_peak(const struct cell *c, const struct assay_record *record)
{
    const struct assay_measurement *m = assay_pair_figures(record);
    if (m && m->efficiency > 0)
        real(c, 100 * m->efficiency);
}
static void peak(const struct cell *c) { put_peak(c, record_of(c)); }
static void ref_peak(const struct cell *c) { put_peak(c, c->row->references[c->of]); }

static void median_lo(const struct cell *c)
{
    if (figures_of(c))
        real(c, figures_of(c)->time.median_ci.lo / 1e6);
}
static void median_hi(const struct cell *c)
{
    if (figures_of(c))
        real(c, figures_of(c)->time.median_ci.hi / 1e6);
}
static void samples(const struct cell *c)
{
    if (figures_of(c))
        number(c, figures_of(c)->time.n);
}
static void precise(const struct cell *c)
{
    if (figures_of(c))
        flag(c, figures_of(c)->precise);
}
static void cache(const struct cell *c)
{
    const struct assay_record *record = record_of(c);
    if (figures_of(c))
        put(c, assay_cache_state_name(figures_of(c) == &record->states[ASSAY_CACHE_HOT]
                                          ? ASSAY_CACHE_HOT
                                          : ASSAY_CACHE_COLD));
}

/* Of y, dX and dW: outputs of two passes. */
static void put_level(const struct cell *c, const struct assay_record *record, bool second)
{
    if (record && record->outcome == ASSAY_OUTCOME_OK)
        assay_sink_csv_level(c->sink, second ? record->more_accuracy_db[0] : record->accuracy_db);
}
static void level(const struct cell *c) { put_level(c, record_of(c), false); }
static void level_dw(const struct cell *c) { put_level(c, record_of(c), true); }

static void put_megabytes(const struct cell *c, double bytes)
{
    if (bytes > 0)
        real(c, bytes / 1e6);
}
static void memory_mb(const struct cell *c)
{
    if (record_of(c))
        put_megabytes(c, record_of(c)->peak_bytes);
}
static void saved_mb(const struct cell *c)
{
    if (record_of(c))
        put_megabytes(c, record_of(c)->saved_bytes);
}

/* ---- how it went ----------------------------------------------------------------------------- */

static void status(const struct cell *c)
{
    put(c, record_of(c) ? assay_outcome_name(record_of(c)->outcome) : "");
}
static void row_status(const struct cell *c)
{
    const struct assay_record *trouble = assay_trained_trouble(c->row);
    put(c, assay_outcome_name(trouble ? trouble->outcome : ASSAY_OUTCOME_OK));
}
static void row_reason(const struct cell *c)
{
    const struct assay_record *trouble = assay_trained_trouble(c->row);
    put(c, trouble ? trouble->reason : "");
}
static void interrupted(const struct cell *c) { flag(c, c->any->interrupted); }
static void baseline(const struct cell *c) { put(c, record_of(c) ? record_of(c)->baseline : ""); }

enum {
    FORWARD = ASSAY_TRAINED_FORWARD,
    BACKWARD = ASSAY_TRAINED_BACKWARD,
    TOTAL = ASSAY_TRAINED_TOTAL,
    ROW = 0,
    M = 0,
    K,
    N
};

static const struct {
    const char *name;
    int of;
    void (*write)(const struct cell *c);
} columns[] = {
    {"name", ROW, name},
    {"quantization", ROW, quantization},
    {"sparsity", ROW, empty},
    {"m", M, axis},
    {"k", K, axis},
    {"n", N, axis},
    {"high_precision_dtype", ROW, torch_dtype},
    {"torch_compile_mode", ROW, compile_mode},
    {"device", ROW, device},
    {"model_type", ROW, model_type},
    {"output_dir", ROW, output_dir},
    {"enable_profiler", ROW, profiler},
    {"enable_memory_profiler", ROW, memory_profiler},
    {"scaling_type_input", ASSAY_OPERAND_INPUT, scaling_type},
    {"scaling_type_weight", ASSAY_OPERAND_WEIGHT, scaling_type},
    {"scaling_type_grad_output", ASSAY_OPERAND_GRADIENT, scaling_type},
    {"scaling_granularity", ROW, scaling_granularity},
    {"use_fast_accum", ROW, use_fast_accum},
    {"repeat_n", ROW, repeat_n},
    {"forward_time_ms", FORWARD, time_ms},
    {"backward_time_ms", BACKWARD, time_ms},
    {"total_time_ms", TOTAL, time_ms},
    {"reference_forward_time_ms", FORWARD, reference_ms},
    {"reference_backward_time_ms", BACKWARD, reference_ms},
    {"reference_total_time_ms", TOTAL, reference_ms},
    {"speedup", TOTAL, speedup},
    {"scaling_repr", ROW, scaling_repr},
    {"ref_tops_sec", TOTAL, ref_tops},
    {"ref_pct_top_peak", TOTAL, ref_peak},
    {"tops_sec", TOTAL, tops},
    {"pct_top_peak", TOTAL, peak},
    {"profiler_json_path", ROW, profile},
    {"memory_profile_path", ROW, memory_profile},
    {"memory_visualization_path", ROW, memory_page},
    {"memory_stats", ROW, memory_stats},
    /* assay's own */
    {"shape_name", ROW, shape_name},
    {"threads", ROW, threads},
    {"implementation", ROW, implementation},
    {"speedup_lo", TOTAL, speedup_lo},
    {"speedup_hi", TOTAL, speedup_hi},
    {"speedup_significant", TOTAL, speedup_significant},
    {"forward_speedup", FORWARD, speedup},
    {"forward_speedup_lo", FORWARD, speedup_lo},
    {"forward_speedup_hi", FORWARD, speedup_hi},
    {"backward_speedup", BACKWARD, speedup},
    {"backward_speedup_lo", BACKWARD, speedup_lo},
    {"backward_speedup_hi", BACKWARD, speedup_hi},
    {"sqnr_y_db", FORWARD, level},
    {"sqnr_dx_db", BACKWARD, level},
    {"sqnr_dw_db", BACKWARD, level_dw},
    {"memory_mb", TOTAL, memory_mb},
    {"saved_mb", TOTAL, saved_mb},
    {"status", ROW, row_status},
    {"reason", ROW, row_reason},
    {"forward_status", FORWARD, status},
    {"backward_status", BACKWARD, status},
    {"total_status", TOTAL, status},
    {"forward_median_lo_ms", FORWARD, median_lo},
    {"forward_median_hi_ms", FORWARD, median_hi},
    {"backward_median_lo_ms", BACKWARD, median_lo},
    {"backward_median_hi_ms", BACKWARD, median_hi},
    {"total_median_lo_ms", TOTAL, median_lo},
    {"total_median_hi_ms", TOTAL, median_hi},
    {"forward_samples", FORWARD, samples},
    {"backward_samples", BACKWARD, samples},
    {"total_samples", TOTAL, samples},
    {"forward_precise", FORWARD, precise},
    {"backward_precise", BACKWARD, precise},
    {"total_precise", TOTAL, precise},
    {"cache", TOTAL, cache},
    {"baseline_implementation", TOTAL, baseline},
    {"interrupted", ROW, interrupted},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* ---- the format ------------------------------------------------------------------------------ */

static void begin(void *state, const struct assay_sink *sink,
                  const struct assay_report_style *style, const struct assay_run_info *run)
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

static void put_row(const struct state *s, const struct assay_trained_row *row)
{
    struct cell c = {&s->sink, &s->run, row, assay_trained_row_any(row), 0};
    for (int i = 0; i < COLUMNS; i++) {
        assay_sink_put(&s->sink, i ? "," : "");
        c.of = columns[i].of;
        columns[i].write(&c);
    }
    assay_sink_put(&s->sink, "\n");
}

static void write_model(void *user, const struct assay_trained *all)
{
    struct assay_trained_row row = {0};
    while (assay_trained_next(all, ASSAY_TRAINED_AS_LISTED, &row))
        put_row(user, &row);
}

static void group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    if (!assay_trained_add(&s->trained, records, n, write_model, s))
        assay_sink_fail(&s->sink);
}

static void end(void *state)
{
    struct state *s = state;
    assay_trained_end(&s->trained, write_model, s);
}

static void fini(void *state) { assay_trained_fini(&((struct state *)state)->trained); }

const struct assay_report_format assay_report_trained_csv = {
    .name = "torchao-csv",
    .summary = "the CSV file of TorchAO's training benchmarks: one row for each recipe",
    .state_bytes = sizeof(struct state),
    .begin = begin,
    .group = group,
    .end = end,
    .fini = fini,
};
