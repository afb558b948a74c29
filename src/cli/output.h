/* output.h: where a run's results go: standard output and any number of files, each in a format.
 *
 * A file is written beside its name, as NAME.PID-TIME.part, and takes its name when it is complete
 * and on the disk, so that an older result survives a run that does not finish. */
#ifndef ASSAY_CLI_OUTPUT_H
#define ASSAY_CLI_OUTPUT_H

#include "config/measure_config.h"
#include "report/report.h"

typedef struct assay_outputs assay_outputs;

/* A file a command writes whether --output names it or not. */
struct assay_output_file {
    const char *format, *path;
    bool append;      /* behind what others have written */
    bool make_folder; /* and those above it */
};

/* What a command does where the options leave it the choice. */
struct assay_outputs_wanted {
    const char *table;       /* the format of standard output */
    const char *file_format; /* of files of --output; NULL: by their extension */
    const char *json_format; /* of those that end in .json, by their extension; NULL: json */
    struct assay_output_file files[2];
    int64_t n_files;
    bool tell; /* on standard error, which files were written; not with --quiet */
};

/* How a report for people looks on this descriptor. */
struct assay_report_style assay_output_style(const struct assay_measure_config *config, int file);

/* Opens everything the options and the command ask for; fails before anything is measured. */
enum assay_status assay_outputs_open(const struct assay_measure_config *config,
                                     const struct assay_outputs_wanted *wanted, assay_outputs **out,
                                     struct assay_error *err);
/* The plan has each group several times: formats for people get them as one. */
enum assay_status assay_outputs_expect(assay_outputs *outputs, const struct assay_plan *plan,
                                       struct assay_error *err);
void assay_outputs_begin(assay_outputs *outputs, const struct assay_run_info *run);
void assay_outputs_group(assay_outputs *outputs, const struct assay_record *records, int64_t n);

/* Closes all without a trace: nothing takes its name. NULL is fine, here and below. */
void assay_outputs_cancel(assay_outputs *outputs);

/* Not all of the run is here: no file is to replace a longer one. */
void assay_outputs_keep_longer(assay_outputs *outputs);

/* Ends and closes all; the error names the first file that could not be written. */
enum assay_status assay_outputs_close(assay_outputs *outputs, struct assay_error *err);

#endif
