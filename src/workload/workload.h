/* workload.h: the workloads of a user's benchmarks (assay_benchmark.h) as the harness knows things:
 * each is an op named "workload:BENCHMARK.WORKLOAD", whose tensors its setup declares and whose
 * reference is its verify, with two kernels: "kernel" calls run, and "reference", where there is a
 * verify that runs on the device, calls that. So they are measured, verified and supervised like
 * all others. */
#ifndef ASSAY_WORKLOAD_WORKLOAD_H
#define ASSAY_WORKLOAD_WORKLOAD_H

#include "kernel/host.h"
#include "op/op_name.h"

#define ASSAY_WORKLOAD_KERNEL "kernel"
#define ASSAY_WORKLOAD_REFERENCE "reference"

/* Is this the name of such an op? */
bool assay_workload_is(const char *op);

/* The workloads of one worker. Their kernels are known to its registry: end that first. */
typedef struct assay_workloads assay_workloads;
assay_workloads *assay_workloads_create(void); /* NULL without memory */
void assay_workloads_destroy(assay_workloads *workloads);

/* Opens a shared object and adds its workloads, and their kernels to `registry`. It may have none;
 * *has_kernels tells whether it exports kernels of known ops (assay_plugin). The object stays open
 * until the process ends. The error names what is wrong with which benchmark. */
enum assay_status assay_workload_add(assay_workloads *workloads, assay_kernel_registry *registry,
                                     const char *path, bool *has_kernels, struct assay_error *err);

/* The op; NULL where no such workload was added. A verify that runs on the device does so on that
 * of the problem's host. */
const struct assay_op *assay_workload_op(const assay_workloads *workloads, const char *name);

/* What a function of the problem's workload returned last, where that was not 0: "run returned
 * 700"; empty otherwise. */
const char *assay_workload_failure(const struct assay_problem *problem);

/* Those that were added, in order. */
struct assay_workload_info {
    const char *op, *benchmark, *workload, *device;
    bool verified;
};
int64_t assay_workload_count(const assay_workloads *workloads);
struct assay_workload_info assay_workload_at(const assay_workloads *workloads, int64_t index);

#endif
