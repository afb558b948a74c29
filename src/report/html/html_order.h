/* html_order.h: in which order a page shows the groups of a book: by op, and where runs measured
 * the same group, side by side. */
#ifndef ASSAY_REPORT_HTML_ORDER_H
#define ASSAY_REPORT_HTML_ORDER_H

#include "report/report_book.h"

struct assay_html_place {
    int64_t group; /* of the book */
    int64_t op;    /* ops are numbered in the order in which they appear */
    int64_t table; /* groups with the same number are the same one, of several runs */
    /* While they are sorted: */
    uint64_t hash;
    int64_t occurrence;
};

/* All groups of the book, in order; NULL without memory, and where there are none. Release with
 * assay_free. */
struct assay_html_place *assay_html_order_create(const struct assay_book *book);

#endif
