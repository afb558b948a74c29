/* plot_bars.h: speedups as bars in a terminal. */
#ifndef ASSAY_REPORT_PLOT_BARS_H
#define ASSAY_REPORT_PLOT_BARS_H

#include "report/report_book.h"
#include "report/report_grid.h"

/* A bar for each row and cache state, with its interval, from the baseline at 1x on a logarithmic
 * scale. Of more groups than can be looked at, the means across groups. Where nothing is compared
 * with anything, times. What has no figure says why. */
void assay_plot_bars(const struct assay_book *book, struct assay_page *page);

#endif
