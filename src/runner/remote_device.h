/* remote_device.h: a runner as a device: memory that is the runner's, which the judge reads and
 * writes from outside, and kernels that run there. So operands, checks and the engine are the same
 * for a stranger as for assay's own. */
#ifndef ASSAY_RUNNER_REMOTE_DEVICE_H
#define ASSAY_RUNNER_REMOTE_DEVICE_H

#include "runner/runner.h"

/* `here` is the judge's own device of the same kind, which tells of clocks and caches; a GPU's
 * memory is read and written through it. Both outlive the new one. */
enum assay_status assay_remote_device_create(assay_runner *runner, assay_device *here,
                                             assay_device **out, struct assay_error *err);
void assay_remote_device_destroy(assay_device *device);
/* Closes what this process sees of the runner's memory: before the runner that has it ends. */
void assay_remote_device_let_go(assay_device *device);

/* The sets of operands, which lie in memory of this device: what assay_work points to from now on.
 */
enum assay_status assay_remote_device_bind(assay_device *device, const struct assay_args *sets,
                                           int64_t n_sets, int32_t n_inputs, int32_t n_outputs,
                                           struct assay_error *err);

/* Of the last run: what it left changed in its process (enum assay_trace, with a sentence), how
 * many threads there are, and what it takes of memory where that was asked for. */
const struct assay_runner_reply *assay_remote_device_last(const assay_device *device);
/* The next run takes down what it takes of memory. */
void assay_remote_device_count_memory(assay_device *device);

/* What the first run of a guest took beside the run itself: its first call, in which frameworks
 * compile. By the judge's clock, in ns. */
double assay_remote_device_first_ns(const assay_device *device);

/* Are the pages of its operands as they were reserved? */
bool assay_remote_device_intact(assay_device *device, struct assay_error *why);

/* How much more of the judge's time its last runs took than they claimed, beyond what a command
 * takes by itself: the median share of what was claimed. 0: there were too few long enough. */
double assay_remote_device_excess(const assay_device *device);

/* What a guest (guest.h) does in the commands around its runs, of which no clock of its own tells:
 * ns for each run, beyond what it takes to copy the results, and as a multiple of what may be. The
 * median of its last runs; 0 where there were too few. */
struct assay_remote_outside {
    double ns, times;
};
struct assay_remote_outside assay_remote_device_outside(const assay_device *device);
/* What those commands have to do: copy all outputs of a set, and more where a script's author says
 * what is measured. */
void assay_remote_device_expect(assay_device *device, size_t output_bytes, bool script);

#endif
