/* group.h: one group from job to records: choose kernels, build operands, set up, verify,
 * measure, verify again. Runs in the process it is called in; worker.h puts it into a child. */
#ifndef ASSAY_BENCH_GROUP_H
#define ASSAY_BENCH_GROUP_H

#include "bench/watch.h"
#include "kernel/host.h"
#include "op/op.h"
#include "record/plan.h"
#include "record/record.h"
#include "runner/strangers.h"
#include "trace/memory_profile.h"
#include "trace/profile.h"

enum { ASSAY_MAX_VARIANTS = 256 }; /* every kernel of linear with every recipe is 242 */

/* What the caller hears while a group is measured. All but `record` are optional. */
struct assay_group_hooks {
    void *user;
    void (*note)(void *user, const char *text); /* the worker's own, for a person */
    /* Once, before any kernel runs: all variants, in their order. */
    void (*contenders)(void *user, const struct assay_contender *contenders, int64_t n);
    /* Before every call into a kernel (variant >= 0) or into the harness's own slow work (-1). */
    void (*step)(void *user, int64_t variant);
    bool (*stop)(void *user); /* asked beside the shared page */
    void (*record)(void *user, const struct assay_record *record);
    /* All records are there: what follows cannot touch them. Optional. */
    void (*measured)(void *user);
    /* Of a job with `profile`, what was noted of one variant. Optional. */
    void (*profile)(void *user, const struct assay_profile *profile);
    /* Of a job with `profile_memory`, likewise. Optional. */
    void (*memory)(void *user, const struct assay_memory_profile *profile);
};

/* Everything a group needs that outlives it. */
struct assay_bench {
    struct assay_host host;     /* travels in every problem */
    assay_workloads *workloads; /* NULL: none */
    assay_strangers *strangers; /* whose code runs in processes of its own; NULL: it runs in this */
    struct assay_watch *watch;  /* the page shared with a supervisor; NULL: there is none */
    struct assay_ceilings
        ceilings; /* the best this machine was seen to do; zero levels: not known */
};

/* Calls hooks->record once for each variant, or once for the group where it cannot be measured at
 * all. A failure return is the harness's own; kernels' failures are records. ASSAY_ERR_INTERRUPTED
 * when stop() said so: records then hold what there is. */
enum assay_status assay_group_run(struct assay_bench *bench, const struct assay_job *job,
                                  const struct assay_group_hooks *hooks, struct assay_error *err);

/* A record of this job with everything filled in that does not need measuring. Also for the
 * supervisor, whose worker did not live to write one. `op` may be NULL: a workload's is known to
 * its worker alone. */
void assay_group_record(const struct assay_job *job, const struct assay_op *op, int64_t variant,
                        const char *kernel, const char *implementation, const char *recipe,
                        struct assay_record *out);

#endif
