/* workload.h: the workloads of a user's benchmarks (assay_benchmark.h) as the harness knows things:
 * each is an op named "workload:BENCHMARK.WORKLOAD", whose tensors its setup declares and whose
 * reference is its verify, with two kernels: "kernel" calls run, and "reference", where there is a
 * verify that runs on the device, calls that. So they are measured, verified and watched as all
 * others are. */
#ifndef ASSAY_WORKLOAD_WORKLOAD_H
#define ASSAY_WORKLOAD_WORKLOAD_H

#include "device/device.h"
#include "kernel/kernel.h"

#define ASSAY_WORKLOAD_PREFIX "workload:"
#define ASSAY_WORKLOAD_KERNEL "kernel"
#define ASSAY_WORKLOAD_REFERENCE "reference"

/* Is this the name of such an op? */
bool assay_workload_is(const char *op);

/* Opens a shared object and adds its workloads, their kernels to `registry`. Where it has none that
 * is fine; *has_kernels tells whether it exports kernels of known ops (assay_plugin). It stays open
 * until the process ends. The error names what is wrong with which benchmark. */
enum assay_status assay_workload_add(assay_kernel_registry *registry, const char *path,
                                     bool *has_kernels, struct assay_error *err);

/* The op; NULL where no such workload was added. */
const struct assay_op *assay_workload_op(const char *name);

/* The device workloads compute on from now on. */
void assay_workload_use(assay_device *device);

/* What a workload's function returned last, where that was not 0: "run returned 700". */
const char *assay_workload_failure(void);

/* Those that were added, in order. */
struct assay_workload_info {
    const char *op, *benchmark, *workload, *device;
    bool verified;
};
int64_t assay_workload_count(void);
struct assay_workload_info assay_workload_at(int64_t index);

#endif
