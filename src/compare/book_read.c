/* book_read.c: whatever has records, as runs of a book. */
#include "compare/book_read.h"

#include "base/alloc.h"
#include "bench/run.h"
#include "compare/records_read.h"
#include "compare/results.h"

#include <stdio.h>

struct reader {
    struct assay_book *book;
    void (*warn)(const char *text);
    int64_t damaged;
    int64_t first_run; /* of those that were added */
};

/* A journal's head was written before the machine's ceiling was looked up: as reports have it. */
static enum assay_status add_run(void *user, const struct assay_run_info *run,
                                 const struct assay_plan *plan, struct assay_error *err)
{
    struct reader *reader = user;
    struct assay_run_info *whole = assay_calloc(1, sizeof *whole);
    enum assay_status status = ASSAY_OK;
    if (!whole)
        return assay_error_nomem(err);
    *whole = *run;
    if (plan)
        status = assay_run_load_ceiling(whole, err);
    if (status == ASSAY_OK)
        assay_book_begin(reader->book, whole);
    assay_free(whole);
    if (status == ASSAY_OK && reader->book->failed)
        status = assay_error_nomem(err);
    return status;
}

static enum assay_status add_group(void *user, const struct assay_record *records, int64_t n,
                                   struct assay_error *err)
{
    struct reader *reader = user;
    assay_book_add(reader->book, records, n);
    return reader->book->failed ? assay_error_nomem(err) : ASSAY_OK;
}

static void on_damage(void *user, const char *where, const char *what)
{
    enum { SHOWN = 5 };
    struct reader *reader = user;
    char text[700];
    if (++reader->damaged > SHOWN || !reader->warn)
        return;
    snprintf(text, sizeof text, "%s: %s", where, what);
    reader->warn(text);
}

static void count_gaps(const struct reader *reader, struct assay_book_gaps *gaps)
{
    int64_t missing = 0;
    for (int64_t i = reader->first_run; i < reader->book->n_runs; i++) {
        const struct assay_book_run *run = &reader->book->runs[i];
        if (run->info.groups > run->n)
            missing += run->info.groups - run->n;
    }
    gaps->missing += missing;
    gaps->lost += reader->damaged ? missing : 0;
}

enum assay_status assay_book_read(const char *name, struct assay_book *book,
                                  void (*warn)(const char *text), struct assay_book_gaps *gaps,
                                  struct assay_error *err)
{
    struct assay_results_source source;
    struct reader reader = {.book = book, .warn = warn, .first_run = book->n_runs};
    struct assay_records_visitor visitor = {
        .user = &reader, .run = add_run, .group = add_group, .damaged = on_damage};
    enum assay_status status = assay_results_find_records(name, &source, err);
    if (status != ASSAY_OK)
        return status;
    status = assay_records_read(source.format, source.path.data, &visitor, err);
    if (gaps)
        count_gaps(&reader, gaps);
    assay_results_source_fini(&source);
    return status;
}
