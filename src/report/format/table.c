/* table.c: the table people read in a terminal.
 *
 * One header line for each group, one row for each variant, and for each cache state that the run
 * measures a block of columns: time, ±, speedup, rate, share of the ceiling. Widths are fixed
 * before the first row, because rows appear while the run goes on; on a narrow terminal the rate
 * goes first, then the ceiling, then the host's side (which only groups with kernels that are
 * called from Python have), then the interval of the speedup, then the ±. A name that is too long
 * has a line of its own. A row that has no figures says why across the whole line. Groups whose
 * variants differ in a recipe have a table of their own: report_recipes.c. */
#include "report/report_detail.h"
#include "report/report_grid.h"
#include "report/report_recipes.h"
#include "report/report_breakeven_text.h"
#include "report/report_totals_table.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

enum column {
    NAME,
    HOT_TIME,
    HOT_SPREAD,
    HOT_SPEEDUP,
    HOT_RATE,
    HOT_CEILING,
    COLD_TIME,
    COLD_SPREAD,
    COLD_SPEEDUP,
    COLD_RATE,
    COLD_CEILING,
    HOST,
    CHECK,
    COLUMNS
};

enum {
    LEAST_NAME = 9,
    MOST_NAME = 32,
    SPEEDUP = 24,        /* "1.31x slower [1.28 1.35]" */
    FASTER_SPEEDUP = 17, /* "1.62x [1.58 1.66]" */
    SHORT_SPEEDUP = 12,  /* "1.31x slower" */
    TIGHT_CEILING = 4,   /* "100%", without the blank before it, which few figures need */
    HEADING_EVERY = 40,  /* lines after which the headings are repeated */
};

struct table {
    struct assay_page page;
    struct assay_grid grid;
    bool shown[ASSAY_CACHE_STATES];
    char device[32];
    const struct assay_record *group; /* at hand */
    int64_t n;
    bool headings_due; /* before the next group that has these columns */
    bool in_recipes;   /* the last group had the other columns */
    bool with_host;    /* the group's kernels are called from another language: what that takes */
    struct assay_totals totals;
    struct assay_breakevens breakevens;
};

/* ---- columns ------------------------------------------------------------------------------- */

static bool state_is_shown(const void *table, int of)
{
    return ((const struct table *)table)->shown[of];
}

/* One state has the whole line: there is space for units. */
static bool is_roomy(const struct table *t) { return !t->shown[0] || !t->shown[1]; }

static const struct assay_measurement *measurement(const struct assay_cell_request *q)
{
    return &q->record->states[q->of];
}

static struct assay_figure name_cell(const struct assay_cell_request *q)
{
    const struct table *t = q->table;
    bool ok = q->record->outcome == ASSAY_OUTCOME_OK;
    return assay_figure_text(assay_cell_variant(q->record, t->group, t->n),
                             ok ? ASSAY_INK_PLAIN : ASSAY_INK_DIM);
}

static struct assay_figure time_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = measurement(q);
    q->legend->times |= m->measured;
    return assay_figure_time(m, assay_cell_time(m->time.median), q->legend);
}

static struct assay_figure spread_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = measurement(q);
    if (!m->measured)
        return (struct assay_figure){0};
    q->legend->spread = true;
    return (struct assay_figure){
        .cell = assay_cell_spread(m), .ink = ASSAY_INK_DIM, .mark = assay_row_mark(m, q->legend)};
}

static struct assay_figure speedup_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = measurement(q);
    if (!m->measured)
        return (struct assay_figure){0};
    return assay_figure_speedup(q, m);
}

static struct assay_figure rate_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = measurement(q);
    bool units = is_roomy(q->table);
    if (!m->measured)
        return (struct assay_figure){0};
    q->legend->flops |= strcmp(m->bound, "compute") == 0 && !units;
    return assay_figure_plain(assay_cell_rate(m, units));
}

static struct assay_figure ceiling_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = measurement(q);
    bool known = m->ceiling_ns > 0;
    if (!m->measured)
        return (struct assay_figure){0};
    q->legend->ceiling |= known;
    q->legend->no_ceiling |= !known;
    struct assay_cell cell = assay_cell_efficiency(m);
    if (is_roomy(q->table) && known && m->bound[0])
        assay_cell_add(&cell, " of %s", m->bound);
    return assay_figure_plain(cell);
}

static bool host_is_shown(const void *table, int of)
{
    (void)of;
    return ((const struct table *)table)->with_host;
}

/* It is the same in both states. */
static struct assay_figure host_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = &q->record->states[ASSAY_CACHE_HOT];
    if (!m->measured)
        m = &q->record->states[ASSAY_CACHE_COLD];
    if (!m->measured || m->host_ns <= 0)
        return (struct assay_figure){0};
    q->legend->host = true;
    return assay_figure_plain(assay_cell_time(m->host_ns));
}

/* clang-format off */
#define BLOCK(S, name, gap_, time, spread, rate_heading, rate, ceiling_heading, ceiling_gap, ceiling) \
    [S##_TIME] = {.heading = "time", .upper = " " name, .over = 4, .width = time, .gap = gap_, .right = true, \
                  .led = true, .of = ASSAY_CACHE_##S, .cell = time_cell, .shown = state_is_shown}, \
    [S##_SPREAD] = {.heading = "±", .width = spread, .right = true, .marked = true, .of = ASSAY_CACHE_##S, \
                    .cell = spread_cell, .shown = state_is_shown}, \
    [S##_SPEEDUP] = {.heading = "speedup", .width = SPEEDUP, .of = ASSAY_CACHE_##S, .cell = speedup_cell, \
                     .shown = state_is_shown}, \
    [S##_RATE] = {.heading = rate_heading, .width = rate, .right = true, .of = ASSAY_CACHE_##S, \
                  .cell = rate_cell, .shown = state_is_shown}, \
    [S##_CEILING] = {.heading = ceiling_heading, .width = ceiling, .gap = ceiling_gap, .right = true, .of = ASSAY_CACHE_##S, \
                     .cell = ceiling_cell, .shown = state_is_shown}
#define AROUND \
    [NAME] = {.width = LEAST_NAME, .most = MOST_NAME, .cell = name_cell}, \
    [HOST] = {.heading = "host", .width = 8, .right = true, .cell = host_cell, .shown = host_is_shown}, \
    [CHECK] = {.width = ASSAY_COLUMN_CHECK, .cell = assay_figure_verified}

static const struct assay_column two_states[COLUMNS] = {
    AROUND,
    BLOCK(HOT, "hot", 0, 8, 4, "GB/s", 6, "ceil", -1, TIGHT_CEILING + 1),
    BLOCK(COLD, "cold", 0, 8, 4, "GB/s", 6, "ceil", -1, TIGHT_CEILING + 1),
};
static const struct assay_column one_state[COLUMNS] = {
    AROUND,
    BLOCK(HOT, "hot", 1, 9, 5, "rate", 12, "ceiling", 0, 16),
    BLOCK(COLD, "cold", 1, 9, 5, "rate", 12, "ceiling", 0, 16),
};
/* clang-format on */

/* Each column goes from both states' blocks. */
static const struct assay_shrink two_states_shrinks[] = {
    {HOT_RATE, ASSAY_DROP},
    {COLD_RATE, ASSAY_DROP_TOO},
    {HOT_CEILING, TIGHT_CEILING},
    {COLD_CEILING, TIGHT_CEILING},
    {HOT_CEILING, ASSAY_DROP},
    {COLD_CEILING, ASSAY_DROP_TOO},
    {HOST, ASSAY_DROP},
    {HOT_SPEEDUP, FASTER_SPEEDUP},
    {COLD_SPEEDUP, FASTER_SPEEDUP},
    {HOT_SPREAD, ASSAY_DROP},
    {COLD_SPREAD, ASSAY_DROP_TOO},
    {HOT_SPEEDUP, SHORT_SPEEDUP},
    {COLD_SPEEDUP, SHORT_SPEEDUP},
};
static const struct assay_shrink one_state_shrinks[] = {
    {HOT_RATE, ASSAY_DROP},         {COLD_RATE, ASSAY_DROP_TOO}, {HOT_CEILING, ASSAY_DROP},
    {COLD_CEILING, ASSAY_DROP_TOO}, {HOST, ASSAY_DROP},          {HOT_SPREAD, ASSAY_DROP},
    {COLD_SPREAD, ASSAY_DROP_TOO},
};

static void choose_layout(struct table *t)
{
    t->grid = (struct assay_grid){.page = &t->page,
                                  .columns = is_roomy(t) ? one_state : two_states,
                                  .n = COLUMNS,
                                  .table = t};
    assay_grid_begin(&t->grid, 0);
    assay_grid_fit(&t->grid, is_roomy(t) ? one_state_shrinks : two_states_shrinks,
                   is_roomy(t) ? sizeof one_state_shrinks / sizeof one_state_shrinks[0]
                               : sizeof two_states_shrinks / sizeof two_states_shrinks[0],
                   t->page.width);
}

static void write_headings(struct table *t)
{
    assay_grid_headings(&t->grid);
    t->page.lines = 0;
    t->headings_due = false;
}

static void table_begin(void *state, const struct assay_sink *sink,
                        const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct table *t = state;
    bool either = run->hot || run->cold;
    assay_page_begin(&t->page, sink, style);
    t->shown[ASSAY_CACHE_HOT] = run->hot || !either;
    t->shown[ASSAY_CACHE_COLD] = run->cold || !either;
    choose_layout(t);
    memcpy(t->device, run->device, sizeof t->device);
    assay_row_machine(run, &t->page.line, sink, t->grid.width);
    assay_page_flush(&t->page);
    t->headings_due = true;
}

/* ---- a group's header --------------------------------------------------------------------- */

/* All variants have the same operands; one that was never begun does not know them. */
static double operand_bytes(const struct assay_record *records, int64_t n)
{
    double bytes = 0;
    for (int64_t i = 0; i < n && bytes == 0; i++)
        bytes = records[i].memory_bytes;
    return bytes;
}

static void add_info(struct assay_cell *info, const char *text)
{
    assay_cell_add(info, "%s%s", info->text[0] ? " · " : "", text);
}

static struct assay_cell group_info(const struct table *t, const struct assay_record *records,
                                    int64_t n)
{
    struct assay_cell info = {""};
    char text[64];
    if (records[0].interrupted)
        add_info(&info, "interrupted");
    if (operand_bytes(records, n) > 0) {
        assay_text_bytes(operand_bytes(records, n), text, sizeof text);
        add_info(&info, text);
    }
    if (strcmp(records[0].device, t->device) != 0)
        add_info(&info, records[0].device);
    if (assay_record_on_host(&records[0]) && records[0].threads > 0) {
        snprintf(text, sizeof text, "%d thread%s", records[0].threads,
                 records[0].threads == 1 ? "" : "s");
        add_info(&info, text);
    }
    return info;
}

static void write_group_header(struct table *t, const struct assay_record *records, int64_t n)
{
    struct assay_line *line = &t->page.line;
    int width = t->grid.width;
    struct assay_cell info = group_info(t, records, n);
    assay_line_put(line, assay_cell_subject(&records[0]), width, ASSAY_INK_BOLD);
    assay_line_put(line, " ", 1, ASSAY_INK_PLAIN);
    if (records[0].mode[0]) {
        assay_line_put(line, records[0].mode, width - line->columns, ASSAY_INK_BOLD);
        assay_line_put(line, " ", 1, ASSAY_INK_PLAIN);
    }
    if (records[0].n_axes > 0) {
        assay_line_put(line, assay_cell_shape(&records[0]).text, width - line->columns,
                       ASSAY_INK_BOLD);
        assay_line_put(line, " ", 1, ASSAY_INK_PLAIN);
    }
    assay_line_put(line, assay_dtype_name(records[0].dtype), width - line->columns, ASSAY_INK_BOLD);
    if (line->columns + 2 + assay_line_columns_of(info.text, line->ascii) > width)
        assay_page_flush(&t->page);
    assay_line_right(line, info.text, width - line->columns,
                     records[0].interrupted ? ASSAY_INK_WARN : ASSAY_INK_DIM);
    assay_page_flush(&t->page);
}

/* ---- rows --------------------------------------------------------------------------------- */

static bool is_timed(const struct table *t, const struct assay_record *record)
{
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (t->shown[s] && record->states[s].measured)
            return true;
    return false;
}

/* Where the first block would stand. */
static void write_no_figures(struct table *t, const struct assay_record *record)
{
    struct assay_line *line = &t->page.line;
    assay_line_to(line, line->columns + 1 + t->grid.columns[HOT_TIME].gap);
    if (record->outcome == ASSAY_OUTCOME_OK)
        t->page.lines +=
            assay_row_check(line, &t->page.sink, record, t->grid.widths[CHECK] + 1, t->grid.width);
    else
        t->page.lines += assay_row_reason(line, &t->page.sink, record, 2, t->grid.width);
}

/* On a line of its own where the column is too narrow. */
static void write_name(struct table *t, const struct assay_record *record)
{
    struct assay_line *line = &t->page.line;
    const char *name = assay_cell_variant(record, t->group, t->n);
    int end = 1 + t->grid.widths[NAME];
    if (assay_line_columns_of(name, line->ascii) <= t->grid.widths[NAME]) {
        assay_grid_cells(&t->grid, record, NAME, HOT_TIME);
        return;
    }
    assay_line_to(line, 1);
    assay_line_put(line, name, t->grid.width - 1,
                   record->outcome == ASSAY_OUTCOME_OK ? ASSAY_INK_PLAIN : ASSAY_INK_DIM);
    assay_page_flush(&t->page);
    assay_line_to(line, end);
}

static void write_row(struct table *t, const struct assay_record *record)
{
    bool ok = record->outcome == ASSAY_OUTCOME_OK;
    write_name(t, record);
    if (ok && (is_timed(t, record) || !record->verification.done))
        assay_grid_cells(&t->grid, record, HOT_TIME, COLUMNS);
    else
        write_no_figures(t, record);
    assay_page_flush(&t->page);
    if (t->page.style.verbose)
        assay_detail_write(record, &t->page.line, &t->page.sink, t->grid.width);
    else
        assay_detail_counts(record, &t->page.line, &t->page.sink, t->grid.width);
}

/* Only where somebody has to wait for it is the host's side a column. */
static void choose_host(struct table *t, const struct assay_record *records, int64_t n)
{
    bool with_host = false;
    for (int64_t i = 0; i < n; i++)
        with_host |= records[i].caller[0] != '\0';
    if (with_host == t->with_host)
        return;
    t->with_host = with_host;
    choose_layout(t);
    t->headings_due = true;
}

static void write_group(struct table *t, const struct assay_record *records, int64_t n)
{
    choose_host(t, records, n);
    if (t->headings_due || t->page.lines >= HEADING_EVERY)
        write_headings(t);
    write_group_header(t, records, n);
    t->group = records;
    t->n = n;
    for (int64_t i = 0; i < n; i++)
        write_row(t, &records[i]);
    t->page.lines += assay_row_warnings(records, n, &t->page.line, &t->page.sink, t->grid.width);
}

/* One record for a whole group that was not measured has no recipe: it stays in the table of the
 * group before it. */
static bool takes_recipes(const struct table *t, const struct assay_record *records, int64_t n)
{
    return assay_recipes_has(records, n) || (t->in_recipes && n == 1 && !records[0].kernel[0]);
}

static void table_group(void *state, const struct assay_record *records, int64_t n)
{
    struct table *t = state;
    if (t->page.tally.groups)
        assay_page_flush(&t->page);
    assay_tally_add(&t->page.tally, records, n);
    assay_totals_add(&t->totals, records, n);
    assay_breakevens_add(&t->breakevens, records, n);
    for (int64_t i = 0; i < n; i++)
        t->page.legend.interrupted |= records[i].interrupted;
    t->in_recipes = takes_recipes(t, records, n);
    if (t->in_recipes) {
        assay_recipes_write(&t->page, t->shown, t->device, records, n);
        t->headings_due = true;
    } else {
        write_group(t, records, n);
    }
}

/* ---- the end ------------------------------------------------------------------------------ */

static void write_legend(struct table *t)
{
    struct assay_flow flow = assay_page_flow(&t->page, 0, t->grid.width, ASSAY_INK_DIM);
    assay_legend_marks(&t->page.legend, &flow);
    if (flow.started)
        assay_page_flush(&t->page);
}

static void write_ceiling_legend(struct table *t)
{
    const struct assay_legend *legend = &t->page.legend;
    if (!legend->ceiling && !legend->no_ceiling)
        return;
    struct assay_flow flow = assay_page_flow(&t->page, 0, t->grid.width, ASSAY_INK_DIM);
    const char *heading = is_roomy(t) && legend->times ? "ceiling" : "ceil";
    if (legend->ceiling)
        assay_flow_item(&flow, "%s: %% of what this machine can do, probed in the same rounds",
                        heading);
    else
        assay_flow_item(&flow, "%s: not known, nothing was probed beside the kernels", heading);
    assay_page_flush(&t->page);
}

static void table_end(void *state)
{
    struct table *t = state;
    if (!t->page.tally.groups)
        write_headings(t);
    assay_totals_write(&t->page, &t->totals);
    assay_breakevens_find(&t->breakevens);
    assay_breakevens_write(&t->page, &t->breakevens);
    assay_page_flush(&t->page);
    assay_tally_write(&t->page.tally, &t->page.line, &t->page.sink, t->grid.width);
    assay_totals_write_verdict(&t->page, &t->totals);
    write_legend(t);
    if (t->page.legend.recipes)
        assay_recipes_legend(&t->page, t->shown);
    write_ceiling_legend(t);
}

static void table_fini(void *state)
{
    struct table *t = state;
    assay_totals_fini(&t->totals);
    assay_breakevens_fini(&t->breakevens);
}

const struct assay_report_format assay_report_table = {
    .name = "table",
    .extension = "txt",
    .summary = "a table to read in a terminal",
    .state_bytes = sizeof(struct table),
    .pictured = true,
    .begin = table_begin,
    .group = table_group,
    .end = table_end,
    .fini = table_fini,
};
