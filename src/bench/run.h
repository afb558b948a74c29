/* run.h: a plan measured as one run. Locks the machine, describes it, keeps a journal or goes on
 * with an earlier one, has every group measured, and hands the records over. What becomes of them
 * is up to the hooks: the command line writes reports, the library keeps them. */
#ifndef ASSAY_BENCH_RUN_H
#define ASSAY_BENCH_RUN_H

#include "bench/journal.h"
#include "bench/machine_lock.h"
#include "trace/memory_profile.h"
#include "trace/profile.h"

/* Where a run comes from, as struct assay_run_info has it; NULL: does not apply. */
struct assay_run_origin {
    const char *command;         /* as typed */
    const char *output_dir;      /* of a configuration */
    bool trains, use_fast_accum; /* its mode is training, and what it says of sums */
    const char *repository, *commit, *files, *sha256, *implementations; /* of `assay kernel` */
    const char *pytorch, *pytorch_cuda; /* versions, where benchmarks in Python are run */
};

struct assay_run_request {
    const char *program; /* the assay program to start as worker; NULL: measure in this process */
    const char *resume;  /* an earlier run to go on with: its id, "last", or a path; NULL: none */
    bool models;         /* that must be one of models */
    bool lock, wait;     /* one run at a time on this machine; wait for another one's end */
    bool profile;        /* every group once it is measured; else those that ask for it */
    bool profile_memory; /* likewise */
    bool journal;        /* of a new run, so that it can be resumed */
    struct assay_run_origin origin;
};

/* What the caller hears. All but `group` are optional. */
struct assay_run_hooks {
    void *user;
    /* The plan is settled, and nothing has been measured or read back yet. */
    enum assay_status (*open)(void *user, struct assay_error *err);
    /* Before the first group, as late as possible: the first worker may have to measure the ceiling
     * that `info` tells of. */
    void (*begin)(void *user, const struct assay_run_info *info);
    /* A group that is finished, or that an earlier part of the run had finished. A failure ends the
     * run. */
    enum assay_status (*group)(void *user, const struct assay_record *records, int64_t n,
                               struct assay_error *err);
    /* What was noted of a variant in its profiled pass; what is made of it, for its record, goes to
     * `files`. NULL: nothing is profiled. */
    void (*profile)(void *user, const struct assay_group *group,
                    const struct assay_profile *profile, struct assay_profile_files *files);
    /* The same of what a variant allocates. */
    void (*memory)(void *user, const struct assay_group *group,
                   const struct assay_memory_profile *profile, struct assay_profile_files *files);
    void (*start)(void *user, const struct assay_group *group); /* is being measured */
    void (*note)(void *user, const char *text);                 /* from a worker */
    void (*warn)(void *user, const char *text);                 /* something is amiss */
    int (*stop)(void *user);                     /* 0 go on, 1 finish the sample, 2 at once */
    void (*idle)(void *user, const char *doing); /* a few times a second (supervisor.h) */
};

/* Begin with request, hooks and plan, all borrowed; the rest is zero. */
struct assay_run {
    const struct assay_run_request *request;
    const struct assay_run_hooks *hooks;
    const struct assay_plan *plan; /* a resumed run's is its own */

    /* To be read: */
    struct assay_run_info info;
    assay_journal *journal;     /* NULL: there is none */
    bool begun;                 /* hooks->begin was called, or would have been */
    bool something_wrong;       /* a variant has an outcome that is not fine */
    int64_t n_rows, n_left_out; /* all rows, and those skipped or unsupported */
    char why_left_out[256];     /* the first of them */
    int64_t damaged;            /* lines of the journal that were passed over */
    bool *done;                 /* by group; NULL until the plan is settled */

    /* For run.c alone: */
    struct assay_plan resumed;
    struct assay_machine_lock lock;
    bool locked;
    struct assay_error trouble; /* the first that a caller without a status had */
};

/* Locks the machine, then starts a new run or reads the earlier one back, its groups to
 * hooks->group. Close it whatever this returns. */
enum assay_status assay_run_open(struct assay_run *run, struct assay_error *err);
/* Instead of it: only reads the earlier run that `resume` names, its groups to hooks->group.
 * Neither the machine nor the journal is locked, and nothing is measured or written. */
enum assay_status assay_run_read(struct assay_run *run, struct assay_error *err);
/* Measures the groups that are left. ASSAY_ERR_INTERRUPTED where stop() said so. */
enum assay_status assay_run_measure(struct assay_run *run, struct assay_error *err);
/* Calls hooks->begin, once, where no group has done so. */
enum assay_status assay_run_begin(struct assay_run *run, struct assay_error *err);
/* Groups that are not done; all of them before the run was opened. */
int64_t assay_run_left(const struct assay_run *run);
void assay_run_close(struct assay_run *run);

/* A new run of this plan, on this machine, now. The memory ceiling is left out. */
void assay_run_describe(const struct assay_plan *plan, const struct assay_run_origin *origin,
                        struct assay_run_info *out);
/* Adds that ceiling. That nobody has measured it is no error; that it cannot be read is. */
enum assay_status assay_run_load_ceiling(struct assay_run_info *info, struct assay_error *err);

#endif
