/* torchao.c: what `assay run` shows: TorchAO's table, for a terminal.
 *
 * One heading for each group and one row for each recipe, the fastest first, with the eager and the
 * compiled model side by side. What is the same for the whole group (name, shape, times of the
 * baseline) stands in its heading, what is the same for the whole run above them all. A row that
 * has no figures says why, across the whole line; where only one of the two has none, a line under
 * the row says why. Columns follow from what is in the group; where they are too wide, intervals
 * are shortened first. */
#include "kernel/implementation.h"
#include "report/report_detail.h"
#include "report/report_grid.h"
#include "report/report_pairs.h"
#include "report/report_totals_table.h"
#include "report/report_trained_formats.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

enum column {
    QUANTIZATION,
    EAGER,
    EAGER_SPREAD,
    EAGER_SPEEDUP,
    COMPILED,
    COMPILED_SPREAD,
    COMPILED_SPEEDUP,
    VERSUS,
    WEIGHT,
    LEVEL,
    CHECK,
    COLUMNS
};

enum {
    PARETO = 2, /* the mark before the recipe, and a blank */
    REASON_AT = 4,
    FASTER_SPEEDUP = 17, /* "1.62x [1.58 1.66]" */
    SHORT_SPEEDUP = 12,  /* "1.31x slower" */
};

struct state {
    struct assay_page page;
    struct assay_grid grid; /* of the group at hand */
    bool has_compiled;      /* some variant of the group at hand is a compiled model */
    bool has_repeats;       /* some row stands for several measurements */
    int64_t most_repeats;
    bool trains; /* a group is a pass of training */
    struct assay_totals totals;
};

static void flush(struct state *s) { assay_page_flush(&s->page); }

static void torchao_begin(void *state, const struct assay_sink *sink,
                          const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct state *s = state;
    assay_page_begin(&s->page, sink, style);
    assay_row_machine(run, &s->page.line, sink, s->page.width);
    struct assay_flow flow = assay_page_flow(&s->page, 0, s->page.width, ASSAY_INK_DIM);
    assay_flow_item(&flow, "Sparsity: none");
    assay_flow_item(&flow, "Profiler Enabled: no");
    flush(s);
    flush(s);
}

/* ---- columns ------------------------------------------------------------------------------- */

static bool is_compared(const void *table, int of)
{
    (void)of;
    return ((const struct state *)table)->has_compiled;
}

/* Spreads of repeats, of the compiled model where there is one. */
static bool is_repeated(const void *table, int of)
{
    const struct state *s = table;
    return s->has_repeats && (of == EAGER || s->has_compiled);
}

/* Of a column with this `of`: EAGER or COMPILED. */
static const struct assay_record *record_of(const struct assay_cell_request *q)
{
    return q->of == EAGER ? q->pair->eager : q->pair->compiled;
}

static void note_ratio(struct assay_legend *legend, const struct assay_ratio *ratio,
                       const char *text)
{
    legend->interval |= strchr(text, '[') != NULL;
    legend->same |= assay_cell_ratio_direction(ratio) == 0;
}

static bool is_timed(const struct assay_pair *pair)
{
    return assay_pair_figures(pair->eager) || assay_pair_figures(pair->compiled);
}

static struct assay_figure label_cell(const struct assay_cell_request *q)
{
    return (struct assay_figure){.cell = assay_pair_label(q->pair),
                                 .ink = is_timed(q->pair) ? ASSAY_INK_PLAIN : ASSAY_INK_DIM};
}

/* Instead of a time, its spread and a speedup: that there are none. */
static struct assay_figure no_time(const struct assay_record *record, bool ascii)
{
    bool failed = record && record->outcome != ASSAY_OUTCOME_OK;
    bool bad = failed && !assay_outcome_is_fine(record->outcome);
    struct assay_figure f =
        assay_figure_text(failed ? assay_cell_outcome(record->outcome).text : "-",
                          bad ? ASSAY_INK_BAD : ASSAY_INK_DIM);
    f.lead = bad ? "✗" : "";
    f.lead_ink = ASSAY_INK_BAD;
    f.lead_width = assay_line_columns_of("✓", ascii) + 1;
    f.span = 2; /* spread and speedup */
    return f;
}

static struct assay_figure time_cell(const struct assay_cell_request *q)
{
    const struct assay_record *record = record_of(q);
    const struct assay_measurement *m = assay_pair_figures(record);
    if (!m)
        return no_time(record, q->ascii);
    bool hot = m == &record->states[ASSAY_CACHE_HOT];
    q->legend->hot |= hot;
    q->legend->cold |= !hot;
    return assay_figure_marked_time(m, assay_cell_milliseconds(m->time.median), q->legend);
}

static struct assay_figure spread_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = assay_pair_figures(record_of(q));
    struct assay_figure f = {.ink = ASSAY_INK_DIM};
    if (m && m->repeats > 1)
        assay_cell_add(&f.cell, "%.1f%%", 100 * m->repeats_frac);
    return f;
}

static struct assay_figure speedup_cell(const struct assay_cell_request *q)
{
    const struct assay_record *record = record_of(q);
    const struct assay_measurement *m = assay_pair_figures(record);
    if (!m)
        return (struct assay_figure){0};
    struct assay_figure f = {.ink = assay_row_speedup_ink(record, m)};
    if (!assay_cell_is_baseline(record) && m->has_ratio)
        f.cell = assay_cell_interval(&m->ratio, q->width, q->ascii);
    else
        assay_cell_add(&f.cell, "%s", assay_cell_is_baseline(record) ? "baseline" : "-");
    if (m->has_ratio)
        note_ratio(q->legend, &m->ratio, f.cell.text);
    return f;
}

static struct assay_figure versus_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = assay_pair_figures(record_of(q));
    q->legend->versus = true;
    if (!m || !m->has_eager_ratio)
        return assay_figure_text(m ? "-" : "", ASSAY_INK_DIM);
    struct assay_figure f = {.cell = assay_cell_interval(&m->eager_ratio, q->width, q->ascii),
                             .ink = assay_figure_ratio_ink(&m->eager_ratio)};
    note_ratio(q->legend, &m->eager_ratio, f.cell.text);
    return f;
}

static struct assay_figure weight_cell(const struct assay_cell_request *q)
{
    q->legend->weights = true;
    return assay_figure_plain(assay_cell_megabytes(assay_pair_shown(q->pair)->weight_bytes));
}

static struct assay_figure level_cell(const struct assay_cell_request *q)
{
    q->legend->levels = true;
    return assay_figure_plain(assay_cell_level(assay_pair_shown(q->pair)->accuracy_db));
}

static bool is_checked(const struct assay_record *record)
{
    return !assay_pair_figures(record) || record->verification.done;
}

static struct assay_figure check_cell(const struct assay_cell_request *q)
{
    return is_timed(q->pair)
               ? assay_figure_check(is_checked(q->pair->eager) && is_checked(q->pair->compiled))
               : (struct assay_figure){0};
}

/* clang-format off */
static const struct assay_column columns[COLUMNS] = {
    [QUANTIZATION]     = {.heading = "Quantization", .cell = label_cell},
    [EAGER]            = {.heading = "Model ms", .upper = "Eager", .over = 2, .width = 8, .right = true, .led = true, .marked = true, .of = EAGER, .cell = time_cell},
    [EAGER_SPREAD]     = {.heading = "Spread", .width = 6, .right = true, .of = EAGER, .cell = spread_cell, .shown = is_repeated},
    [EAGER_SPEEDUP]    = {.heading = "Speedup", .of = EAGER, .cell = speedup_cell},
    [COMPILED]         = {.heading = "Model ms", .upper = "Compile", .over = 2, .width = 8, .right = true, .led = true, .marked = true, .of = COMPILED, .cell = time_cell, .shown = is_compared},
    [COMPILED_SPREAD]  = {.heading = "Spread", .width = 6, .right = true, .of = COMPILED, .cell = spread_cell, .shown = is_repeated},
    [COMPILED_SPEEDUP] = {.heading = "Speedup", .of = COMPILED, .cell = speedup_cell, .shown = is_compared},
    [VERSUS]           = {.heading = "Speedup", .upper = "Eager vs Compile", .of = COMPILED, .cell = versus_cell, .shown = is_compared},
    [WEIGHT]           = {.heading = "MB", .upper = "Weight", .width = 6, .right = true, .cell = weight_cell},
    [LEVEL]            = {.heading = "dB", .upper = "SQNR", .width = 5, .right = true, .cell = level_cell},
    [CHECK]            = {.width = ASSAY_COLUMN_CHECK, .cell = check_cell},
};
/* clang-format on */

static const struct assay_shrink shrinks[] = {
    {QUANTIZATION, 18},
    {VERSUS, FASTER_SPEEDUP},
    {EAGER_SPEEDUP, FASTER_SPEEDUP},
    {COMPILED_SPEEDUP, FASTER_SPEEDUP},
    {WEIGHT, ASSAY_DROP},
    {VERSUS, sizeof "Eager vs Compile" - 1},
    {VERSUS, ASSAY_DROP},
    {EAGER_SPEEDUP, SHORT_SPEEDUP},
    {COMPILED_SPEEDUP, SHORT_SPEEDUP},
    {LEVEL, ASSAY_DROP},
    {COMPILED_SPREAD, ASSAY_DROP},
    {EAGER_SPREAD, ASSAY_DROP},
    {QUANTIZATION, 7},
};

static bool note_repeats(struct state *s, const struct assay_record *records, int64_t n)
{
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct assay_measurement *m = assay_pair_figures(&records[i]);
        most = m && m->repeats > most ? m->repeats : most;
    }
    s->most_repeats = most > s->most_repeats ? most : s->most_repeats;
    return most > 1;
}

static void choose_layout(struct state *s, const struct assay_record *records, int64_t n)
{
    s->has_compiled = assay_pair_has_compiled(records, n);
    s->has_repeats = note_repeats(s, records, n);
    s->grid = (struct assay_grid){
        .page = &s->page, .columns = columns, .n = COLUMNS, .table = s, .start = PARETO - 1};
    assay_grid_begin(&s->grid, 0);
    struct assay_pair pair = {0};
    while (assay_pair_next(records, n, ASSAY_PAIRS_AS_LISTED, &pair))
        assay_grid_measure(&s->grid, &pair);
    assay_grid_fit(&s->grid, shrinks, sizeof shrinks / sizeof shrinks[0],
                   assay_page_most(&s->page));
    /* Reasons and headings take what the terminal has. */
    s->grid.width = s->grid.width > s->page.width ? s->grid.width : s->page.width;
}

/* ---- a group's heading -------------------------------------------------------------------- */

/* Of what the times are. */
static const char *time_of(const struct assay_record *record)
{
    static const struct {
        const char *pass, *words;
    } passes[] = {{"forward", "Forward"},
                  {"backward", "Backward"},
                  {"both", "Forward and Backward"},
                  {"step", "Step"}};
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++)
        if (strcmp(record->pass, passes[i].pass) == 0)
            return passes[i].words;
    return "Inference";
}

static void baseline_item(struct assay_flow *flow, const char *name,
                          const struct assay_record *records, int64_t n,
                          const struct assay_record *record)
{
    const struct assay_record *baseline = record ? assay_pair_baseline(records, n, record) : NULL;
    const struct assay_measurement *m = assay_pair_figures(baseline);
    struct assay_cell whose = {""};
    if (m && assay_cell_is_model(baseline) &&
        !assay_implementation_runs_models(baseline->implementation))
        assay_cell_add(&whose, " (%s)", baseline->implementation);
    if (m)
        assay_flow_item(flow, "%s Baseline%s %s Time: %s ms", name, whose.text, time_of(record),
                        assay_cell_milliseconds(m->time.median).text);
}

/* "Name: small · Model: ln_linear_gelu · Shape: pow2_0 (m=1024 k=1024 n=1024) · bf16 · cpu" */
static void write_subject(struct state *s, const struct assay_record *record)
{
    struct assay_flow flow = assay_page_flow(&s->page, 0, s->grid.width, ASSAY_INK_BOLD);
    bool labelled = record->label[0];
    if (record->entry[0])
        assay_flow_item(&flow, "Name: %s", record->entry);
    assay_flow_item(&flow, "Model: %s%s%s", assay_cell_subject(record), record->mode[0] ? " " : "",
                    record->mode);
    assay_flow_item(&flow, "Shape: %s%s%s%s", record->label, labelled ? " (" : "",
                    assay_cell_axes(record).text, labelled ? ")" : "");
    assay_flow_item(&flow, "%s", assay_dtype_name(record->dtype));
    if (record->threads > 0 && assay_record_on_host(record))
        assay_flow_item(&flow, "cpu, %d thread%s", record->threads,
                        record->threads == 1 ? "" : "s");
    else
        assay_flow_item(&flow, "%s", record->device);
    if (record->compile[0])
        assay_flow_item(&flow, "compile: %s", record->compile);
    if (record->interrupted)
        assay_flow_item(&flow, "interrupted");
    flush(s);
}

static void write_heading(struct state *s, const struct assay_record *records, int64_t n)
{
    s->trains = s->trains || records[0].pass[0];
    write_subject(s, &records[0]);
    struct assay_flow flow = assay_page_flow(&s->page, 0, s->grid.width, ASSAY_INK_DIM);
    struct assay_pair pair = {0}, first = {0};
    while (assay_pair_next(records, n, ASSAY_PAIRS_AS_LISTED, &pair)) {
        first.eager = first.eager ? first.eager : pair.eager;
        first.compiled = first.compiled ? first.compiled : pair.compiled;
    }
    baseline_item(&flow, "Eager", records, n, first.eager);
    baseline_item(&flow, "Compile", records, n, first.compiled);
    if (flow.started)
        flush(s);
}

/* ---- rows --------------------------------------------------------------------------------- */

/* Under the row: why one of the two has no figures. */
static void write_reason(struct state *s, const struct assay_record *record)
{
    struct assay_line *line = &s->page.line;
    if (!record || record->outcome == ASSAY_OUTCOME_OK)
        return;
    assay_line_to(line, REASON_AT);
    assay_line_put(line, record->implementation, s->grid.width - REASON_AT, ASSAY_INK_DIM);
    assay_line_put(line, " ", 1, ASSAY_INK_PLAIN);
    int mark = assay_outcome_is_fine(record->outcome) ? 0 : s->grid.widths[CHECK] + 1;
    s->page.lines += assay_row_reason(line, &s->page.sink, record, mark, s->grid.width);
    flush(s);
}

static bool same_reason(const struct assay_record *a, const struct assay_record *b)
{
    return a->outcome == b->outcome && strcmp(a->reason, b->reason) == 0;
}

static void write_detail(struct state *s, const struct assay_record *record)
{
    if (s->page.style.verbose)
        assay_detail_write(record, &s->page.line, &s->page.sink, s->grid.width);
    else
        assay_detail_counts(record, &s->page.line, &s->page.sink, s->grid.width);
}

static void write_row(struct state *s, const struct assay_pair *pair)
{
    bool alike = !pair->compiled || !pair->eager || same_reason(pair->eager, pair->compiled);
    bool across = !is_timed(pair) && alike; /* the whole line says why */
    assay_line_left(&s->page.line, assay_pair_is_pareto(pair) ? "*" : "", PARETO - 1,
                    ASSAY_INK_BEST);
    s->page.legend.pareto |= assay_pair_is_pareto(pair);
    assay_grid_cells(&s->grid, pair, QUANTIZATION, EAGER);
    if (across)
        assay_grid_no_figures(&s->grid, assay_pair_any(pair));
    else
        assay_grid_cells(&s->grid, pair, EAGER, COLUMNS);
    flush(s);
    if (!across) {
        write_reason(s, pair->eager);
        write_reason(s, pair->compiled);
    }
    if (pair->eager)
        write_detail(s, pair->eager);
    if (pair->compiled)
        write_detail(s, pair->compiled);
}

/* One record says of all variants why they were not measured. */
static bool is_whole_group(const struct assay_record *records, int64_t n)
{
    return n == 1 && !records[0].kernel[0] && records[0].outcome != ASSAY_OUTCOME_OK;
}

static void torchao_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    if (s->page.tally.groups)
        flush(s);
    assay_tally_add(&s->page.tally, records, n);
    assay_totals_add(&s->totals, records, n);
    choose_layout(s, records, n);
    write_heading(s, records, n);
    if (!is_whole_group(records, n))
        assay_grid_headings(&s->grid);
    struct assay_pair pair = {0};
    while (assay_pair_next(records, n, ASSAY_PAIRS_BY_TIME, &pair))
        write_row(s, &pair);
    assay_row_warnings(records, n, &s->page.line, &s->page.sink, s->grid.width);
    s->page.legend.interrupted |= records[0].interrupted;
}

/* ---- the end ------------------------------------------------------------------------------ */

static void write_legend(struct state *s)
{
    const struct assay_legend *legend = &s->page.legend;
    struct assay_flow flow = assay_page_flow(&s->page, 0, s->page.width, ASSAY_INK_DIM);
    if (legend->pareto)
        assay_flow_item(&flow, "* no other is better in time, size of the weights and accuracy");
    assay_legend_marks(legend, &flow);
    if (legend->hot || legend->cold)
        assay_flow_item(&flow, "Model ms: median of the %s time, caches %s",
                        s->trains ? "pass's" : "inference",
                        !legend->cold  ? "hot"
                        : !legend->hot ? "cold"
                                       : "hot where measured, else cold");
    if (s->most_repeats > 1)
        assay_flow_item(&flow, "Spread: half of the range of the medians of %lld repeats",
                        (long long)s->most_repeats);
    if (legend->same)
        assay_flow_item(&flow, "same, unclear: no significant difference");
    if (legend->versus)
        assay_flow_item(&flow, "Eager vs Compile: how much faster the compiled model is");
    if (legend->weights)
        assay_flow_item(&flow, "Weight MB: 10^6 bytes of weights as stored");
    if (legend->levels)
        assay_flow_item(&flow, "SQNR dB: against the answer without quantising");
    if (flow.started)
        flush(s);
}

static void torchao_end(void *state)
{
    struct state *s = state;
    assay_totals_write(&s->page, &s->totals);
    if (s->page.tally.groups)
        flush(s);
    assay_tally_write(&s->page.tally, &s->page.line, &s->page.sink, s->page.width);
    assay_totals_write_verdict(&s->page, &s->totals);
    write_legend(s);
}

static void torchao_fini(void *state) { assay_totals_fini(&((struct state *)state)->totals); }

const struct assay_report_format assay_report_torchao = {
    .name = "torchao",
    .merges = true,
    .extension = NULL,
    .summary = "recipes of each model and shape, eager and compiled, fastest first",
    .state_bytes = sizeof(struct state),
    .pictured = true,
    .in_training = &assay_report_trained_table,
    .begin = torchao_begin,
    .group = torchao_group,
    .end = torchao_end,
    .fini = torchao_fini,
};
