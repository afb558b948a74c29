#include "report/report_detail.h"

#include "report/report_cells.h"

#include <math.h>
#include <string.h>

enum { LABEL_AT = 4, ITEMS_AT = 12 };

static struct assay_flow begin_line(struct assay_line *line, const struct assay_sink *sink,
                                    int width, const char *label)
{
    assay_line_to(line, LABEL_AT);
    assay_line_left(line, label, ITEMS_AT - LABEL_AT, ASSAY_INK_DIM);
    return (struct assay_flow){line, sink, ITEMS_AT, width, false, ASSAY_INK_DIM};
}

static void count_item(struct assay_flow *flow, int64_t n, const char *what, const char *plural)
{
    if (n)
        assay_flow_item(flow, "%lld %s%s", (long long)n, what, n == 1 ? "" : plural);
}

static void samples_item(struct assay_flow *flow, int64_t n, const char *what)
{
    if (n)
        assay_flow_item(flow, "%lld sample%s %s", (long long)n, n == 1 ? "" : "s", what);
}

static void range_item(struct assay_flow *flow, const char *name, double lo, double hi)
{
    assay_flow_item(flow, "%s %s … %s", name, assay_cell_time(lo).text, assay_cell_time(hi).text);
}

static void disturbances(struct assay_flow *flow, const struct assay_measurement *m)
{
    count_item(flow, m->time.outliers, "outlier", "s");
    count_item(flow, m->context_switches, "context switch", "es");
    samples_item(flow, m->waited, "waited for a core");
    samples_item(flow, m->stolen, "beside stolen time");
    count_item(flow, m->clock_changes, "clock change", "s");
    samples_item(flow, m->near_floor, "near the floor");
    samples_item(flow, m->slow_unit, "on a slow matrix unit");
    samples_item(flow, m->throttled, "with the clock held down");
    if (!m->precise)
        assay_flow_item(flow, "precision not reached");
}

static void state_lines(const struct assay_record *record, const struct assay_measurement *m,
                        struct assay_flow flow)
{
    const struct assay_summary *t = &m->time;
    bool launched = !assay_record_on_host(record); /* every call is, and the floor is part of it */
    assay_flow_item(&flow, "%lld samples × %lld call%s", (long long)t->n, (long long)m->iters,
                    m->iters == 1 ? "" : "s");
    range_item(&flow, "quartiles", t->q1, t->q3);
    range_item(&flow, "range", t->min, t->max);
    disturbances(&flow, m);
    if (m->clock_hz > 0)
        assay_flow_item(&flow, "%.2f GHz", m->clock_hz / 1e9);
    if (m->host_ns > 0 && launched && record->caller[0])
        assay_flow_item(&flow, "a caller in Python waits %s a call",
                        assay_cell_time(m->host_ns).text);
    else if (m->host_ns > 0 && launched)
        assay_flow_item(&flow, "the host needs %s a call", assay_cell_time(m->host_ns).text);
    if (launched && record->floor_ns > 0 && t->median > record->floor_ns)
        assay_flow_item(&flow, "%s beyond the floor",
                        assay_cell_time(t->median - record->floor_ns).text);
    if (m->ceiling_ns > 0)
        assay_flow_item(&flow, "ceiling %s (%s)", assay_cell_time(m->ceiling_ns).text, m->bound);
    if (m->ceiling_ns > 0 && m->ceiling_rounds > 0) /* none in records of older versions */
        assay_flow_item(&flow, "%.1f … %.1f%% of it reached", 100 * m->efficiency_ci.lo,
                        100 * m->efficiency_ci.hi);
    if (m->machine_frac > 0)
        assay_flow_item(&flow, "machine at %.0f%% of its best", 100 * m->machine_frac);
    double visible = 100 * m->ratio.smallest_visible;
    if (m->has_ratio && visible < 1000)
        assay_flow_item(&flow, visible < 10 ? "resolves %.2g%%" : "resolves %.0f%%", visible);
    assay_line_flush(flow.line, flow.sink);
}

static void check_lines(const struct assay_verification *v, struct assay_flow flow)
{
    assay_flow_item(&flow, "%lld of %lld elements, %d time%s", (long long)v->compared,
                    (long long)v->of, v->times, v->times == 1 ? "" : "s");
    if (v->mismatches)
        assay_flow_item(&flow, "%lld wrong", (long long)v->mismatches);
    assay_flow_item(&flow, "max abs %.2g", v->max_abs);
    assay_flow_item(&flow, "max rel %.2g", v->max_rel);
    if (v->max_abs == 0)
        assay_flow_item(&flow, "exact");
    else if (isfinite(v->sqnr_db))
        assay_flow_item(&flow, "SQNR %.1f dB", v->sqnr_db);
    if (v->exact)
        assay_flow_item(&flow, "bit for bit on integers");
    assay_flow_item(&flow, "allowed %.2g rel + %.2g abs%s", v->tolerance_relative,
                    v->tolerance_absolute, v->author_tolerance ? " by its author" : "");
    if (v->author_reference)
        assay_flow_item(&flow, "against its author's own verify");
    assay_line_flush(flow.line, flow.sink);
}

/* What the recipe costs and what it loses. */
static void recipe_items(const struct assay_record *record, struct assay_flow *flow)
{
    char bytes[32];
    if (record->recipe[0])
        assay_flow_item(flow, "recipe %s", record->recipe);
    if (record->weight_bytes > 0) {
        assay_text_bytes(record->weight_bytes, bytes, sizeof bytes);
        assay_flow_item(flow, "weights %s", bytes);
    }
    if (record->prepare_ns > 0)
        assay_flow_item(flow, "prepared in %s", assay_cell_time(record->prepare_ns).text);
    if (record->recipe[0] && !isnan(record->accuracy_db))
        assay_flow_item(flow, "accuracy %s%s", assay_cell_level(record->accuracy_db).text,
                        isfinite(record->accuracy_db) ? " dB" : "");
    for (int i = 0; i < 2; i++)
        if (!isnan(record->more_accuracy_db[i]))
            assay_flow_item(flow, "of output %d %s%s", i + 1,
                            assay_cell_level(record->more_accuracy_db[i]).text,
                            isfinite(record->more_accuracy_db[i]) ? " dB" : "");
    if (record->saved_bytes > 0) {
        assay_text_bytes(record->saved_bytes, bytes, sizeof bytes);
        assay_flow_item(flow, "saved for backward %s", bytes);
    }
}

static void bytes_item(struct assay_flow *flow, const char *name, double bytes)
{
    char text[32];
    if (!(bytes >= 0)) /* not known */
        return;
    assay_text_bytes(bytes, text, sizeof text);
    assay_flow_item(flow, "%s %s", name, text);
}

static void counted_item(struct assay_flow *flow, double n, const char *what)
{
    char text[32];
    if (!(n >= 0)) /* not known */
        return;
    assay_text_count(n, text, sizeof text);
    bool blank = text[strlen(text) - 1] == ' '; /* there, where no prefix is */
    assay_flow_item(flow, "%s%s%s", text, blank ? "" : " ", what);
}

/* Of the last level, whose lines come from memory. */
static void cache_items(const struct assay_measurement *m, struct assay_flow *flow)
{
    static const double CACHED = 0.25;
    const struct assay_counts *c = &m->counts;
    char bytes[32];
    if (c->cache_misses >= 0 && c->cache_references > 0)
        assay_flow_item(flow, "%.2g%% of cache references missed",
                        100 * c->cache_misses / c->cache_references);
    if (!(c->memory_bytes >= 0))
        return;
    assay_text_bytes(c->memory_bytes, bytes, sizeof bytes);
    assay_flow_item(flow,
                    m->memory_frac < CACHED
                        ? "about %s from memory, %.2g of the least: it was in a cache"
                        : "about %s from memory, %.2g of the least",
                    bytes, m->memory_frac);
}

static void counts_line(const struct assay_measurement *m, const char *state,
                        struct assay_flow flow)
{
    const struct assay_counts *c = &m->counts;
    assay_flow_item(&flow, "%s", state);
    if (c->cycles > 0)
        assay_flow_item(&flow, "%.2f instructions a cycle", c->instructions / c->cycles);
    counted_item(&flow, c->instructions, "instructions a call");
    if (c->instructions > 0 && c->branch_misses >= 0)
        assay_flow_item(&flow, "%.2g branch misses in 1000",
                        1000 * c->branch_misses / c->instructions);
    cache_items(m, &flow);
    bytes_item(&flow, "L2 moved", c->l2_bytes);
    if (c->occupancy_frac >= 0)
        assay_flow_item(&flow, "occupancy %.0f%%", 100 * c->occupancy_frac);
    if (c->tensor_frac >= 0)
        assay_flow_item(&flow, "matrix units busy %.0f%%", 100 * c->tensor_frac);
    if (c->task_clock_ns > 0)
        assay_flow_item(&flow, "CPU time %s", assay_cell_time(c->task_clock_ns).text);
    counted_item(&flow, c->page_faults, "page faults");
    counted_item(&flow, c->context_switches, "context switches");
    if (c->counted_frac < 0.995) /* NaN: no counters */
        assay_flow_item(&flow, "scaled: on for %.0f%% of the time", 100 * c->counted_frac);
    if (c->missing[0])
        assay_flow_item(&flow, "n/a (%s)", c->missing);
    assay_line_flush(flow.line, flow.sink);
}

void assay_detail_counts(const struct assay_record *record, struct assay_line *line,
                         const struct assay_sink *sink, int width)
{
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (record->states[s].measured && record->states[s].has_counts)
            counts_line(&record->states[s], assay_cache_state_name((enum assay_cache_state)s),
                        begin_line(line, sink, width, "counts"));
}

static void memory_line(const struct assay_record *record, struct assay_flow flow)
{
    bytes_item(&flow, "idle", record->idle_bytes);
    bytes_item(&flow, "peak", record->peak_bytes);
    bytes_item(&flow, "workspace", record->workspace_bytes);
    bytes_item(&flow, assay_record_on_host(record) ? "resident peak" : "peak by the driver",
               record->system_peak_bytes);
    bytes_item(&flow, "planned between nodes", record->planned_bytes);
    assay_line_flush(flow.line, flow.sink);
}

static void kernel_line(const struct assay_record *record, struct assay_flow flow)
{
    assay_flow_item(&flow, "%s", record->kernel);
    if (record->mode[0])
        assay_flow_item(&flow, "mode %s", record->mode);
    recipe_items(record, &flow);
    if (record->setup_ns > 0)
        assay_flow_item(&flow, "setup %s", assay_cell_time(record->setup_ns).text);
    if (record->energy_j > 0)
        assay_flow_item(&flow, "%.3g mJ a call", record->energy_j * 1e3);
    if (record->floor_ns > 0)
        assay_flow_item(&flow, "floor %s", assay_cell_time(record->floor_ns).text);
    if (record->note[0])
        assay_flow_item(&flow, "%s", record->note);
    assay_line_flush(flow.line, flow.sink);
}

/* "3 kernels", of a graph of ten calls with thirty of them; " in 10 calls" where they differ. */
static void nodes_item(struct assay_flow *flow, const struct assay_graph_audit *graph, int64_t n,
                       const char *what)
{
    bool even = graph->calls > 0 && n % graph->calls == 0;
    int64_t shown = even ? n / graph->calls : n;
    if (n == 0)
        return;
    if (even)
        assay_flow_item(flow, "%lld %s%s a call", (long long)shown, what, shown == 1 ? "" : "s");
    else
        assay_flow_item(flow, "%lld %s%s in %lld calls", (long long)shown, what,
                        shown == 1 ? "" : "s", (long long)graph->calls);
}

/* How a GPU's samples were taken. */
static void timed_line(const struct assay_record *record, struct assay_flow flow)
{
    const struct assay_timed *timed = &record->timed;
    const struct assay_graph_audit *graph = &timed->graph;
    if (timed->why[0])
        assay_flow_item(&flow, "%s: %s", timed->way, timed->why);
    else
        assay_flow_item(&flow, "%s", timed->way);
    if (timed->has_graph) {
        nodes_item(&flow, graph, graph->kernels, "kernel");
        nodes_item(&flow, graph, graph->copies, "copy node");
        nodes_item(&flow, graph, graph->memsets, "memset");
        nodes_item(&flow, graph, graph->others, "other node");
        for (int32_t i = 0; i < graph->n_names; i++)
            assay_flow_item(&flow, "%s", graph->names[i]);
    }
    assay_line_flush(flow.line, flow.sink);
}

/* Of a stranger. */
static void isolation_line(const struct assay_record *record, struct assay_flow flow)
{
    assay_flow_item(&flow, "isolation: %s", record->confined);
    if (record->not_asked)
        assay_flow_item(&flow, "not checked whether it computes every call");
    if (record->printed[0])
        assay_flow_item(&flow, "printed: %s", record->printed);
    assay_line_flush(flow.line, flow.sink);
}

void assay_detail_write(const struct assay_record *record, struct assay_line *line,
                        const struct assay_sink *sink, int width)
{
    if (record->kernel[0])
        kernel_line(record, begin_line(line, sink, width, "kernel"));
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (record->states[s].measured)
            state_lines(
                record, &record->states[s],
                begin_line(line, sink, width, assay_cache_state_name((enum assay_cache_state)s)));
    assay_detail_counts(record, line, sink, width);
    if (record->timed.way[0])
        timed_line(record, begin_line(line, sink, width, "timed"));
    if (record->peak_bytes > 0)
        memory_line(record, begin_line(line, sink, width, "memory"));
    if (record->confined[0])
        isolation_line(record, begin_line(line, sink, width, "process"));
    if (record->verification.done)
        check_lines(&record->verification, begin_line(line, sink, width, "check"));
}
