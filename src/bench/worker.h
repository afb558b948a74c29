/* worker.h: the side that runs kernels. A child of the supervisor: it takes jobs and answers with
 * events, each a message of wire.h (docs/protocol.md). */
#ifndef ASSAY_BENCH_WORKER_H
#define ASSAY_BENCH_WORKER_H

#include "bench/group.h"

typedef struct assay_worker assay_worker;

/* `watch` is borrowed. `isolate`: plug-ins run in runners, which only assay's own program can
 * start; else in this process. */
assay_worker *assay_worker_create(struct assay_watch *watch, bool isolate);
void assay_worker_destroy(assay_worker *worker);

/* One job, in this process. Opens the device, loads plug-ins and ceilings when they are first
 * needed. */
enum assay_status assay_worker_run(assay_worker *worker, const struct assay_job *job,
                                   const struct assay_group_hooks *hooks, struct assay_error *err);

/* The child's whole life: jobs from one descriptor until it ends, events to the other, the shared
 * page on the third. Returns the process's exit code: ASSAY_WORKER_NO_PAGE where there is no memory
 * for that page, on which it would otherwise say so. */
enum { ASSAY_WORKER_NO_PAGE = 112 };
int assay_worker_main(int job_fd, int event_fd, int watch_fd);

#endif
