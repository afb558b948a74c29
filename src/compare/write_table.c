/* write_table.c: a comparison for a terminal. A problem's rows stand under its name. Where the
 * table does not fit, the old time is left out, then the new one, and names are cut. */
#include "compare/compare.h"

#include "report/report_line.h"
#include "report/report_sink.h"

#include <stdio.h>
#include <string.h>

enum { INDENT = 2, CACHE = 4, TIME = 8, CHANGE = 24, VERDICT = 13, LEAST_NAME = 22, LEAST = 60 };

struct table {
    const struct assay_comparison *c;
    const struct assay_sink *sink;
    struct assay_line line;
    int width, name; /* columns of all, and of the variant */
    bool shows_old, shows_new;
    char problem[400];
};

static void put_line(struct table *t, const char *text, enum assay_line_ink ink)
{
    assay_line_put(&t->line, text, t->width, ink);
    assay_line_flush(&t->line, t->sink);
}

/* ---- the head ------------------------------------------------------------------------------- */

static void put_run(struct table *t, const char *which, const struct assay_results *run)
{
    struct assay_flow flow = {
        .line = &t->line, .sink = t->sink, .indent = 5, .width = t->width, .started = false};
    assay_line_left(&t->line, which, 5, ASSAY_INK_BOLD);
    assay_flow_item(&flow, "%s", run->source);
    if (run->run.started[0] && strcmp(run->format, "journal") != 0)
        assay_flow_item(&flow, "%s", run->run.started);
    if (run->run.version[0])
        assay_flow_item(&flow, "assay %s", run->run.version);
    if (run->run.device_name[0] || run->run.device[0])
        assay_flow_item(&flow, "%s",
                        run->run.device_name[0] ? run->run.device_name : run->run.device);
    if (run->run.threads > 0 && assay_run_on_host(&run->run))
        assay_flow_item(&flow, "%d thread%s", run->run.threads, run->run.threads == 1 ? "" : "s");
    assay_line_flush(&t->line, t->sink);
}

static void put_head(struct table *t, const struct assay_strings *differences)
{
    put_run(t, "old", t->c->old_run);
    put_run(t, "new", t->c->new_run);
    for (int64_t i = 0; i < differences->n; i++) {
        struct assay_flow flow = {.line = &t->line,
                                  .sink = t->sink,
                                  .indent = 5,
                                  .width = t->width,
                                  .ink = ASSAY_INK_WARN};
        assay_line_to(&t->line, 5);
        assay_flow_item(&flow, "%s", differences->items[i]);
        assay_line_flush(&t->line, t->sink);
    }
    if (t->c->new_run->no_intervals)
        assay_sink_format(t->sink, "     %s holds %s without intervals: they can only be shown\n",
                          t->c->new_run->format, t->c->new_run->means ? "means" : "times");
    assay_sink_put(t->sink, "\n");
}

/* ---- rows ----------------------------------------------------------------------------------- */

static enum assay_line_ink ink_of(enum assay_compare_verdict verdict)
{
    switch (verdict) {
    case ASSAY_COMPARE_FASTER:
    case ASSAY_COMPARE_MENDED:
        return ASSAY_INK_GOOD;
    case ASSAY_COMPARE_SLOWER:
    case ASSAY_COMPARE_BROKEN:
    case ASSAY_COMPARE_BAD:
        return ASSAY_INK_BAD;
    case ASSAY_COMPARE_UNCLEAR:
        return ASSAY_INK_WARN;
    default:
        return ASSAY_INK_DIM;
    }
}

static void put_time(struct table *t, const struct assay_result *row, int time)
{
    char text[32] = "-";
    if (row && row->times[time].there)
        assay_text_time(row->times[time].time.median, text, sizeof text);
    assay_line_to(&t->line, t->line.columns + 1);
    assay_line_right(&t->line, text, TIME, ASSAY_INK_PLAIN);
}

static void put_headings(struct table *t)
{
    assay_line_to(&t->line, INDENT + t->name + 1 + CACHE);
    for (int i = 0; i < 2; i++)
        if (i == 0 ? t->shows_old : t->shows_new) {
            assay_line_to(&t->line, t->line.columns + 1);
            assay_line_right(&t->line, i == 0 ? "old" : "new", TIME, ASSAY_INK_DIM);
        }
    assay_line_to(&t->line, t->line.columns + 2);
    assay_line_put(&t->line, "old / new", CHANGE, ASSAY_INK_DIM);
    assay_line_flush(&t->line, t->sink);
}

static void put_problem(struct table *t, const struct assay_compare_row *row)
{
    char problem[sizeof t->problem];
    assay_compare_problem(row, problem, sizeof problem);
    if (strcmp(problem, t->problem) == 0)
        return;
    memcpy(t->problem, problem, sizeof problem);
    put_line(t, problem, ASSAY_INK_BOLD);
}

/* Behind the row where it fits, else on a line of its own. */
static void put_note(struct table *t, const char *note)
{
    int columns = assay_line_columns_of(note, t->line.ascii);
    if (!note[0])
        return;
    if (t->line.columns + 2 + columns > t->width) {
        assay_line_flush(&t->line, t->sink);
        assay_line_to(&t->line, 2 * INDENT - 2);
    }
    assay_line_to(&t->line, t->line.columns + 2);
    assay_line_put(&t->line, note, t->width - t->line.columns, ASSAY_INK_DIM);
}

static void put_row(struct table *t, const struct assay_compare_row *row)
{
    char variant[200], change[80], verdict[40];
    assay_compare_variant(row, variant, sizeof variant);
    assay_compare_change(row, change, sizeof change);
    snprintf(verdict, sizeof verdict, "%s%s", assay_compare_verdict_name(row->verdict),
             row->fails ? ", fails" : "");
    put_problem(t, row);
    assay_line_to(&t->line, INDENT);
    assay_line_left(&t->line, variant, t->name, ASSAY_INK_PLAIN);
    assay_line_to(&t->line, t->line.columns + 1);
    assay_line_left(&t->line, assay_result_time_name(row->time), CACHE, ASSAY_INK_DIM);
    if (t->shows_old)
        put_time(t, row->old_row, row->time);
    if (t->shows_new)
        put_time(t, row->new_row, row->time);
    assay_line_to(&t->line, t->line.columns + 2);
    if (row->has_ratio) { /* else the verdict has its place */
        assay_line_left(&t->line, change, CHANGE, ASSAY_INK_PLAIN);
        assay_line_to(&t->line, t->line.columns + 1);
    }
    assay_line_put(&t->line, verdict, t->width - t->line.columns, ink_of(row->verdict));
    if (!t->c->new_run->no_intervals || row->verdict != ASSAY_COMPARE_UNCLEAR)
        put_note(t, row->note);
    assay_line_flush(&t->line, t->sink);
}

/* ---- the end -------------------------------------------------------------------------------- */

static void put_item(struct table *t, const char *text, enum assay_line_ink ink)
{
    struct assay_flow flow = {.line = &t->line, .sink = t->sink, .width = t->width, .ink = ink};
    assay_flow_item(&flow, "%s", text);
    assay_line_flush(&t->line, t->sink);
}

static void put_end(struct table *t)
{
    enum { FEW = 5 };
    const struct assay_comparison *c = t->c;
    struct assay_text text = {0};
    assay_compare_summary(c, &text);
    if (text.failed)
        assay_sink_fail(t->sink);
    assay_sink_put(t->sink, "\n");
    put_item(t, text.data ? text.data : "", ASSAY_INK_BOLD);
    assay_text_fini(&text);
    if (c->n_ratios >= FEW) {
        char line[120];
        snprintf(line, sizeof line, "half of the rows have a ratio above %.2fx, half below",
                 c->typical);
        put_item(t, line, ASSAY_INK_PLAIN);
    }
    struct assay_flow flow = {
        .line = &t->line, .sink = t->sink, .width = t->width, .ink = ASSAY_INK_DIM};
    assay_flow_item(&flow, "old / new: above 1 is faster, in brackets 95%%");
    assay_flow_item(&flow, "faster, slower: the 99.8%% interval is beyond %g%%",
                    100 * ASSAY_COMPARE_LUCK);
    assay_line_flush(&t->line, t->sink);
}

void assay_compare_write_table(const struct assay_comparison *comparison,
                               const struct assay_strings *differences,
                               const struct assay_sink *sink,
                               const struct assay_report_style *style)
{
    struct table t = {.c = comparison, .sink = sink};
    int rest = INDENT + 1 + CACHE + 2 + CHANGE + 1 + VERDICT;
    assay_line_init(&t.line, style);
    t.width = style->width < LEAST ? LEAST : style->width;
    t.shows_old = t.width - rest - 2 * (1 + TIME) >= LEAST_NAME;
    t.shows_new = t.width - rest - (1 + TIME) >= LEAST_NAME;
    t.name = t.width - rest - (t.shows_old + t.shows_new) * (1 + TIME);
    put_head(&t, differences);
    put_headings(&t);
    for (int64_t i = 0; i < comparison->n; i++)
        put_row(&t, &comparison->rows[i]);
    put_end(&t);
}
