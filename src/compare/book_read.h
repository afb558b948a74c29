/* book_read.h: runs read back into a book, to be drawn or shown again. */
#ifndef ASSAY_COMPARE_BOOK_READ_H
#define ASSAY_COMPARE_BOOK_READ_H

#include "report/report_book.h"

/* What a book lacks of the runs that are in it. */
struct assay_book_gaps {
    int64_t missing; /* groups that were planned and are not there */
    int64_t lost;    /* of those, what damage to a journal cost */
};

/* Adds what `name` is: a run (an id, the beginning of one, "last", "last~1"), a journal's path, or
 * a file with records. ASSAY_ERR_INVALID where it is none, and for formats that hold less than
 * records; the message says which do. `warn` hears of damaged lines; `gaps` is added to; both may
 * be NULL. */
enum assay_status assay_book_read(const char *name, struct assay_book *book,
                                  void (*warn)(const char *text), struct assay_book_gaps *gaps,
                                  struct assay_error *err);

#endif
