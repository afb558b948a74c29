/* records_read.h: files that hold whole records, read back: journals, JSON, JSON lines,
 * pages. */
#ifndef ASSAY_COMPARE_RECORDS_READ_H
#define ASSAY_COMPARE_RECORDS_READ_H

#include "record/plan.h"
#include "record/record.h"

/* What is heard. A failure of the first two ends the reading. */
struct assay_records_visitor {
    void *user;
    /* Before the groups of each run; `plan` is NULL where the file does not have it. */
    enum assay_status (*run)(void *user, const struct assay_run_info *run,
                             const struct assay_plan *plan, struct assay_error *err);
    enum assay_status (*group)(void *user, const struct assay_record *records, int64_t n,
                               struct assay_error *err);
    /* A line of a journal that was passed over: where, and what is wrong with it. Optional. */
    void (*damaged)(void *user, const char *where, const char *what);
};

bool assay_records_in(const char *format);

enum assay_status assay_records_read(const char *format, const char *path,
                                     const struct assay_records_visitor *visitor,
                                     struct assay_error *err);
/* The same from memory, but for journals. `where` names the bytes in errors. */
enum assay_status assay_records_parse(const char *format, const char *bytes, size_t length,
                                      const char *where,
                                      const struct assay_records_visitor *visitor,
                                      struct assay_error *err);

/* A whole file, as far as one is read into memory. */
enum assay_status assay_records_load(const char *path, struct assay_text *out,
                                     struct assay_error *err);

#endif
