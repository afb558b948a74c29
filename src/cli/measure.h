/* measure.h: has a plan measured: one run at a time on a machine, the journal, the worker,
 * progress, the results, and going on with an earlier run. */
#ifndef ASSAY_CLI_MEASURE_H
#define ASSAY_CLI_MEASURE_H

#include "cli/output.h"
#include "record/plan.h"

/* Of `assay kernel`: what was measured, as struct assay_run_info has it. NULLs elsewhere. */
struct assay_measuring_origin {
    const char *repository, *commit, *files, *sha256, *implementations;
};

struct assay_measuring {
    const struct assay_measure_config *config;
    struct assay_outputs_wanted outputs;
    int argc; /* as typed, without the program's name */
    char **argv;
    struct assay_measuring_origin origin;
    const char *again; /* what goes on with this run when --resume ID is added: "assay bench" */
    bool models;       /* a resumed run must be one of models */
    const char *output_dir; /* of a configuration; NULL elsewhere */
    /* Hears of every group, those of an earlier part of the run included. Optional. */
    void (*group)(const struct assay_record *records, int64_t n);
};

/* Measures the plan, which it takes over; with --resume the plan is the earlier run's, and `plan`
 * is empty. Says what goes wrong, and gives the exit code. */
int assay_measure(const struct assay_measuring *measuring, struct assay_plan *plan);

#endif
