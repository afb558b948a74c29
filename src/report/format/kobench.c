/* kobench.c: what `assay preset` shows: KoBench's table, for a terminal.
 *
 * One row for each case, in KoBench's columns and order, the median behind the mean; behind them
 * the interval of the median, whether the output was right, and of a compiled model how much faster
 * it is than the eager one, on the next line where it does not fit. Rows appear while the run goes
 * on, so widths are fixed: a name that is too long has a line of its own. A row that has no figures
 * says why, across the whole line. */
#include "kernel/implementation.h"
#include "report/report_detail.h"
#include "report/report_grid.h"
#include "report/report_kobench.h"
#include "report/report_totals_table.h"

#include <stdio.h>
#include <string.h>

enum column {
    NAME,
    MEAN,
    MEDIAN,
    STD,
    IDLE,
    PEAK,
    WORKSPACE,
    MACS,
    MACS_RATE,
    FLOPS,
    FLOPS_RATE,
    SPREAD,
    CHECK,
    COLUMNS
};

enum { RATIO_WIDTH = 24 };

struct state {
    struct assay_page page;
    struct assay_grid grid;
    char subject[128];                /* what all rows so far have in common */
    const struct assay_record *group; /* at hand */
    int64_t n;
    char baseline[32];      /* that ratios shown refer to, where they do not refer to eager */
    bool compared_compiled; /* some are of compiled models */
    struct assay_totals totals;
};

/* ---- columns -------------------------------------------------------------------------------- */

/* One measurement of a case. */
struct row {
    const struct assay_record *record;
    const struct assay_measurement *m;
};

static struct assay_figure mean_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = ((const struct row *)q->row)->m;
    return (struct assay_figure){.cell = assay_cell_milliseconds(m->time.mean),
                                 .mark = assay_row_mark(m, q->legend)};
}

static struct assay_figure median_cell(const struct assay_cell_request *q)
{
    return assay_figure_plain(
        assay_cell_milliseconds(((const struct row *)q->row)->m->time.median));
}

static struct assay_figure std_cell(const struct assay_cell_request *q)
{
    return assay_figure_plain(assay_cell_milliseconds(((const struct row *)q->row)->m->time.std));
}

static struct assay_figure memory_cell(const struct assay_cell_request *q)
{
    const struct assay_record *r = ((const struct row *)q->row)->record;
    q->legend->memory |= q->of == PEAK;
    return assay_figure_plain(assay_kobench_memory(q->of == IDLE   ? r->idle_bytes
                                                   : q->of == PEAK ? r->peak_bytes
                                                                   : r->workspace_bytes));
}

static struct assay_figure count_cell(const struct assay_cell_request *q)
{
    const struct assay_record *r = ((const struct row *)q->row)->record;
    q->legend->counts |= q->of == FLOPS;
    return assay_figure_plain(assay_kobench_count(q->of == FLOPS ? r->counted_flops : r->macs, ""));
}

static struct assay_figure rate_cell(const struct assay_cell_request *q)
{
    const struct row *row = q->row;
    double count = q->of == FLOPS_RATE ? row->record->counted_flops : row->record->macs;
    return assay_figure_plain(assay_kobench_count(assay_kobench_rate(count, row->m), "/s"));
}

static struct assay_figure spread_cell(const struct assay_cell_request *q)
{
    q->legend->spread = true;
    return assay_figure_plain(assay_cell_spread(((const struct row *)q->row)->m));
}

static struct assay_figure check_cell(const struct assay_cell_request *q)
{
    return assay_figure_check(((const struct row *)q->row)->record->verification.done);
}

/* clang-format off */
static const struct assay_column columns[COLUMNS] = {
    [NAME]       = {.heading = "name", .width = 20},
    [MEAN]       = {.heading = "mean_ms", .width = 8, .right = true, .marked = true, .cell = mean_cell},
    [MEDIAN]     = {.heading = "median_ms", .width = 9, .right = true, .cell = median_cell},
    [STD]        = {.heading = "std_ms", .width = 7, .right = true, .cell = std_cell},
    [IDLE]       = {.heading = "idle_vram", .width = 9, .right = true, .of = IDLE, .cell = memory_cell},
    [PEAK]       = {.heading = "peak_vram", .width = 9, .right = true, .of = PEAK, .cell = memory_cell},
    [WORKSPACE]  = {.heading = "workspace", .width = 9, .right = true, .of = WORKSPACE, .cell = memory_cell},
    [MACS]       = {.heading = "MACs", .width = 8, .right = true, .of = MACS, .cell = count_cell},
    [MACS_RATE]  = {.heading = "MACS", .width = 10, .right = true, .of = MACS_RATE, .cell = rate_cell},
    [FLOPS]      = {.heading = "FLOPs", .width = 8, .right = true, .of = FLOPS, .cell = count_cell},
    [FLOPS_RATE] = {.heading = "FLOPS", .width = 10, .right = true, .of = FLOPS_RATE, .cell = rate_cell},
    [SPREAD]     = {.heading = "±", .width = 5, .right = true, .cell = spread_cell},
    [CHECK]      = {.width = ASSAY_COLUMN_CHECK, .cell = check_cell},
};
/* clang-format on */

static const struct assay_shrink shrinks[] = {
    {WORKSPACE, ASSAY_DROP}, {IDLE, ASSAY_DROP},      {FLOPS, ASSAY_DROP},
    {MACS, ASSAY_DROP},      {SPREAD, ASSAY_DROP},    {FLOPS_RATE, ASSAY_DROP},
    {PEAK, ASSAY_DROP},      {MACS_RATE, ASSAY_DROP}, {NAME, 10},
};

/* ---- the beginning -------------------------------------------------------------------------- */

static void kobench_begin(void *state, const struct assay_sink *sink,
                          const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct state *s = state;
    assay_page_begin(&s->page, sink, style);
    assay_row_machine(run, &s->page.line, sink, s->page.width);
    s->grid = (struct assay_grid){
        .page = &s->page, .columns = columns, .n = COLUMNS, .table = s, .start = -1};
    assay_grid_begin(&s->grid, 0);
    assay_grid_fit(&s->grid, shrinks, sizeof shrinks / sizeof shrinks[0],
                   assay_page_most(&s->page));
    s->grid.width = s->grid.width > s->page.width ? s->grid.width : s->page.width;
}

/* "float16 on cuda" and the headings, where it is new. */
static void write_headings(struct state *s, const struct assay_record *record)
{
    char subject[sizeof s->subject];
    snprintf(subject, sizeof subject, "%s on %s", assay_kobench_dtype(record->dtype),
             record->device);
    if (strcmp(subject, s->subject) == 0)
        return;
    snprintf(s->subject, sizeof s->subject, "%s", subject);
    assay_page_flush(&s->page);
    assay_line_put(&s->page.line, subject, s->grid.width, ASSAY_INK_BOLD);
    assay_page_flush(&s->page);
    assay_grid_headings(&s->grid);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void write_name(struct state *s, const struct assay_record *record, bool cold,
                       enum assay_line_ink ink)
{
    struct assay_line *line = &s->page.line;
    struct assay_cell name = assay_kobench_name(record, assay_cell_variant(record, s->group, s->n));
    if (record->label[0])
        assay_cell_add(&name, " %s", record->label);
    if (cold)
        assay_cell_add(&name, " (cold)");
    int width = s->grid.widths[NAME];
    bool fits = assay_line_columns_of(name.text, line->ascii) <= width;
    assay_line_put(line, name.text, fits ? width : s->grid.width, ink);
    if (!fits)
        assay_page_flush(&s->page);
    assay_line_to(line, width);
}

/* "torch" of "torch-compile". */
static const char *eager_of(const char *implementation)
{
    const char *eager = assay_implementation_uncompiled(implementation);
    return eager ? eager : implementation;
}

/* Eager of what some variants are compared with where that is another implementation than their
 * own; NULL: none is. */
static const char *shared_baseline(const struct state *s)
{
    for (int64_t i = 0; i < s->n && assay_cell_is_model(s->group); i++) {
        const char *baseline = eager_of(s->group[i].baseline);
        if (baseline[0] && strcmp(baseline, eager_of(s->group[i].implementation)) != 0)
            return baseline;
    }
    return NULL;
}

/* How it compares with the baseline; where each has its own, a compiled model with the eager one.
 */
static const struct assay_ratio *ratio_of(struct state *s, const struct assay_record *record,
                                          const struct assay_measurement *m)
{
    const char *shared = shared_baseline(s);
    if (!shared) {
        s->page.legend.eager_ratio |= m->has_eager_ratio;
        return m->has_eager_ratio ? &m->eager_ratio : NULL;
    }
    if (!m->has_ratio || assay_cell_is_baseline(record))
        return NULL;
    snprintf(s->baseline, sizeof s->baseline, "%s", shared);
    s->compared_compiled |= assay_implementation_uncompiled(record->implementation) != NULL;
    return &m->ratio;
}

static void write_ratio(struct state *s, const struct assay_record *record,
                        const struct assay_measurement *m)
{
    struct assay_line *line = &s->page.line;
    const struct assay_ratio *ratio = ratio_of(s, record, m);
    if (!ratio)
        return;
    struct assay_cell cell = assay_cell_interval(ratio, RATIO_WIDTH, line->ascii);
    int width = assay_line_columns_of(cell.text, line->ascii);
    if (line->columns + 1 + width > assay_page_most(&s->page)) {
        assay_page_flush(&s->page);
        assay_line_to(line, s->grid.widths[NAME]);
    }
    assay_line_to(line, line->columns + 1);
    assay_line_put(line, cell.text, width, assay_figure_ratio_ink(ratio));
}

static void write_record(struct state *s, const struct assay_record *record)
{
    bool timed = false;
    for (int state = 0; state < ASSAY_CACHE_STATES; state++) {
        struct row row = {record, &record->states[state]};
        if (record->outcome != ASSAY_OUTCOME_OK || !row.m->measured)
            continue;
        write_name(s, record, state == ASSAY_CACHE_COLD, ASSAY_INK_PLAIN);
        assay_grid_cells(&s->grid, &row, MEAN, COLUMNS);
        write_ratio(s, record, row.m);
        assay_page_flush(&s->page);
        s->page.legend.cold |= state == ASSAY_CACHE_COLD;
        timed = true;
    }
    if (!timed) {
        write_name(s, record, false, ASSAY_INK_DIM);
        assay_grid_no_figures(&s->grid, record);
        assay_page_flush(&s->page);
    }
    if (s->page.style.verbose) {
        assay_line_to(&s->page.line, 4);
        assay_line_put(&s->page.line, assay_cell_axes(record).text, s->grid.width - 4,
                       ASSAY_INK_DIM);
        assay_page_flush(&s->page);
        assay_detail_write(record, &s->page.line, &s->page.sink, s->grid.width);
    } else {
        assay_detail_counts(record, &s->page.line, &s->page.sink, s->grid.width);
    }
}

static void kobench_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    assay_tally_add(&s->page.tally, records, n);
    assay_totals_add(&s->totals, records, n);
    write_headings(s, &records[0]);
    s->group = records;
    s->n = n;
    for (int64_t i = 0; i < n; i++)
        write_record(s, &records[i]);
    assay_row_warnings(records, n, &s->page.line, &s->page.sink, s->grid.width);
    s->page.legend.interrupted |= records[0].interrupted;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void write_legend(struct state *s)
{
    const struct assay_legend *legend = &s->page.legend;
    struct assay_flow flow = assay_page_flow(&s->page, 0, s->page.width, ASSAY_INK_DIM);
    assay_legend_marks(legend, &flow);
    if (legend->cold)
        assay_flow_item(&flow, "(cold): operands not in any cache");
    if (legend->eager_ratio)
        assay_flow_item(&flow, "x of a compiled model: against eager");
    const char *compiled = assay_implementation_compiled(s->baseline);
    if (s->baseline[0])
        assay_flow_item(&flow, "x: against %s%s%s", s->baseline,
                        compiled && s->compared_compiled ? ", of compiled models against " : "",
                        compiled && s->compared_compiled ? compiled : "");
    if (legend->memory)
        assay_flow_item(&flow, "1 MB = 2^20 bytes");
    if (legend->counts) {
        assay_flow_item(&flow, "MACs: multiply-adds; FLOPs: all other operations");
        assay_flow_item(&flow, "MACS, FLOPS: the same per second, by the mean");
    }
    if (flow.started)
        assay_page_flush(&s->page);
}

static void kobench_end(void *state)
{
    struct state *s = state;
    assay_totals_write(&s->page, &s->totals);
    if (s->page.tally.groups)
        assay_page_flush(&s->page);
    assay_tally_write(&s->page.tally, &s->page.line, &s->page.sink, s->page.width);
    assay_totals_write_verdict(&s->page, &s->totals);
    write_legend(s);
}

static void kobench_fini(void *state) { assay_totals_fini(&((struct state *)state)->totals); }

const struct assay_report_format assay_report_kobench = {
    .name = "kobench",
    .extension = NULL,
    .summary = "cases of presets with time, memory, MACs and FLOPs",
    .state_bytes = sizeof(struct state),
    .pictured = true,
    .begin = kobench_begin,
    .group = kobench_group,
    .end = kobench_end,
    .fini = kobench_fini,
};
