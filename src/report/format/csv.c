/* csv.c: one row for each record and cache state, or one row without figures for a record that was
 * not timed. Fields are quoted as RFC 4180 says; lines end in \n, as spreadsheets and scripts both
 * accept. Numbers have the digits to read back exactly; what is not known is empty. Texts that
 * begin like a formula have an apostrophe before them.
 *
 * The columns, in this order for good; new ones are added at the end:
 *   group variant op title implementation kernel device dtype
 *   axes              "batch=32 seq=512 dim=768"
 *   threads seed status reason interrupted baseline is_baseline
 *   cache             hot or cold; empty in a row without figures
 *   n calls_per_sample median_ns median_lo_ns median_hi_ns (95 %) precise
 *   mean_ns std_ns (population) min_ns max_ns q1_ns q3_ns p5_ns p95_ns p99_ns outliers
 *   speedup           over the baseline, > 1 is faster; speedup_lo speedup_hi (95 %) significant
 *   smallest_visible  the least |speedup - 1| that this run could have told from 0
 *   fastest bytes_per_s flops_per_s ceiling_ns bound efficiency
 *   context_switches clock_changes near_floor clock_hz
 *   bytes_read bytes_written flops memory_bytes setup_ns floor_ns
 *   verified compared of mismatches max_abs max_rel rms sqnr_db
 *   mode label recipe note weight_bytes prepare_ns
 *   accuracy_db       "inf" where the output is that of the unquantised product
 *   activation_share pareto slow_unit exact throttled host_ns energy_j
 *   entry compile     of a model
 *   eager_speedup eager_speedup_lo eager_speedup_hi eager_significant
 *   idle_bytes peak_bytes workspace_bytes system_peak_bytes
 *   macs counted_flops  of a preset
 *   efficiency_lo efficiency_hi (95 %) machine_frac disturbed waited stolen
 *   timed timed_why   graph, blocked stream or eager; why it was no graph
 *   graph_calls graph_kernels graph_copies graph_memsets  of the graph that was replayed */
#include "report/report_sink.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum kind { TEXT, INT32, INT64, SEED, REAL, LEVEL, FLAG, DTYPE, AXES, STATUS, CACHE };

/* What must be there for a column to have a value. Offsets of the first three count from the
 * record, those of the others from the measurement. */
enum owner { RECORD, CHECK, GRAPH, MEASUREMENT, RATIO, EAGER_RATIO };

struct column {
    const char *name;
    enum owner owner;
    enum kind kind;
    size_t offset;
};

/* clang-format off */
#define R(name, kind, member) {name, RECORD, kind, offsetof(struct assay_record, member)}
#define V(name, kind, member) {name, CHECK, kind, offsetof(struct assay_record, verification.member)}
#define G(name, kind, member) {name, GRAPH, kind, offsetof(struct assay_record, timed.graph.member)}
#define M(name, kind, member) {name, MEASUREMENT, kind, offsetof(struct assay_measurement, member)}
#define Q(name, kind, member) {name, RATIO, kind, offsetof(struct assay_measurement, ratio.member)}
#define E(name, kind, member) {name, EAGER_RATIO, kind, offsetof(struct assay_measurement, eager_ratio.member)}
static const struct column column_table[] = {
    R("group", INT64, group),
    R("variant", INT64, variant),
    R("op", TEXT, op),
    R("title", TEXT, title),
    R("implementation", TEXT, implementation),
    R("kernel", TEXT, kernel),
    R("device", TEXT, device),
    R("dtype", DTYPE, dtype),
    R("axes", AXES, n_axes),
    R("threads", INT32, threads),
    R("seed", SEED, seed),
    R("status", STATUS, outcome),
    R("reason", TEXT, reason),
    R("interrupted", FLAG, interrupted),
    R("baseline", TEXT, baseline),
    R("is_baseline", FLAG, is_baseline),
    M("cache", CACHE, measured),
    M("n", INT64, time.n),
    M("calls_per_sample", INT64, iters),
    M("median_ns", REAL, time.median),
    M("median_lo_ns", REAL, time.median_ci.lo),
    M("median_hi_ns", REAL, time.median_ci.hi),
    M("precise", FLAG, precise),
    M("mean_ns", REAL, time.mean),
    M("std_ns", REAL, time.std),
    M("min_ns", REAL, time.min),
    M("max_ns", REAL, time.max),
    M("q1_ns", REAL, time.q1),
    M("q3_ns", REAL, time.q3),
    M("p5_ns", REAL, time.p5),
    M("p95_ns", REAL, time.p95),
    M("p99_ns", REAL, time.p99),
    M("outliers", INT64, time.outliers),
    Q("speedup", REAL, ratio),
    Q("speedup_lo", REAL, ci.lo),
    Q("speedup_hi", REAL, ci.hi),
    Q("significant", FLAG, significant),
    Q("smallest_visible", REAL, smallest_visible),
    M("fastest", FLAG, fastest),
    M("bytes_per_s", REAL, bytes_per_s),
    M("flops_per_s", REAL, flops_per_s),
    M("ceiling_ns", REAL, ceiling_ns),
    M("bound", TEXT, bound),
    M("efficiency", REAL, efficiency),
    M("context_switches", INT64, context_switches),
    M("clock_changes", INT64, clock_changes),
    M("near_floor", INT64, near_floor),
    M("clock_hz", REAL, clock_hz),
    R("bytes_read", REAL, bytes_read),
    R("bytes_written", REAL, bytes_written),
    R("flops", REAL, flops),
    R("memory_bytes", REAL, memory_bytes),
    R("setup_ns", REAL, setup_ns),
    R("floor_ns", REAL, floor_ns),
    R("verified", FLAG, verification.done),
    V("compared", INT64, compared),
    V("of", INT64, of),
    V("mismatches", INT64, mismatches),
    V("max_abs", REAL, max_abs),
    V("max_rel", REAL, max_rel),
    V("rms", REAL, rms),
    V("sqnr_db", REAL, sqnr_db),
    R("mode", TEXT, mode),
    R("label", TEXT, label),
    R("recipe", TEXT, recipe),
    R("note", TEXT, note),
    R("weight_bytes", REAL, weight_bytes),
    R("prepare_ns", REAL, prepare_ns),
    R("accuracy_db", LEVEL, accuracy_db),
    R("activation_share", REAL, activation_share),
    R("pareto", FLAG, pareto),
    M("slow_unit", INT64, slow_unit),
    V("exact", FLAG, exact),
    M("throttled", INT64, throttled),
    M("host_ns", REAL, host_ns),
    R("energy_j", REAL, energy_j),
    R("entry", TEXT, entry),
    R("compile", TEXT, compile),
    E("eager_speedup", REAL, ratio),
    E("eager_speedup_lo", REAL, ci.lo),
    E("eager_speedup_hi", REAL, ci.hi),
    E("eager_significant", FLAG, significant),
    R("idle_bytes", REAL, idle_bytes),
    R("peak_bytes", REAL, peak_bytes),
    R("workspace_bytes", REAL, workspace_bytes),
    R("system_peak_bytes", REAL, system_peak_bytes),
    R("macs", REAL, macs),
    R("counted_flops", REAL, counted_flops),
    M("efficiency_lo", REAL, efficiency_ci.lo),
    M("efficiency_hi", REAL, efficiency_ci.hi),
    M("machine_frac", REAL, machine_frac),
    M("disturbed", INT64, disturbed),
    M("waited", INT64, waited),
    M("stolen", INT64, stolen),
    R("timed", TEXT, timed.way),
    R("timed_why", TEXT, timed.why),
    G("graph_calls", INT64, calls),
    G("graph_kernels", INT64, kernels),
    G("graph_copies", INT64, copies),
    G("graph_memsets", INT64, memsets),
};
/* clang-format on */

enum { COLUMNS = sizeof column_table / sizeof column_table[0] };

struct state {
    struct assay_sink sink;
};

static void put_axes(const struct assay_sink *sink, const struct assay_record *record)
{
    char text[ASSAY_MAX_AXES * 40] = "";
    size_t length = 0;
    for (int32_t i = 0; i < record->n_axes && i < ASSAY_MAX_AXES; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%.15s=%lld",
                                   i ? " " : "", record->axis_names[i], (long long)record->axes[i]);
    assay_sink_csv(sink, text);
}

static void put_value(const struct assay_sink *sink, enum kind kind, const void *value,
                      const struct assay_record *record, const char *cache)
{
    switch (kind) {
    case TEXT:
        assay_sink_csv(sink, value);
        break;
    case INT32:
        assay_sink_format(sink, "%d", *(const int32_t *)value);
        break;
    case INT64:
        assay_sink_format(sink, "%lld", (long long)*(const int64_t *)value);
        break;
    case SEED:
        assay_sink_format(sink, "%llu", (unsigned long long)*(const uint64_t *)value);
        break;
    case REAL:
        assay_sink_csv_real(sink, *(const double *)value);
        break;
    case LEVEL:
        assay_sink_csv_level(sink, *(const double *)value);
        break;
    case FLAG:
        assay_sink_put(sink, *(const bool *)value ? "true" : "false");
        break;
    case DTYPE:
        assay_sink_put(sink, assay_dtype_name(*(const enum assay_dtype *)value));
        break;
    case STATUS:
        assay_sink_put(sink, assay_outcome_name(*(const enum assay_outcome *)value));
        break;
    case AXES:
        put_axes(sink, record);
        break;
    case CACHE:
        assay_sink_put(sink, cache);
        break;
    }
}

static bool is_known(enum owner owner, const struct assay_record *record,
                     const struct assay_measurement *m)
{
    switch (owner) {
    case RECORD:
        return true;
    case CHECK:
        return record->verification.done;
    case GRAPH:
        return record->timed.has_graph;
    case MEASUREMENT:
        return m != NULL;
    case RATIO:
        return m && m->has_ratio;
    case EAGER_RATIO:
        return m && m->has_eager_ratio;
    }
    return false;
}

/* Of `m`, which may be NULL for a record without figures. */
static void put_row(const struct assay_sink *sink, const struct assay_record *record,
                    const struct assay_measurement *m, const char *cache)
{
    for (int i = 0; i < COLUMNS; i++) {
        const struct column *c = &column_table[i];
        assay_sink_put(sink, i ? "," : "");
        const char *base = c->owner <= GRAPH ? (const char *)record : (const char *)m;
        if (is_known(c->owner, record, m))
            put_value(sink, c->kind, base + c->offset, record, cache);
    }
    assay_sink_put(sink, "\n");
}

static void csv_begin(void *state, const struct assay_sink *sink,
                      const struct assay_report_style *style, const struct assay_run_info *run)
{
    (void)style;
    (void)run;
    struct state *s = state;
    s->sink = *sink;
    for (int i = 0; i < COLUMNS; i++)
        assay_sink_format(sink, "%s%s", i ? "," : "", column_table[i].name);
    assay_sink_put(sink, "\n");
}

static void csv_group(void *state, const struct assay_record *records, int64_t n)
{
    const struct state *s = state;
    for (int64_t i = 0; i < n; i++) {
        bool any = false;
        for (int c = 0; c < ASSAY_CACHE_STATES; c++) {
            const struct assay_measurement *m = &records[i].states[c];
            if (m->measured)
                put_row(&s->sink, &records[i], m,
                        assay_cache_state_name((enum assay_cache_state)c));
            any |= m->measured;
        }
        if (!any)
            put_row(&s->sink, &records[i], NULL, "");
    }
}

static void csv_end(void *state) { (void)state; }

const struct assay_report_format assay_report_csv = {
    .name = "csv",
    .extension = "csv",
    .summary = "one row for each record and cache state",
    .state_bytes = sizeof(struct state),
    .begin = csv_begin,
    .group = csv_group,
    .end = csv_end,
};
