/* supervisor.h: the side that hands out groups and survives whatever kernels do.
 *
 * Groups go to a worker process one at a time. A kernel that crashes, hangs or runs out of memory
 * costs its own variant: the record says what happened, and the group is measured again without it
 * in a new worker. */
#ifndef ASSAY_BENCH_SUPERVISOR_H
#define ASSAY_BENCH_SUPERVISOR_H

#include "bench/group.h"

struct assay_supervisor_options {
    const char *program; /* the assay program to start as worker; NULL: run in this process */
    void *user;
    /* Is this group done already (in an earlier part of the run)? Optional. */
    bool (*skip)(void *user, int64_t group);
    void (*start)(void *user, int64_t group); /* optional */
    void (*note)(void *user, const char *text);
    /* All records of a group, in the order of its variants. A failure here ends the run. */
    enum assay_status (*group)(void *user, int64_t group, const struct assay_record *records,
                               int64_t n, struct assay_error *err);
    /* Optional: every group is profiled too, once it is measured, and this hears of each variant's
     * profile. Only groups that ask for it themselves where `profile_all` is false. What is made of
     * it, for the variant's record, goes to `files`. */
    void (*profile)(void *user, const struct assay_group *group,
                    const struct assay_profile *profile, struct assay_profile_files *files);
    /* The same of what it allocates. */
    void (*memory)(void *user, const struct assay_group *group,
                   const struct assay_memory_profile *profile, struct assay_profile_files *files);
    bool profile_all, memory_all;
    int (*stop)(void *user); /* 0 go on, 1 finish the sample, 2 at once */
    /* A few times a second; optional. `doing` is what takes the time where it is no kernel:
     * "importing mine.py"; or NULL. */
    void (*idle)(void *user, const char *doing);
};

/* Runs the plan's groups in order. ASSAY_ERR_INTERRUPTED when stop() said so. */
enum assay_status assay_supervise(const struct assay_plan *plan,
                                  const struct assay_supervisor_options *options,
                                  struct assay_error *err);

#endif
