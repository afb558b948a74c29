/* html_rows.h: the groups of a page as tables. */
#ifndef ASSAY_REPORT_HTML_ROWS_H
#define ASSAY_REPORT_HTML_ROWS_H

#include "report/html/html_put.h"

/* So many rows have their details in the page where scripts do not run. */
enum { ASSAY_HTML_MOST_DETAILS = 300 };

/* A section for each op, in it a table for each group. The same group of several runs is one table,
 * with the rows of a variant one below the other. Rows are numbered as in the book, from 1: the row
 * of record 12 has the id "r12". */
void assay_html_put_groups(struct assay_html_out *out, const struct assay_book *book);

/* What the marks of the tables mean. */
void assay_html_put_legend(struct assay_html_out *out);

#endif
