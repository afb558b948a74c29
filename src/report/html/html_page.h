/* html_page.h: a book as one HTML page that needs nothing else: no network, no other file.
 *
 * Everything can be read without JavaScript; with it rows can be sorted, filtered and opened. The
 * records stand in it once, as JSON, and can be read back. */
#ifndef ASSAY_REPORT_HTML_PAGE_H
#define ASSAY_REPORT_HTML_PAGE_H

#include "report/report.h"
#include "report/report_book.h"

struct assay_html_options {
    const char *live; /* of a run that is still measured: where its state is asked, "version"; NULL:
                         the page is finished */
    int64_t left;     /* groups that are not there (yet) */
};

/* Never fails for what is in the book: an empty one makes a page that says so. */
void assay_html_write(const struct assay_book *book, const struct assay_html_options *options,
                      const struct assay_sink *sink);

/* The records of such a page; `where` names it in errors. ASSAY_ERR_INVALID where it is not one, or
 * one of a later version. */
enum assay_status assay_html_read(const char *bytes, size_t length, const char *where,
                                  struct assay_book *out, struct assay_error *err);

#endif
