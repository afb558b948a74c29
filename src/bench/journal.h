/* journal.h: what a run has done, on disk, group by group, so that nothing finished is ever lost.
 *
 * One file a run, <data folder>/runs/<id>.jsonl, of framed JSON lines (base/frame.h,
 * docs/protocol.md): a head with the run and its plan; then for each finished group its records and
 * a line that says how many there are and that it is done. A group without that line did not
 * finish, and is measured again when the run is resumed; so is one of which a line was damaged.
 * Lines of format 1 have no frame; such journals are read, and continued in their own format. */
#ifndef ASSAY_BENCH_JOURNAL_H
#define ASSAY_BENCH_JOURNAL_H

#include "record/plan.h"
#include "record/record.h"

#define ASSAY_JOURNAL_VERSION 2

typedef struct assay_journal assay_journal;

/* A new journal, in the user's data folder. It is locked until it is closed. */
enum assay_status assay_journal_create(const struct assay_run_info *run,
                                       const struct assay_plan *plan, assay_journal **out,
                                       struct assay_error *err);

/* One group's records; on disk when this returns. Groups with a record that was interrupted or
 * killed are kept but not marked as done. */
enum assay_status assay_journal_append(assay_journal *journal, int64_t group,
                                       const struct assay_record *records, int64_t n,
                                       struct assay_error *err);
const char *assay_journal_path(const assay_journal *journal);
void assay_journal_close(assay_journal *journal);

/* Does this record let its group count as done? */
bool assay_journal_is_final(const struct assay_record *record);

/* Reading one back. */
struct assay_journal_visitor {
    void *user;
    enum assay_status (*head)(void *user, const struct assay_run_info *run, struct assay_plan *plan,
                              struct assay_error *err); /* may take the plan */
    void (*group)(void *user, int64_t group, const struct assay_record *records, int64_t n);
    /* A line that was passed over: "FILE:LINE" and what is wrong with it. Optional. */
    void (*damaged)(void *user, const char *where, const char *what);
};

/* How far a journal goes. */
struct assay_journal_end {
    int version;
    int64_t size;    /* what stays of the file when the run goes on */
    int64_t next;    /* the number of the next line */
    int64_t damaged; /* how often `damaged` was called */
};

/* Visits the head and every finished group, each once. A damaged line costs that line and the group
 * it belongs to; only a damaged head is an error. A last line cut short is what a killed run
 * leaves, and no damage. `end` may be NULL. Memory does not grow with the number of lines, nor with
 * the length of one that assay did not write. */
enum assay_status assay_journal_read(const char *path, const struct assay_journal_visitor *visitor,
                                     struct assay_journal_end *end, struct assay_error *err);

/* Opens and locks an existing journal, so that it can be read and continued and nobody else does so
 * at the same time. ASSAY_UNSUPPORTED where somebody does; the message says who. */
enum assay_status assay_journal_open(const char *path, assay_journal **out,
                                     struct assay_error *err);
/* Appends from here on, after what assay_journal_read said is to stay. */
enum assay_status assay_journal_go_on(assay_journal *journal, const struct assay_journal_end *end,
                                      struct assay_error *err);

/* The folder journals are in; it need not exist. Appended to `out`. */
enum assay_status assay_journal_folder(struct assay_text *out, struct assay_error *err);

/* What is in it: ids, newest first, and names of other files, which no run has written. */
struct assay_journal_names {
    struct assay_strings ids, foreign;
};
enum assay_status assay_journal_list(struct assay_journal_names *out, struct assay_error *err);
void assay_journal_names_fini(struct assay_journal_names *names);

/* The file a user means by a run's id, the beginning of one, "last", "last~1" (the one before it),
 * or a path. The error says which runs there are. */
enum assay_status assay_journal_find(const char *name, struct assay_text *path,
                                     struct assay_error *err);

#endif
