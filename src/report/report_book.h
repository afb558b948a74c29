/* report_book.h: the runs that a report is about, kept until all of them are known.
 *
 * Charts, summaries and the page need the last row before they can draw the first. A record is four
 * kilobytes of mostly empty texts, so a book keeps it without its zero bytes: 10,000 rows take some
 * megabytes. Groups are looked at one at a time, through a view. */
#ifndef ASSAY_REPORT_BOOK_H
#define ASSAY_REPORT_BOOK_H

#include "record/record.h"

struct assay_book_run {
    struct assay_run_info info;
    int64_t first, n; /* its groups */
};

struct assay_book_group {
    int64_t run, n; /* of which run; how many records */
    size_t at;      /* in `packed` */
    int64_t first;  /* how many records come before it in the book */
};

struct assay_book {
    struct assay_book_run *runs;
    struct assay_book_group *groups;
    unsigned char *packed;
    int64_t n_runs, n_groups, n_records;
    int64_t run_capacity, group_capacity;
    size_t packed_bytes, packed_capacity;
    bool failed; /* there was no memory for a part of it */
};

/* Start from zeroes. Groups that are added are the last run's. */
void assay_book_begin(struct assay_book *book, const struct assay_run_info *run);
void assay_book_add(struct assay_book *book, const struct assay_record *records, int64_t n);
void assay_book_fini(struct assay_book *book);

/* A group's records as they were added. Start from zeroes; one view serves one group after the
 * other. */
struct assay_book_view {
    struct assay_record *records;
    int64_t n, capacity;
    const struct assay_book_run *run;
};

/* False without memory; the view is then empty. */
bool assay_book_open(const struct assay_book *book, int64_t group, struct assay_book_view *view);
void assay_book_view_fini(struct assay_book_view *view);

#endif
