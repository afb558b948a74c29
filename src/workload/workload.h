/* workload.h: the workloads of a user's benchmarks (assay_benchmark.h) as the harness knows things:
 * each is an op named "workload:BENCHMARK.WORKLOAD", whose tensors its setup declares and whose
 * reference is its verify, with two kernels: "kernel" calls run, and "reference", where there is a
 * verify that runs on the device, calls that. So they are measured, verified and supervised like
 * all others. */
#ifndef ASSAY_WORKLOAD_WORKLOAD_H
#define ASSAY_WORKLOAD_WORKLOAD_H

#include "kernel/host.h"
#include <assay/assay_benchmark.h>
#include "op/op_name.h"

#define ASSAY_WORKLOAD_KERNEL "kernel"
#define ASSAY_WORKLOAD_REFERENCE "reference"

/* Is this the name of such an op? */
bool assay_workload_is(const char *op);

/* The workloads of one worker. Their kernels are known to its registry: end that first. */
typedef struct assay_workloads assay_workloads;
assay_workloads *assay_workloads_create(void); /* NULL without memory */
void assay_workloads_destroy(assay_workloads *workloads);

/* Opens a shared object and adds its workloads and its kernels of known ops (assay_plugin) to
 * `registry`. It stays open until the process ends. The error names what is wrong with it. */
enum assay_status assay_workload_load(assay_workloads *workloads, assay_kernel_registry *registry,
                                      const char *path, struct assay_error *err);

/* A workload as others may know it. */
struct assay_workload_found {
    char op[64], benchmark[64], name[64], device[8];
    uint64_t seed;
    bool verified;
    bool on_device; /* its verify runs there, and can be timed */
    bool together;  /* its inputs' values belong together: they are all of one seed, as they are */
};

/* The author's functions, called in another process. Outlives the workloads. */
struct assay_workload_author {
    void *user;
    enum assay_status (*declare)(void *user, const char *op, int32_t threads,
                                 struct assay_setup *out, struct assay_error *err);
    void (*fill)(void *user, const char *op, int32_t input, const struct assay_tensor *tensor,
                 void *data, uint64_t seed);
    enum assay_status (*verify)(void *user, const struct assay_problem *problem,
                                const void *const *in, int32_t output, double *out,
                                struct assay_error *err);
};

/* Adds one whose functions are called through `author`; its kernels have those of `proxy`. */
enum assay_status assay_workload_add_remote(assay_workloads *workloads,
                                            assay_kernel_registry *registry,
                                            const struct assay_workload_found *found,
                                            const struct assay_workload_author *author,
                                            const struct assay_kernel *proxy, const char *path,
                                            struct assay_error *err);

/* The op; NULL where no such workload was added. A verify that runs on the device does so on that
 * of the problem's host. */
const struct assay_op *assay_workload_op(const assay_workloads *workloads, const char *name);

/* Is the problem's op a workload whose author says how far an output may be off? */
bool assay_workload_has_tolerance(const struct assay_problem *problem);

/* The name of an input of the problem's workload, as its setup declared it. */
const char *assay_workload_input_name(const struct assay_problem *problem, int32_t input);

/* What a function of the problem's workload returned last, where that was not 0: "run returned
 * 700"; empty otherwise. */
const char *assay_workload_failure(const struct assay_problem *problem);

/* Those that were added, in order. */
int64_t assay_workload_count(const assay_workloads *workloads);
const struct assay_workload_found *assay_workload_at(const assay_workloads *workloads,
                                                     int64_t index);

/* ---- for the process that has the author's functions; `op` is one that was added there ---- */

/* What its setup declares; the two others go by what was declared last. */
enum assay_status assay_workload_declare(assay_workloads *workloads, const char *op,
                                         int32_t threads, struct assay_setup *out,
                                         struct assay_error *err);
/* By the author's fill, which it must have. */
void assay_workload_fill(assay_workloads *workloads, const char *op, int32_t input, void *data,
                         uint64_t seed);
/* An output of its verify, all of it, in double. */
enum assay_status assay_workload_verify(assay_workloads *workloads, const struct assay_host *host,
                                        const char *op, const void *const *in, int32_t output,
                                        int32_t threads, double *out, struct assay_error *err);

#endif
