/* host.h: what a kernel of assay's own may ask of the worker that runs it. It travels in
 * `assay_problem.host`, so that two workers in one process know nothing of each other. */
#ifndef ASSAY_KERNEL_HOST_H
#define ASSAY_KERNEL_HOST_H

#include "device/device.h"
#include "kernel/kernel.h"
#include "trace/memory_log.h"
#include "trace/recorder.h"

#include <stdbool.h>

/* Lives as long as the worker. */
struct assay_host {
    assay_device *device;
    assay_kernel_registry *registry;
    bool autotune; /* time the ways there are to do a thing, and keep the fastest */
    /* Can a kernel that runs in another process take this problem? NULL: there are none. */
    enum assay_status (*can_run)(void *strangers, const struct assay_kernel *kernel,
                                 const struct assay_problem *problem, struct assay_error *why);
    void *strangers;
    struct assay_recorder *recorder; /* NULL but in a profiled pass, where nothing is timed */
    struct assay_memory_log *memory; /* NULL but in a memory pass, likewise */
};

/* Did the user give --autotune? No, where the problem comes from nowhere. */
static inline bool assay_host_autotunes(const struct assay_problem *problem)
{
    return problem->host && problem->host->autotune;
}

/* Who notes what is done, in a profiled pass; NULL else. Asked once for each `run`. */
static inline struct assay_recorder *assay_host_recorder(const struct assay_host *host)
{
    return host ? host->recorder : NULL;
}

/* Who is told for whom memory is allocated, in a memory pass; NULL else. */
static inline struct assay_memory_log *assay_host_memory(const struct assay_host *host)
{
    return host ? host->memory : NULL;
}

#endif
