/* kobench.c: what `assay preset` shows: KoBench's table, for a terminal.
 *
 * One row for each case, in KoBench's columns and order; behind them the interval of the median,
 * whether the answer was right, and of a compiled model how much faster it is than the eager one,
 * on the next line where there is no room.
 * Rows appear while the run goes on, so widths are fixed: a name that is too long has a line of its
 * own. A row that has no figures says why, across the whole line. */
#include "report/report_columns.h"
#include "report/report_detail.h"
#include "report/report_kobench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum column {
    NAME,
    MEAN,
    STD,
    IDLE,
    PEAK,
    WORKSPACE,
    MACS,
    MACS_RATE,
    FLOPS,
    FLOPS_RATE,
    SPREAD,
    COLUMNS
};

enum { RATIO_ROOM = 13 };

/* clang-format off */
static const struct assay_column columns[COLUMNS] = {
    [NAME]       = {"name",      20, false, false},
    [MEAN]       = {"mean_ms",   8,  true,  true},
    [STD]        = {"std_ms",    7,  true,  false},
    [IDLE]       = {"idle_vram", 9,  true,  false},
    [PEAK]       = {"peak_vram", 9,  true,  false},
    [WORKSPACE]  = {"workspace", 9,  true,  false},
    [MACS]       = {"MACs",      8,  true,  false},
    [MACS_RATE]  = {"MACS",      10, true,  false},
    [FLOPS]      = {"FLOPs",     8,  true,  false},
    [FLOPS_RATE] = {"FLOPS",     10, true,  false},
    [SPREAD]     = {"±",         5,  true,  false},
};
/* clang-format on */

struct state {
    struct assay_sink sink;
    struct assay_report_style style;
    struct assay_line line;
    struct assay_columns columns;
    int check, width;
    char subject[128]; /* what all rows so far have in common */
    struct assay_tally tally;
    struct assay_legend legend;
    bool saw_ratio, saw_cold, saw_memory, saw_counts;
};

static void flush(struct state *s) { assay_line_flush(&s->line, &s->sink); }

/* ---- the beginning -------------------------------------------------------------------------- */

static struct assay_columns choose_columns(const struct state *s)
{
    static const int dispensable[] = {WORKSPACE, IDLE, FLOPS, MACS, SPREAD, FLOPS_RATE, PEAK};
    struct assay_columns c = assay_columns_start(columns, COLUMNS, s->check);
    assay_columns_drop(&c, dispensable, sizeof dispensable / sizeof dispensable[0],
                       assay_columns_room(&s->style));
    assay_columns_cut(&c, NAME, 10, assay_columns_room(&s->style));
    return c;
}

static void kobench_begin(void *state, const struct assay_sink *sink,
                          const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct state *s = state;
    s->sink = *sink;
    s->style = *style;
    s->check = style->ascii ? 2 : 1;
    assay_line_init(&s->line, style);
    assay_row_machine(run, &s->line, sink, assay_columns_width(style));
    s->columns = choose_columns(s);
    int total = assay_columns_total(&s->columns), least = assay_columns_width(style);
    s->width = total > least ? total : least;
}

/* "float16 on cuda, measured to 1 %", and the headings, where either is new. */
static void write_headings(struct state *s, const struct assay_record *record)
{
    char subject[sizeof s->subject];
    snprintf(subject, sizeof subject, "%s on %s", assay_kobench_dtype(record->dtype),
             record->device);
    if (strcmp(subject, s->subject) == 0)
        return;
    snprintf(s->subject, sizeof s->subject, "%s", subject);
    flush(s);
    assay_line_put(&s->line, subject, s->width, ASSAY_INK_BOLD);
    flush(s);
    for (int c = 0; c < COLUMNS; c++) {
        if (c == NAME)
            assay_line_left(&s->line, columns[c].heading, s->columns.widths[c], ASSAY_INK_DIM);
        else
            assay_columns_put(&s->columns, &s->line, c, columns[c].heading, ASSAY_INK_DIM);
        if (s->columns.widths[c] && columns[c].marked)
            assay_line_to(&s->line, s->line.columns + 1);
    }
    flush(s);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void write_name(struct state *s, const struct assay_record *record, bool cold,
                       enum assay_ink ink)
{
    struct assay_cell name = assay_kobench_name(record);
    if (record->label[0])
        assay_cell_add(&name, " %s", record->label);
    if (cold)
        assay_cell_add(&name, " (cold)");
    int room = s->columns.widths[NAME];
    bool fits = assay_line_columns_of(name.text, s->style.ascii) <= room;
    assay_line_put(&s->line, name.text, fits ? room : s->width, ink);
    if (!fits)
        flush(s);
    assay_line_to(&s->line, room);
}

static void put(struct state *s, enum column column, const char *text)
{
    assay_columns_put(&s->columns, &s->line, column, text, ASSAY_INK_PLAIN);
}

/* Of a compiled model: how it compares with the eager one. */
static void write_ratio(struct state *s, const struct assay_measurement *m)
{
    if (!m->has_eager_ratio)
        return;
    struct assay_cell cell = assay_cell_interval(&m->eager_ratio, RATIO_ROOM, s->style.ascii);
    int direction = assay_cell_ratio_direction(&m->eager_ratio);
    if (s->line.columns + 1 + RATIO_ROOM > assay_columns_room(&s->style)) {
        flush(s);
        assay_line_to(&s->line, s->columns.widths[NAME]);
    }
    assay_line_to(&s->line, s->line.columns + 1);
    assay_line_put(&s->line, cell.text, RATIO_ROOM,
                   direction > 0   ? ASSAY_INK_GOOD
                   : direction < 0 ? ASSAY_INK_WARN
                                   : ASSAY_INK_DIM);
    s->saw_ratio = true;
}

static void write_figures(struct state *s, const struct assay_record *r,
                          const struct assay_measurement *m)
{
    put(s, MEAN, assay_cell_milliseconds(m->time.mean).text);
    assay_line_left(&s->line, assay_row_mark(m, &s->legend), 1, ASSAY_INK_WARN);
    put(s, STD, assay_cell_milliseconds(m->time.std).text);
    put(s, IDLE, assay_kobench_memory(r->idle_bytes).text);
    put(s, PEAK, assay_kobench_memory(r->peak_bytes).text);
    put(s, WORKSPACE, assay_kobench_memory(r->workspace_bytes).text);
    put(s, MACS, assay_kobench_count(r->macs, "").text);
    put(s, MACS_RATE, assay_kobench_count(assay_kobench_rate(r->macs, m), "/s").text);
    put(s, FLOPS, assay_kobench_count(r->counted_flops, "").text);
    put(s, FLOPS_RATE, assay_kobench_count(assay_kobench_rate(r->counted_flops, m), "/s").text);
    put(s, SPREAD, assay_cell_spread(m).text);
    assay_line_to(&s->line, s->line.columns + 1);
    assay_line_left(&s->line, r->verification.done ? "✓" : "-", s->check, ASSAY_INK_GOOD);
    write_ratio(s, m);
    s->legend.spread |= s->columns.widths[SPREAD] > 0;
    s->saw_memory |= s->columns.widths[PEAK] > 0;
    s->saw_counts |= s->columns.widths[FLOPS] > 0;
    flush(s);
}

static void write_no_figures(struct state *s, const struct assay_record *record)
{
    write_name(s, record, false, ASSAY_INK_DIM);
    assay_line_to(&s->line, s->line.columns + 1);
    if (record->outcome != ASSAY_OUTCOME_OK)
        assay_row_reason(&s->line, record, s->check + 1, s->width);
    else if (record->verification.done)
        assay_row_check(&s->line, record, s->check + 1, s->width);
    else
        assay_line_put(&s->line, "-", 1, ASSAY_INK_DIM);
    flush(s);
}

static void write_record(struct state *s, const struct assay_record *record)
{
    bool timed = false;
    for (int state = 0; state < ASSAY_CACHE_STATES; state++) {
        const struct assay_measurement *m = &record->states[state];
        if (record->outcome != ASSAY_OUTCOME_OK || !m->measured)
            continue;
        write_name(s, record, state == ASSAY_CACHE_COLD, ASSAY_INK_PLAIN);
        write_figures(s, record, m);
        s->saw_cold |= state == ASSAY_CACHE_COLD;
        timed = true;
    }
    if (!timed)
        write_no_figures(s, record);
    if (s->style.verbose) {
        assay_line_to(&s->line, 4);
        assay_line_put(&s->line, assay_cell_axes(record).text, s->width - 4, ASSAY_INK_DIM);
        flush(s);
        assay_detail_write(record, &s->line, &s->sink, s->width);
    }
}

static void kobench_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    assay_tally_add(&s->tally, records, n);
    write_headings(s, &records[0]);
    for (int64_t i = 0; i < n; i++)
        write_record(s, &records[i]);
    assay_row_warnings(records, n, &s->line, &s->sink, s->width);
    s->legend.interrupted |= records[0].interrupted;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void write_legend(struct state *s)
{
    struct assay_flow flow = {&s->line, &s->sink,     0, assay_columns_width(&s->style),
                              false,    ASSAY_INK_DIM};
    assay_legend_marks(&s->legend, &flow);
    if (s->saw_cold)
        assay_flow_item(&flow, "(cold): operands not in any cache");
    if (s->saw_ratio)
        assay_flow_item(&flow, "x of a compiled model: against eager");
    if (s->saw_memory)
        assay_flow_item(&flow, "1 MB = 2^20 bytes");
    if (s->saw_counts) {
        assay_flow_item(&flow, "MACs: multiply-adds; FLOPs: operations that are none");
        assay_flow_item(&flow, "MACS, FLOPS: so many in a second");
    }
    if (flow.started)
        flush(s);
}

static void kobench_end(void *state)
{
    struct state *s = state;
    if (s->tally.groups)
        flush(s);
    assay_tally_write(&s->tally, &s->line, &s->sink, assay_columns_width(&s->style));
    write_legend(s);
}

const struct assay_report_format assay_report_kobench = {
    .name = "kobench",
    .extension = NULL,
    .summary = "cases of presets with time, memory, MACs and FLOPs",
    .state_bytes = sizeof(struct state),
    .begin = kobench_begin,
    .group = kobench_group,
    .end = kobench_end,
};
