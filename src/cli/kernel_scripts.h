/* kernel_scripts.h: the benchmarks of a repository that are Python. */
#ifndef ASSAY_CLI_KERNEL_SCRIPTS_H
#define ASSAY_CLI_KERNEL_SCRIPTS_H

#include "cli/kernel_objects.h"

/* Chooses the device of the repository's scripts, asks their interpreter for its PyTorch, and has
 * it compile what build.toml names. What came of it is in `k->scripts`; failures here are those of
 * asking: ASSAY_ERR_INTERRUPTED, ASSAY_ERR_NOMEM. */
enum assay_status assay_kernel_scripts_prepare(const struct assay_kernel_options *options,
                                               struct assay_kernel_objects *k,
                                               struct assay_error *err);

/* The workloads of one script, on the device that was chosen. */
enum assay_status assay_kernel_script_read(const struct assay_kernel_options *options,
                                           const struct assay_kernel_objects *k, const char *path,
                                           struct assay_contents *out, struct assay_error *err);

#endif
