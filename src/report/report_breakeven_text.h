/* report_breakeven_text.h: from which shape on each recipe pays, below a table for a terminal and
 * in Markdown. Nothing where there is no sweep of a recipe. */
#ifndef ASSAY_REPORT_BREAKEVEN_TEXT_H
#define ASSAY_REPORT_BREAKEVEN_TEXT_H

#include "report/report_breakeven.h"
#include "report/report_grid.h"
#include "report/report_md.h"

void assay_breakevens_write(struct assay_page *page, const struct assay_breakevens *all);
void assay_md_breakevens(struct assay_md *md, const struct assay_breakevens *all);

#endif
