/* plot_cells.h: what plots in a terminal are put together from: lines of characters with inks, and
 * axes. Scales are those of charts, in columns. */
#ifndef ASSAY_REPORT_PLOT_CELLS_H
#define ASSAY_REPORT_PLOT_CELLS_H

#include "report/draw/draw_scale.h"
#include "report/report_grid.h"

/* A part of a line, one column for each. */
struct assay_plot_cells {
    int n;
    const char *glyphs[ASSAY_MOST_WIDTH]; /* one character of one column; NULL: a blank */
    enum assay_line_ink inks[ASSAY_MOST_WIDTH];
};

void assay_plot_cells_put(const struct assay_plot_cells *cells, struct assay_line *line);

typedef void assay_plot_label(const void *user, double value, char *text, size_t size);

/* Which column a value is in, at the ends what lies beyond them; -1 for NaN. The scale's pixels are
 * columns from 0. */
int assay_plot_column(const struct assay_scale *scale, double value);

/* A line with ticks from column `left` on, and one with their labels, as many as stand apart. */
void assay_plot_axis_below(struct assay_page *page, const struct assay_scale *scale, int left,
                           assay_plot_label *label);

#endif
