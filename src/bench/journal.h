/* journal.h: what a run has done, on disk, group by group, so that nothing finished is ever lost.
 *
 * One file a run, <data folder>/runs/<id>.jsonl, of JSON lines (docs/protocol.md): a head with the
 * run and its plan; then for each finished group its records and a line that says it is done. A
 * group without that line did not finish, and is measured again when the run is resumed. */
#ifndef ASSAY_BENCH_JOURNAL_H
#define ASSAY_BENCH_JOURNAL_H

#include "record/plan.h"
#include "record/record.h"

typedef struct assay_journal assay_journal;

/* A new journal, in the user's data folder. */
enum assay_status assay_journal_create(const struct assay_run_info *run,
                                       const struct assay_plan *plan, assay_journal **out,
                                       struct assay_error *err);

/* One group's records; on disk when this returns. Groups with an interrupted record are kept but
 * not marked as done. */
enum assay_status assay_journal_append(assay_journal *journal, int64_t group,
                                       const struct assay_record *records, int64_t n,
                                       struct assay_error *err);
const char *assay_journal_path(const assay_journal *journal);
void assay_journal_close(assay_journal *journal);

/* Reading one back. */
struct assay_journal_visitor {
    void *user;
    enum assay_status (*head)(void *user, const struct assay_run_info *run, struct assay_plan *plan,
                              struct assay_error *err); /* may take the plan */
    void (*group)(void *user, int64_t group, const struct assay_record *records, int64_t n);
};

/* Visits the head and every finished group. `size_good` (may be NULL) is where the last finished
 * line ends. A last line cut short is no error; any other damage is, with the line's number. */
enum assay_status assay_journal_read(const char *path, const struct assay_journal_visitor *visitor,
                                     int64_t *size_good, struct assay_error *err);

/* Opens an existing journal to go on with it, cutting off what lies behind `size_good`. */
enum assay_status assay_journal_reopen(const char *path, int64_t size_good, assay_journal **out,
                                       struct assay_error *err);

/* The file a user means by a run's id, "last", or a path. The error says which runs there are. */
enum assay_status assay_journal_find(const char *name, struct assay_text *path,
                                     struct assay_error *err);

#endif
