/* table.c: the table people read in a terminal.
 *
 * One header line for each group, one row for each variant, and for each cache state that the run
 * measures a block of columns: time, ±, speedup, rate, part of the ceiling. Widths are fixed before
 * the first row, because rows appear while the run goes on; on a narrow terminal the rate goes
 * first, then the ceiling, then the ±. A row that has no figures says why across the whole line.
 * Groups whose variants differ in a recipe have a table of their own: report_recipes.c. */
#include "report/report_cells.h"
#include "report/report_columns.h"
#include "report/report_detail.h"
#include "report/report_recipes.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

enum column { TIME, SPREAD, SPEEDUP, RATE, CEILING, COLUMNS };

enum {
    INDENT = 1,
    LEAST_NAME = 10,
    MOST_NAME = 32,
    MARKER = 1,         /* the column of ▸ before a time */
    HEADING_EVERY = 40, /* lines after which the headings are repeated */
};

/* clang-format off */
static const struct {
    const char *heading;
    const char *roomy_heading;
    int width, roomy_width; /* beside another state; alone on the line */
    bool right;
} columns[COLUMNS] = {
    [TIME]    = {"time",    "time",    7,  8,  true},
    [SPREAD]  = {"±",       "±",       4,  5,  true}, /* the mark ! or ~ comes behind it */
    [SPEEDUP] = {"speedup", "speedup", 13, 20, false},
    [RATE]    = {"GB/s",    "rate",    6,  12, true},
    [CEILING] = {"ceil",    "ceiling", 4,  16, true},
};
/* clang-format on */

struct layout {
    bool shown[ASSAY_CACHE_STATES];
    bool roomy;
    int name, check, gap;
    int widths[COLUMNS]; /* 0: no room for this column */
    int width;           /* of the whole table */
};

struct table {
    struct assay_sink sink;
    struct assay_report_style style;
    struct assay_line line;
    struct layout layout;
    char device[32];
    int lines;         /* since the headings */
    bool headings_due; /* before the next group that has these columns */
    bool in_recipes;   /* the last group had the other columns */
    struct assay_tally tally;
    struct assay_legend legend;
};

/* ---- layout ------------------------------------------------------------------------------- */

static int block_width(const struct layout *l)
{
    int width = l->gap + MARKER + l->widths[TIME];
    for (int c = TIME + 1; c < COLUMNS; c++)
        if (l->widths[c])
            width += 1 + l->widths[c] + (c == SPREAD ? 1 : 0);
    return width;
}

static int states_shown(const struct layout *l)
{
    return l->shown[ASSAY_CACHE_HOT] + l->shown[ASSAY_CACHE_COLD];
}

static int room_for_name(const struct layout *l, int width)
{
    return width - INDENT - states_shown(l) * block_width(l) - 1 - l->check;
}

static struct layout choose_layout(const struct assay_run_info *run,
                                   const struct assay_report_style *style)
{
    static const enum column dispensable[] = {RATE, CEILING, SPREAD};
    bool either = run->hot || run->cold;
    struct layout l = {
        .shown = {run->hot || !either, run->cold || !either},
        .check = style->ascii ? 2 : 1,
    };
    l.roomy = states_shown(&l) == 1;
    l.gap = l.roomy ? 2 : 1;
    for (int c = 0; c < COLUMNS; c++)
        l.widths[c] = l.roomy ? columns[c].roomy_width : columns[c].width;
    int width = assay_columns_width(style);
    for (int i = 0; i < 3 && room_for_name(&l, width) < LEAST_NAME; i++)
        l.widths[dispensable[i]] = 0;
    l.name = room_for_name(&l, width) < MOST_NAME ? room_for_name(&l, width) : MOST_NAME;
    l.width = width - room_for_name(&l, width) + l.name;
    return l;
}

static void flush(struct table *t)
{
    assay_line_flush(&t->line, &t->sink);
    t->lines++;
}

/* "hot ──────────" over its block. */
static void write_state_headings(struct table *t)
{
    struct layout *l = &t->layout;
    for (int s = 0, start = INDENT + l->name; s < ASSAY_CACHE_STATES; s++) {
        if (!l->shown[s])
            continue;
        assay_line_to(&t->line, start + l->gap + MARKER);
        start += block_width(l);
        assay_line_put(&t->line, assay_cache_state_name((enum assay_cache_state)s), 4,
                       ASSAY_INK_BOLD);
        assay_line_put(&t->line, " ", 1, ASSAY_INK_PLAIN);
        assay_line_rule(&t->line, start, ASSAY_INK_DIM);
    }
    flush(t);
}

static void write_column_headings(struct table *t)
{
    struct layout *l = &t->layout;
    assay_line_to(&t->line, INDENT + l->name);
    for (int s = 0; s < states_shown(l); s++) {
        assay_line_to(&t->line, t->line.columns + l->gap + MARKER - 1);
        for (int c = 0; c < COLUMNS; c++) {
            if (!l->widths[c])
                continue;
            const char *heading = l->roomy ? columns[c].roomy_heading : columns[c].heading;
            assay_line_to(&t->line, t->line.columns + 1);
            if (columns[c].right)
                assay_line_right(&t->line, heading, l->widths[c], ASSAY_INK_DIM);
            else
                assay_line_left(&t->line, heading, l->widths[c], ASSAY_INK_DIM);
            assay_line_to(&t->line, t->line.columns + (c == SPREAD));
        }
    }
    flush(t);
}

static void write_headings(struct table *t)
{
    write_state_headings(t);
    write_column_headings(t);
    t->lines = 0;
    t->headings_due = false;
}

static void table_begin(void *state, const struct assay_sink *sink,
                        const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct table *t = state;
    t->sink = *sink;
    t->style = *style;
    t->layout = choose_layout(run, style);
    memcpy(t->device, run->device, sizeof t->device);
    assay_line_init(&t->line, style);
    assay_row_machine(run, &t->line, &t->sink, t->layout.width);
    flush(t);
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
    struct assay_line *line = &t->line;
    int width = t->layout.width;
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
        flush(t);
    assay_line_right(line, info.text, width - line->columns,
                     records[0].interrupted ? ASSAY_INK_WARN : ASSAY_INK_DIM);
    flush(t);
}

/* ---- rows --------------------------------------------------------------------------------- */

static void write_column(struct table *t, enum column c, const char *text, enum assay_ink ink)
{
    int width = t->layout.widths[c];
    if (!width)
        return;
    if (c != TIME)
        assay_line_to(&t->line, t->line.columns + 1);
    if (columns[c].right)
        assay_line_right(&t->line, text, width, ink);
    else
        assay_line_left(&t->line, text, width, ink);
}

static struct assay_cell ceiling_cell(struct table *t, const struct assay_measurement *m)
{
    struct assay_cell cell = assay_cell_efficiency(m);
    bool known = m->ceiling_ns > 0, shown = t->layout.widths[CEILING];
    t->legend.ceiling |= known && shown;
    t->legend.no_ceiling |= !known && shown;
    if (t->layout.roomy && known && m->bound[0])
        assay_cell_add(&cell, " of %s", m->bound);
    return cell;
}

static void write_block(struct table *t, const struct assay_record *record,
                        const struct assay_measurement *m)
{
    struct assay_line *line = &t->line;
    const int *widths = t->layout.widths;
    assay_line_to(line, line->columns + t->layout.gap);
    int start = line->columns;
    assay_line_left(line, m->measured && m->fastest ? "▸" : "", MARKER, ASSAY_INK_BEST);
    if (!m->measured) {
        write_column(t, TIME, "-", ASSAY_INK_DIM);
        assay_line_to(line, start + block_width(&t->layout) - t->layout.gap);
        return;
    }
    t->legend.fastest |= m->fastest;
    t->legend.times = true;
    t->legend.spread |= widths[SPREAD] > 0;
    t->legend.flops |= strcmp(m->bound, "compute") == 0 && !t->layout.roomy && widths[RATE];
    write_column(t, TIME, assay_cell_time(m->time.median).text,
                 m->fastest ? ASSAY_INK_BEST : ASSAY_INK_PLAIN);
    write_column(t, SPREAD, assay_cell_spread(m).text, ASSAY_INK_DIM);
    if (widths[SPREAD])
        assay_line_left(line, assay_row_mark(m, &t->legend), 1, ASSAY_INK_WARN);
    write_column(t, SPEEDUP, assay_cell_speedup(record, m, widths[SPEEDUP], line->ascii).text,
                 assay_row_speedup_ink(record, m));
    write_column(t, RATE, assay_cell_rate(m, t->layout.roomy).text, ASSAY_INK_PLAIN);
    write_column(t, CEILING, ceiling_cell(t, m).text, ASSAY_INK_PLAIN);
}

static void write_figures(struct table *t, const struct assay_record *record)
{
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (t->layout.shown[s])
            write_block(t, record, &record->states[s]);
    assay_line_to(&t->line, t->line.columns + 1);
    assay_line_put(&t->line, record->verification.done ? "✓" : "-", t->layout.check,
                   ASSAY_INK_GOOD);
}

static bool is_timed(const struct layout *l, const struct assay_record *record)
{
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (l->shown[s] && record->states[s].measured)
            return true;
    return false;
}

static void write_row(struct table *t, const struct assay_record *record)
{
    bool ok = record->outcome == ASSAY_OUTCOME_OK;
    assay_line_to(&t->line, INDENT);
    assay_line_left(&t->line, record->implementation, t->layout.name,
                    ok ? ASSAY_INK_PLAIN : ASSAY_INK_DIM);
    if (ok && (is_timed(&t->layout, record) || !record->verification.done)) {
        write_figures(t, record);
    } else {
        assay_line_to(&t->line, t->line.columns + t->layout.gap);
        if (ok)
            assay_row_check(&t->line, record, t->layout.check + 1, t->layout.width);
        else
            assay_row_reason(&t->line, record, MARKER + 1, t->layout.width);
    }
    flush(t);
    if (t->style.verbose)
        assay_detail_write(record, &t->line, &t->sink, t->layout.width);
}

static struct assay_recipes recipes_of(struct table *t)
{
    return (struct assay_recipes){
        .sink = &t->sink,
        .style = &t->style,
        .shown = {t->layout.shown[ASSAY_CACHE_HOT], t->layout.shown[ASSAY_CACHE_COLD]},
        .device = t->device,
        .legend = &t->legend,
    };
}

static void write_group(struct table *t, const struct assay_record *records, int64_t n)
{
    if (t->headings_due || t->lines >= HEADING_EVERY)
        write_headings(t);
    write_group_header(t, records, n);
    for (int64_t i = 0; i < n; i++)
        write_row(t, &records[i]);
    t->lines += assay_row_warnings(records, n, &t->line, &t->sink, t->layout.width);
}

/* One record for a whole group that was not measured says nothing of recipes: it goes on as before.
 */
static bool takes_recipes(const struct table *t, const struct assay_record *records, int64_t n)
{
    return assay_recipes_has(records, n) || (t->in_recipes && n == 1 && !records[0].kernel[0]);
}

static void table_group(void *state, const struct assay_record *records, int64_t n)
{
    struct table *t = state;
    if (t->tally.groups)
        flush(t);
    assay_tally_add(&t->tally, records, n);
    for (int64_t i = 0; i < n; i++)
        t->legend.interrupted |= records[i].interrupted;
    t->in_recipes = takes_recipes(t, records, n);
    if (t->in_recipes) {
        struct assay_recipes recipes = recipes_of(t);
        t->lines += assay_recipes_write(&recipes, &t->line, records, n);
        t->headings_due = true;
    } else {
        write_group(t, records, n);
    }
}

/* ---- the end ------------------------------------------------------------------------------ */

static void write_legend(struct table *t)
{
    struct assay_flow flow = {&t->line, &t->sink, 0, t->layout.width, false, ASSAY_INK_DIM};
    assay_legend_marks(&t->legend, &flow);
    if (flow.started)
        flush(t);
}

static void write_ceiling_legend(struct table *t)
{
    if (!t->legend.ceiling && !t->legend.no_ceiling)
        return;
    struct assay_flow flow = {&t->line, &t->sink, 0, t->layout.width, false, ASSAY_INK_DIM};
    const char *heading = t->layout.roomy && t->legend.times ? "ceiling" : "ceil";
    if (t->legend.ceiling)
        assay_flow_item(&flow, "%s: %% of what this machine can do, probed in the same rounds",
                        heading);
    else
        assay_flow_item(&flow, "%s: not known, nothing was probed beside the kernels", heading);
    flush(t);
}

static void table_end(void *state)
{
    struct table *t = state;
    struct assay_recipes recipes = recipes_of(t);
    if (!t->tally.groups)
        write_headings(t);
    flush(t);
    assay_tally_write(&t->tally, &t->line, &t->sink, t->layout.width);
    write_legend(t);
    if (t->legend.recipes)
        assay_recipes_legend(&recipes, &t->line);
    write_ceiling_legend(t);
}

const struct assay_report_format assay_report_table = {
    .name = "table",
    .extension = "txt",
    .summary = "a table to read in a terminal",
    .state_bytes = sizeof(struct table),
    .begin = table_begin,
    .group = table_group,
    .end = table_end,
};
