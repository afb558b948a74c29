#include "report/report_totals_table.h"

#include "report/report_sink.h"

#include <string.h>

enum column {
    NAME,
    STATE,
    GROUPS,
    MARKED,
    MEAN,
    FASTER,
    SLOWER,
    SAME,
    UNCLEAR,
    BEST,
    WHERE,
    COLUMNS
};

enum {
    FASTER_SPEEDUP = 17, /* "1.62x [1.58 1.66]" */
    SHORT_SPEEDUP = 12,  /* "1.31x slower" */
    MOST_NAME = 32,
    LEAST_NAME = 8,
    MOST_WHERE = 40,
    MOST_ROWS = 60, /* more are a report of their own: -f md */
};

struct totals_table {
    const struct assay_totals *totals;
    const struct assay_total_op *op; /* at hand */
};

/* ---- columns -------------------------------------------------------------------------------- */

static const struct assay_total *total_of(const struct assay_cell_request *q) { return q->row; }

static struct assay_figure name_cell(const struct assay_cell_request *q)
{
    return assay_figure_plain(assay_total_name(total_of(q)));
}

static struct assay_figure state_cell(const struct assay_cell_request *q)
{
    return assay_figure_text(assay_cache_state_name(total_of(q)->state), ASSAY_INK_DIM);
}

static bool has_both(const void *table, int of)
{
    const struct assay_totals *totals = ((const struct totals_table *)table)->totals;
    (void)of;
    return totals->measured[ASSAY_CACHE_HOT] && totals->measured[ASSAY_CACHE_COLD];
}

static struct assay_figure groups_cell(const struct assay_cell_request *q)
{
    return assay_figure_plain(assay_total_groups(total_of(q)));
}

static struct assay_figure count_figure(int64_t count, enum assay_line_ink ink)
{
    struct assay_figure f = {.ink = count ? ink : ASSAY_INK_DIM};
    assay_cell_add(&f.cell, "%lld", (long long)count);
    return f;
}

static struct assay_figure marked_cell(const struct assay_cell_request *q)
{
    const struct assay_total *t = total_of(q);
    if (t->versus)
        return (struct assay_figure){0};
    q->legend->fastest = true;
    return count_figure(t->fastest, ASSAY_INK_BEST);
}

static struct assay_figure mean_cell(const struct assay_cell_request *q)
{
    const struct assay_total *t = total_of(q);
    struct assay_ratio mean = assay_total_mean(t);
    struct assay_figure f = {.cell = assay_total_speedup(t, q->width, q->ascii),
                             .ink = mean.n ? assay_figure_ratio_ink(&mean) : ASSAY_INK_DIM};
    q->legend->interval |= strchr(f.cell.text, '[') != NULL;
    return f;
}

static struct assay_figure verdict_cell(const struct assay_cell_request *q)
{
    static const enum assay_line_ink inks[ASSAY_VERDICTS] = {
        [ASSAY_VERDICT_FASTER] = ASSAY_INK_GOOD, [ASSAY_VERDICT_SLOWER] = ASSAY_INK_WARN};
    const struct assay_total *t = total_of(q);
    return t->best.ratio > 0 ? count_figure(t->verdicts[q->of], inks[q->of])
                             : (struct assay_figure){0};
}

static struct assay_figure best_cell(const struct assay_cell_request *q)
{
    return (struct assay_figure){.cell = assay_total_best(total_of(q)),
                                 .ink = assay_figure_ratio_ink(&total_of(q)->best)};
}

static struct assay_figure where_cell(const struct assay_cell_request *q)
{
    const struct totals_table *t = q->table;
    return (struct assay_figure){.cell = assay_total_best_group(t->op, total_of(q)),
                                 .ink = ASSAY_INK_DIM};
}

/* clang-format off */
#define COUNT(verdict, heading_) \
    [verdict] = {.heading = heading_, .right = true, .of = ASSAY_VERDICT_##verdict, .cell = verdict_cell}
static const struct assay_column columns[COLUMNS] = {
    [NAME]   = {.heading = "across groups", .cell = name_cell},
    [STATE]  = {.cell = state_cell, .shown = has_both},
    [GROUPS] = {.heading = "groups", .right = true, .cell = groups_cell},
    [MARKED] = {.heading = "▸", .right = true, .cell = marked_cell},
    [MEAN]   = {.heading = "mean speedup", .cell = mean_cell},
    COUNT(FASTER, "faster"),
    COUNT(SLOWER, "slower"),
    COUNT(SAME, "same"),
    COUNT(UNCLEAR, "unclear"),
    [BEST]   = {.heading = "best", .cell = best_cell},
    [WHERE]  = {.heading = "of", .cell = where_cell},
};
/* clang-format on */

static const struct assay_shrink shrinks[] = {
    {NAME, MOST_NAME},   {WHERE, MOST_WHERE},    {MEAN, FASTER_SPEEDUP},
    {WHERE, ASSAY_DROP}, {NAME, 2 * LEAST_NAME}, {GROUPS, ASSAY_DROP},
    {BEST, ASSAY_DROP},  {MEAN, SHORT_SPEEDUP},  {NAME, LEAST_NAME},
};

/* ---- writing -------------------------------------------------------------------------------- */

static const struct assay_total_op *section(const struct assay_totals *totals, int64_t number)
{
    return assay_totals_section(totals, number, MOST_ROWS);
}

static void choose_layout(struct assay_grid *grid, struct totals_table *table)
{
    const struct assay_totals *totals = table->totals;
    assay_grid_begin(grid, 0);
    for (int64_t i = 0; (table->op = section(totals, i)); i++)
        for (int64_t t = 0; t < table->op->n; t++)
            if (assay_total_shown(&table->op->totals[t]))
                assay_grid_measure(grid, &table->op->totals[t]);
    assay_grid_fit(grid, shrinks, sizeof shrinks / sizeof shrinks[0], grid->page->width);
}

/* Items below the rows, the first with a word before it. */
struct remarks {
    struct assay_flow flow;
    const char *word;
};

static struct remarks remarks(struct assay_page *page, const char *word)
{
    enum { INDENT = 3 };
    return (struct remarks){assay_page_flow(page, INDENT, page->width, ASSAY_INK_DIM), word};
}

static void add_remark(struct remarks *r, const char *text)
{
    if (!r->flow.started)
        assay_line_to(r->flow.line, 1);
    assay_flow_item(&r->flow, "%s%s%s", r->flow.started ? "" : r->word, r->flow.started ? "" : ": ",
                    text);
}

/* Which groups the means are without. */
static void write_missing(struct assay_page *page, const struct totals_table *table)
{
    struct remarks r = remarks(page, "not in the means");
    for (int64_t i = 0; i < table->op->n; i++) {
        struct assay_cell missing = assay_total_missing(table->totals, table->op, i);
        if (missing.text[0])
            add_remark(&r, missing.text);
    }
    if (r.flow.started)
        assay_page_flush(page);
}

/* Where that column does not fit: the groups with the greatest speedups. */
static void write_best(struct assay_page *page, const struct totals_table *table)
{
    struct remarks r = remarks(page, "best");
    for (int64_t i = 0; i < table->op->n; i++) {
        const struct assay_total *total = &table->op->totals[i];
        struct assay_cell text = assay_total_name(total);
        if (assay_cell_ratio_direction(&total->best) <= 0)
            continue;
        if (has_both(table, 0))
            assay_cell_add(&text, " %s", assay_cache_state_name(total->state));
        assay_cell_add(&text, " %s of %s", assay_total_best(total).text,
                       assay_total_best_group(table->op, total).text);
        add_remark(&r, text.text);
    }
    if (r.flow.started)
        assay_page_flush(page);
}

static void write_section(struct assay_grid *grid, const struct totals_table *table)
{
    struct assay_page *page = grid->page;
    assay_line_put(&page->line, assay_total_heading(table->totals, table->op).text, page->width,
                   ASSAY_INK_BOLD);
    assay_page_flush(page);
    for (int64_t i = 0; i < table->op->n; i++)
        if (assay_total_shown(&table->op->totals[i]))
            assay_grid_row(grid, &table->op->totals[i]);
    if (!grid->widths[WHERE])
        write_best(page, table);
    write_missing(page, table);
}

void assay_totals_write(struct assay_page *page, const struct assay_totals *totals)
{
    struct totals_table table = {.totals = totals};
    struct assay_grid grid = {.page = page, .columns = columns, .n = COLUMNS, .table = &table};
    if (totals->failed)
        assay_sink_fail(&page->sink);
    if (!assay_totals_worth(totals))
        return;
    choose_layout(&grid, &table);
    assay_page_flush(page);
    assay_grid_headings(&grid);
    for (int64_t i = 0; (table.op = section(totals, i)); i++)
        write_section(&grid, &table);
    page->legend.mean = true;
}

void assay_totals_write_verdict(struct assay_page *page, const struct assay_totals *totals)
{
    struct assay_text text = {0};
    if (!assay_totals_worth(totals))
        return;
    assay_totals_fastest(totals, &text);
    if (text.failed) {
        assay_sink_fail(&page->sink);
    } else {
        assay_line_wrap(&page->line, &page->sink, text.data, 1, page->width, ASSAY_INK_BOLD);
        assay_page_flush(page);
    }
    assay_text_fini(&text);
}
