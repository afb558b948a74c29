#include "report/report_columns.h"

#include <assert.h>

struct assay_columns assay_columns_start(const struct assay_column *table, int n, int around)
{
    assert(n <= ASSAY_MOST_COLUMNS);
    struct assay_columns c = {.table = table, .n = n, .around = around};
    for (int i = 0; i < n; i++)
        c.widths[i] = table[i].width;
    return c;
}

int assay_columns_total(const struct assay_columns *c)
{
    int width = c->around;
    for (int i = 0; i < c->n; i++)
        if (c->widths[i])
            width += 1 + c->widths[i] + (c->table[i].marked ? 1 : 0);
    return width;
}

void assay_columns_widen(struct assay_columns *c, int column, const char *text, bool ascii)
{
    int wide = assay_line_columns_of(text, ascii);
    c->widths[column] = wide > c->widths[column] ? wide : c->widths[column];
}

void assay_columns_cut(struct assay_columns *c, int column, int least, int width)
{
    int want = c->widths[column] - (assay_columns_total(c) - width);
    want = want < least ? least : want;
    c->widths[column] = want < c->widths[column] ? want : c->widths[column];
}

void assay_columns_drop(struct assay_columns *c, const int *order, int n, int width)
{
    for (int i = 0; i < n && assay_columns_total(c) > width; i++)
        c->widths[order[i]] = 0;
}

static int within_reason(int width)
{
    return width < ASSAY_LEAST_WIDTH  ? ASSAY_LEAST_WIDTH
           : width > ASSAY_MOST_WIDTH ? ASSAY_MOST_WIDTH
                                      : width;
}

int assay_columns_width(const struct assay_report_style *style)
{
    return within_reason(style->width <= 0 ? 100 : style->width);
}

int assay_columns_room(const struct assay_report_style *style)
{
    int width = assay_columns_width(style);
    return style->most > width ? within_reason(style->most) : width;
}

void assay_columns_put(const struct assay_columns *c, struct assay_line *line, int column,
                       const char *text, enum assay_ink ink)
{
    int width = c->widths[column];
    if (!width)
        return;
    assay_line_to(line, line->columns + 1);
    if (c->table[column].right)
        assay_line_right(line, text, width, ink);
    else
        assay_line_left(line, text, width, ink);
}

void assay_columns_time(const struct assay_columns *c, struct assay_line *line, int column,
                        const struct assay_measurement *m, const char *text,
                        struct assay_legend *legend)
{
    if (!c->widths[column])
        return;
    bool best = m->measured && m->fastest;
    assay_line_to(line, line->columns + 1);
    assay_line_left(line, best ? "▸" : "", 1, ASSAY_INK_BEST);
    assay_line_right(line, m->measured ? text : "-", c->widths[column] - 1,
                     !m->measured ? ASSAY_INK_DIM
                     : best       ? ASSAY_INK_BEST
                                  : ASSAY_INK_PLAIN);
    assay_line_left(line, m->measured ? assay_row_mark(m, legend) : "", 1, ASSAY_INK_WARN);
    legend->fastest |= best;
}
