/* plot_sweep.h: times against a swept axis, in a terminal. */
#ifndef ASSAY_REPORT_PLOT_SWEEP_H
#define ASSAY_REPORT_PLOT_SWEEP_H

#include "report/report_book.h"
#include "report/report_grid.h"

/* A line for each variant, in one plot for each problem without the swept axis. False, and nothing
 * is drawn, where no axis of numbers was swept: three values of it on average while all else stays
 * the same. */
bool assay_plot_sweep(const struct assay_book *book, struct assay_page *page);

#endif
