/* sandbox_parts.h: the parts of sandbox.h, for each other. */
#ifndef ASSAY_RUNNER_SANDBOX_PARTS_H
#define ASSAY_RUNNER_SANDBOX_PARTS_H

#include "base/sanitizer.h"
#include "runner/sandbox.h"

/* Gives this process networks, IPC and mounts of its own, where that is allowed. */
void assay_namespaces_enter(void);

/* Leaves the process only the capabilities that it may keep over exec. */
void assay_capabilities_drop(const struct assay_confinement *c);

/* What came of Landlock: its version, 0 where the kernel has none; threads that it did not reach.
 */
struct assay_landlock {
    int abi, threads_missed;
};
enum assay_status assay_landlock_restrict(const struct assay_confinement *c,
                                          struct assay_landlock *got, struct assay_error *err);

/* Calls landlock_restrict_self in every thread; returns in how many it was not possible, or -1 and
 * errno when it failed in this one. */
int assay_landlock_restrict_threads(int ruleset);

/* 0, or the errno that says why system calls are not filtered. */
int assay_seccomp_filter(const struct assay_confinement *c, pid_t judge);

#endif
