/* output.h: where a run's results go: standard output and any number of files, each in a format.
 *
 * A file is written beside its name as NAME.part and takes its name when it is complete, so that an
 * older result survives a run that does not finish. */
#ifndef ASSAY_CLI_OUTPUT_H
#define ASSAY_CLI_OUTPUT_H

#include "config/bench_config.h"
#include "report/report.h"

typedef struct assay_outputs assay_outputs;

/* Opens everything the options ask for; fails before anything is measured. */
enum assay_status assay_outputs_open(const struct assay_bench_config *config, assay_outputs **out,
                                     struct assay_error *err);
void assay_outputs_begin(assay_outputs *outputs, const struct assay_run_info *run);
void assay_outputs_group(assay_outputs *outputs, const struct assay_record *records, int64_t n);

/* Closes all without a trace: nothing takes its name. NULL is fine, here and below. */
void assay_outputs_cancel(assay_outputs *outputs);

/* Ends and closes all; the error names the first file that could not be written. */
enum assay_status assay_outputs_close(assay_outputs *outputs, struct assay_error *err);

#endif
