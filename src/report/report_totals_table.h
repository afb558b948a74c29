/* report_totals_table.h: what a run says as a whole, below a table for a terminal. */
#ifndef ASSAY_REPORT_TOTALS_TABLE_H
#define ASSAY_REPORT_TOTALS_TABLE_H

#include "report/report_grid.h"
#include "report/report_totals.h"

/* For each op and variant the geometric mean of its speedups, with a line before it. Nothing where
 * there is nothing to sum up. No wider than the page; what it shows is noted in its legend. */
void assay_totals_write(struct assay_page *page, const struct assay_totals *totals);
/* Who is fastest in how many groups, on as many lines as that takes; nothing likewise. */
void assay_totals_write_verdict(struct assay_page *page, const struct assay_totals *totals);

#endif
