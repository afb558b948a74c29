/* report_trained_table.c: what `assay run` shows of training: TorchAO's columns, for a terminal.
 *
 * One heading for each model and shape, and one row for each recipe and executor, the fastest step
 * first. What is the same for all rows (name, shape, times of the baseline) stands in the heading.
 * A row of which a pass has no figure says why below it; one that has none at all, across the whole
 * line. */
#include "report/report_trained_formats.h"

#include "report/report_detail.h"
#include "report/report_grid.h"
#include "report/report_pairs.h"
#include "report/report_sink.h"
#include "report/report_totals_table.h"
#include "report/report_trained.h"
#include "tensor/dtype.h"

#include <math.h>
#include <string.h>

enum column {
    RECIPE,
    MODEL,
    FORWARD,
    BACKWARD,
    TOTAL,
    SPREAD,
    SPEEDUP,
    TOPS,
    PEAK,
    SCALING,
    LEVEL_Y,
    LEVEL_DX,
    LEVEL_DW,
    CHECK,
    COLUMNS
};

enum { REASON_AT = 4, FASTER_SPEEDUP = 17, SHORT_SPEEDUP = 12 };

struct state {
    struct assay_page page;
    struct assay_grid grid;
    struct assay_trained trained;
    struct assay_totals totals;
    bool levels, scalings, repeated; /* some row has one */
    int64_t most_repeats;
};

static void flush(struct state *s) { assay_page_flush(&s->page); }

static void begin(void *state, const struct assay_sink *sink,
                  const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct state *s = state;
    assay_page_begin(&s->page, sink, style);
    assay_row_machine(run, &s->page.line, sink, s->page.width);
    flush(s);
}

/* ---- columns --------------------------------------------------------------------------------- */

static const struct assay_trained_row *row_of(const struct assay_cell_request *q) { return q->row; }

static const struct assay_record *total_of(const struct assay_cell_request *q)
{
    return row_of(q)->passes[ASSAY_TRAINED_TOTAL];
}

static bool is_timed(const struct assay_trained_row *row)
{
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++)
        if (assay_pair_figures(row->passes[i]))
            return true;
    return false;
}

static struct assay_figure recipe_cell(const struct assay_cell_request *q)
{
    const struct assay_record *any = assay_trained_row_any(row_of(q));
    return assay_figure_text(any->recipe, is_timed(row_of(q)) ? ASSAY_INK_PLAIN : ASSAY_INK_DIM);
}

static struct assay_figure model_cell(const struct assay_cell_request *q)
{
    return assay_figure_text(assay_trained_row_any(row_of(q))->implementation, ASSAY_INK_DIM);
}

static struct assay_figure time_cell(const struct assay_cell_request *q)
{
    const struct assay_record *record = row_of(q)->passes[q->of];
    const struct assay_measurement *m = assay_pair_figures(record);
    bool bad = record && !assay_outcome_is_fine(record->outcome);
    if (!m)
        return assay_figure_text(bad ? "✗" : "-", bad ? ASSAY_INK_BAD : ASSAY_INK_DIM);
    bool hot = m == &record->states[ASSAY_CACHE_HOT];
    q->legend->hot |= hot;
    q->legend->cold |= !hot;
    return assay_figure_marked_time(m, assay_cell_milliseconds(m->time.median), q->legend);
}

static struct assay_figure spread_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = assay_pair_figures(total_of(q));
    struct assay_figure f = {.ink = ASSAY_INK_DIM};
    if (m && m->repeats > 1)
        assay_cell_add(&f.cell, "%.1f%%", 100 * m->repeats_frac);
    return f;
}

static struct assay_figure speedup_cell(const struct assay_cell_request *q)
{
    const struct assay_record *total = total_of(q);
    const struct assay_measurement *m = assay_pair_figures(total);
    if (!m)
        return assay_figure_text("-", ASSAY_INK_DIM);
    struct assay_figure f = {.ink = assay_row_speedup_ink(total, m)};
    if (assay_cell_is_baseline(total) || !m->has_ratio) {
        assay_cell_add(&f.cell, "%s", assay_cell_is_baseline(total) ? "baseline" : "-");
        return f;
    }
    f.cell = assay_cell_interval(&m->ratio, q->width, q->ascii);
    q->legend->interval |= strchr(f.cell.text, '[') != NULL;
    q->legend->same |= assay_cell_ratio_direction(&m->ratio) == 0;
    return f;
}

static struct assay_figure tops_cell(const struct assay_cell_request *q)
{
    double tops = assay_trained_ops_per_s(total_of(q)) / 1e12;
    struct assay_figure f = {.ink = ASSAY_INK_PLAIN};
    assay_cell_add(&f.cell, !isfinite(tops) ? "-" : tops < 0.1 ? "%.4f" : "%.3g", tops);
    return f;
}

static struct assay_figure peak_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = assay_pair_figures(total_of(q));
    return m ? assay_figure_plain(assay_cell_efficiency(m)) : assay_figure_text("-", ASSAY_INK_DIM);
}

static struct assay_figure scaling_cell(const struct assay_cell_request *q)
{
    struct assay_figure f = {.ink = ASSAY_INK_DIM};
    f.cell = assay_trained_scaling_short(assay_trained_row_any(row_of(q))->recipe);
    return f;
}

/* y is the forward pass's, dX and dW are the backward pass's outputs. */
static struct assay_figure level_cell(const struct assay_cell_request *q)
{
    bool forward = q->of == 0;
    const struct assay_record *record =
        row_of(q)->passes[forward ? ASSAY_TRAINED_FORWARD : ASSAY_TRAINED_BACKWARD];
    if (!record || record->outcome != ASSAY_OUTCOME_OK)
        return assay_figure_text("-", ASSAY_INK_DIM);
    q->legend->levels = true;
    return assay_figure_plain(
        assay_cell_level(q->of == 2 ? record->more_accuracy_db[0] : record->accuracy_db));
}

static struct assay_figure check_cell(const struct assay_cell_request *q)
{
    bool checked = true;
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++) {
        const struct assay_record *record = row_of(q)->passes[i];
        checked &= !assay_pair_figures(record) || record->verification.done;
    }
    return assay_trained_trouble(row_of(q)) ? (struct assay_figure){0}
                                            : assay_figure_check(checked);
}

static bool has_levels(const void *table, int of)
{
    (void)of;
    return ((const struct state *)table)->levels;
}

static bool has_scalings(const void *table, int of)
{
    (void)of;
    return ((const struct state *)table)->scalings;
}

static bool is_repeated(const void *table, int of)
{
    (void)of;
    return ((const struct state *)table)->repeated;
}

/* clang-format off */
static const struct assay_column columns[COLUMNS] = {
    [RECIPE]   = {.heading = "Quant", .cell = recipe_cell},
    [MODEL]    = {.heading = "Executor", .cell = model_cell},
    [FORWARD]  = {.heading = "ms", .upper = "Forward", .width = 8, .right = true, .led = true, .marked = true, .of = ASSAY_TRAINED_FORWARD, .cell = time_cell},
    [BACKWARD] = {.heading = "ms", .upper = "Backward", .width = 8, .right = true, .led = true, .marked = true, .of = ASSAY_TRAINED_BACKWARD, .cell = time_cell},
    [TOTAL]    = {.heading = "ms", .upper = "Total", .width = 8, .right = true, .led = true, .marked = true, .of = ASSAY_TRAINED_TOTAL, .cell = time_cell},
    [SPREAD]   = {.heading = "Spread", .width = 6, .right = true, .cell = spread_cell, .shown = is_repeated},
    [SPEEDUP]  = {.heading = "Speedup", .cell = speedup_cell},
    [TOPS]     = {.heading = "TOPS", .width = 6, .right = true, .cell = tops_cell},
    [PEAK]     = {.heading = "% Peak", .right = true, .width = 6, .cell = peak_cell},
    [SCALING]  = {.heading = "Scaling", .cell = scaling_cell, .shown = has_scalings},
    [LEVEL_Y]  = {.heading = "dB", .upper = "y", .width = 5, .right = true, .of = 0, .cell = level_cell, .shown = has_levels},
    [LEVEL_DX] = {.heading = "dB", .upper = "dX", .width = 5, .right = true, .of = 1, .cell = level_cell, .shown = has_levels},
    [LEVEL_DW] = {.heading = "dB", .upper = "dW", .width = 5, .right = true, .of = 2, .cell = level_cell, .shown = has_levels},
    [CHECK]    = {.width = ASSAY_COLUMN_CHECK, .cell = check_cell},
};
/* clang-format on */

static const struct assay_shrink shrinks[] = {
    {SPEEDUP, FASTER_SPEEDUP},
    {SCALING, ASSAY_DROP},
    {SPEEDUP, SHORT_SPEEDUP},
    {RECIPE, 18},
    {SPREAD, ASSAY_DROP},
    {LEVEL_Y, ASSAY_DROP},
    {LEVEL_DX, ASSAY_DROP_TOO},
    {LEVEL_DW, ASSAY_DROP_TOO},
    {PEAK, ASSAY_DROP},
    {TOPS, ASSAY_DROP},
    {RECIPE, 7},
    {MODEL, 5},
};

/* A level other than that of the baseline, which is exact. */
static bool has_level(const struct assay_record *record)
{
    return record && record->outcome == ASSAY_OUTCOME_OK && isfinite(record->accuracy_db);
}

static void note_row(struct state *s, const struct assay_trained_row *row)
{
    const struct assay_measurement *m = assay_pair_figures(row->passes[ASSAY_TRAINED_TOTAL]);
    for (int i = 0; i < ASSAY_TRAINED_TOTAL; i++)
        s->levels |= has_level(row->passes[i]);
    s->scalings |= assay_trained_scaling(assay_trained_row_any(row)->recipe).text[0] != '\0';
    s->repeated |= m && m->repeats > 1;
    if (m && m->repeats > s->most_repeats)
        s->most_repeats = m->repeats;
}

static void choose_layout(struct state *s, const struct assay_trained *all)
{
    struct assay_trained_row row = {0};
    s->levels = s->scalings = s->repeated = false;
    while (assay_trained_next(all, ASSAY_TRAINED_AS_LISTED, &row))
        note_row(s, &row);
    s->grid = (struct assay_grid){
        .page = &s->page, .columns = columns, .n = COLUMNS, .table = s, .start = 1};
    assay_grid_begin(&s->grid, 0);
    row = (struct assay_trained_row){0};
    while (assay_trained_next(all, ASSAY_TRAINED_AS_LISTED, &row))
        assay_grid_measure(&s->grid, &row);
    assay_grid_fit(&s->grid, shrinks, sizeof shrinks / sizeof shrinks[0],
                   assay_page_most(&s->page));
    s->grid.width = s->grid.width > s->page.width ? s->grid.width : s->page.width;
}

/* ---- headings -------------------------------------------------------------------------------- */

/* "Name: mlp · Model: linear · Shape: custom (m=1024 k=1024 n=1024) · bf16 · cpu, 2 threads" */
static void write_subject(struct state *s, const struct assay_record *record)
{
    struct assay_flow flow = assay_page_flow(&s->page, 0, s->grid.width, ASSAY_INK_BOLD);
    bool labelled = record->label[0];
    if (record->entry[0])
        assay_flow_item(&flow, "Name: %s", record->entry);
    assay_flow_item(&flow, "Model: %s", assay_trained_subject(record).text);
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

static void add_reference(struct assay_flow *flow, const struct assay_trained_row *row, int pass)
{
    const struct assay_measurement *m = assay_pair_figures(row->references[pass]);
    if (m)
        assay_flow_item(flow, "%s %s ms", assay_trained_pass_name((enum assay_trained_pass)pass),
                        assay_cell_milliseconds(m->time.median).text);
}

/* Do ratios refer to this row? */
static bool is_reference(const struct assay_trained_row *row)
{
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++)
        if (row->passes[i] && row->passes[i] == row->references[i])
            return true;
    return false;
}

/* "eager baseline: forward 1.2 ms · backward 2.4 ms · total 3.7 ms", and the same of compiled. */
static void write_references(struct state *s, const struct assay_trained *all)
{
    struct assay_trained_row row = {0};
    while (assay_trained_next(all, ASSAY_TRAINED_AS_LISTED, &row)) {
        const struct assay_record *any = assay_trained_row_any(&row);
        struct assay_flow flow = assay_page_flow(&s->page, 0, s->grid.width, ASSAY_INK_DIM);
        if (!is_reference(&row) || !is_timed(&row))
            continue;
        assay_flow_item(&flow, "Baseline, %s", any->implementation);
        for (int i = 0; i < ASSAY_TRAINED_PASSES; i++)
            add_reference(&flow, &row, i);
        flush(s);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool same_reason(const struct assay_record *a, const struct assay_record *b)
{
    return !a || !b || (a->outcome == b->outcome && strcmp(a->reason, b->reason) == 0);
}

/* Under the row: why a pass has no figures. */
static void write_reason(struct state *s, enum assay_trained_pass pass,
                         const struct assay_record *record)
{
    struct assay_line *line = &s->page.line;
    if (!record || record->outcome == ASSAY_OUTCOME_OK)
        return;
    assay_line_to(line, REASON_AT);
    assay_line_put(line, assay_trained_pass_name(pass), s->grid.width - REASON_AT, ASSAY_INK_DIM);
    assay_line_put(line, " ", 1, ASSAY_INK_PLAIN);
    int mark = assay_outcome_is_fine(record->outcome) ? 0 : s->grid.widths[CHECK] + 1;
    s->page.lines += assay_row_reason(line, &s->page.sink, record, mark, s->grid.width);
    flush(s);
}

static void write_row(struct state *s, const struct assay_trained_row *row)
{
    bool alike = true;
    for (int i = 1; i < ASSAY_TRAINED_PASSES; i++)
        alike &= same_reason(row->passes[0], row->passes[i]);
    if (!is_timed(row) && alike) {
        assay_grid_cells(&s->grid, row, RECIPE, FORWARD);
        assay_grid_no_figures(&s->grid, assay_trained_row_any(row));
        flush(s);
        return;
    }
    if (assay_trained_row_any(row)->implementation[0]) /* else the lines below say all */
        assay_grid_row(&s->grid, row);
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++)
        write_reason(s, (enum assay_trained_pass)i, row->passes[i]);
    for (int i = 0; i < ASSAY_TRAINED_PASSES && s->page.style.verbose; i++)
        if (row->passes[i])
            assay_detail_write(row->passes[i], &s->page.line, &s->page.sink, s->grid.width);
}

/* A row is as good as its worst pass. */
static void count_row(struct assay_tally *tally, const struct assay_trained_row *row)
{
    const struct assay_record *trouble = assay_trained_trouble(row);
    tally->rows++;
    tally->outcomes[trouble ? trouble->outcome : ASSAY_OUTCOME_OK]++;
}

static void write_model(void *user, const struct assay_trained *all)
{
    struct state *s = user;
    struct assay_trained_row row = {0}, first = {0};
    const struct assay_record *any = assay_trained_any(all);
    if (!assay_trained_next(all, ASSAY_TRAINED_AS_LISTED, &first))
        return;
    if (s->page.tally.groups++)
        flush(s);
    choose_layout(s, all);
    write_subject(s, any);
    write_references(s, all);
    if (assay_trained_row_any(&first)->implementation[0])
        assay_grid_headings(&s->grid);
    while (assay_trained_next(all, ASSAY_TRAINED_BY_TIME, &row)) {
        count_row(&s->page.tally, &row);
        write_row(s, &row);
    }
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++)
        if (all->records[i])
            s->page.legend.interrupted |= all->records[i][0].interrupted;
    if (all->records[ASSAY_TRAINED_TOTAL])
        assay_row_warnings(all->records[ASSAY_TRAINED_TOTAL], all->n[ASSAY_TRAINED_TOTAL],
                           &s->page.line, &s->page.sink, s->grid.width);
}

static void group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    if (strcmp(records[0].pass, "both") == 0)
        assay_totals_add(&s->totals, records, n);
    if (!assay_trained_add(&s->trained, records, n, write_model, s))
        assay_sink_fail(&s->page.sink);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void write_legend(struct state *s)
{
    const struct assay_legend *legend = &s->page.legend;
    struct assay_flow flow = assay_page_flow(&s->page, 0, s->page.width, ASSAY_INK_DIM);
    assay_legend_marks(legend, &flow);
    if (legend->hot || legend->cold)
        assay_flow_item(&flow, "ms: medians, each pass measured by itself, caches %s",
                        !legend->cold  ? "hot"
                        : !legend->hot ? "cold"
                                       : "hot where measured, else cold");
    if (legend->hot || legend->cold)
        assay_flow_item(&flow, "Total: forward, loss and backward in one; Speedup is the total's");
    if (s->most_repeats > 1)
        assay_flow_item(&flow, "Spread: half of the range of the medians of %lld repeats",
                        (long long)s->most_repeats);
    if (legend->same)
        assay_flow_item(&flow, "same, unclear: no significant difference");
    if (legend->hot || legend->cold)
        assay_flow_item(&flow, "%% Peak: of the ceiling measured beside the total");
    if (legend->levels)
        assay_flow_item(&flow, "dB: SQNR against the baseline's output and gradients");
    if (flow.started)
        flush(s);
}

static void end(void *state)
{
    struct state *s = state;
    assay_trained_end(&s->trained, write_model, s);
    assay_totals_write(&s->page, &s->totals);
    if (s->page.tally.groups)
        flush(s);
    assay_tally_write(&s->page.tally, &s->page.line, &s->page.sink, s->page.width);
    assay_totals_write_verdict(&s->page, &s->totals);
    write_legend(s);
}

static void fini(void *state)
{
    assay_trained_fini(&((struct state *)state)->trained);
    assay_totals_fini(&((struct state *)state)->totals);
}

const struct assay_report_format assay_report_trained_table = {
    .name = "torchao",
    .summary = "training: recipes of each model and shape, the fastest step first",
    .state_bytes = sizeof(struct state),
    .begin = begin,
    .group = group,
    .end = end,
    .fini = fini,
};
