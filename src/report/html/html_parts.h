/* html_parts.h: the parts of a page that are not tables of groups. */
#ifndef ASSAY_REPORT_HTML_PARTS_H
#define ASSAY_REPORT_HTML_PARTS_H

#include "report/html/html_put.h"
#include "report/report_totals.h"

/* Facts about each run, one column for each: machine, method, ceilings. */
void assay_html_put_runs(struct assay_html_out *out, const struct assay_book *book);

/* For the heading: the method and the memory ceiling of a single run, and the way to the facts. */
void assay_html_put_method(struct assay_html_out *out, const struct assay_book *book);

/* What a reader must know before believing a figure: groups that are not there, rows that are
 * wrong, runs of different machines. Nothing where there is nothing to say. */
void assay_html_put_warnings(struct assay_html_out *out, const struct assay_book *book,
                             int64_t left);

/* Means over groups, a table for each op that has several. */
void assay_html_put_summary(struct assay_html_out *out, const struct assay_totals *totals,
                            const char *heading);

/* The charts that fit best, each a figure that can be cut out. */
void assay_html_put_charts(struct assay_html_out *out, const struct assay_book *book);

#endif
