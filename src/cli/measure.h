/* measure.h: what all commands that measure share: a run (bench/run.h) with its results written,
 * progress shown, Ctrl-C heeded, and words on what went wrong. */
#ifndef ASSAY_CLI_MEASURE_H
#define ASSAY_CLI_MEASURE_H

#include "bench/run.h"
#include "cli/output.h"

struct assay_measuring {
    const struct assay_measure_config *config;
    struct assay_outputs_wanted outputs;
    int argc; /* as typed, without the program's name */
    char **argv;
    struct assay_run_origin origin; /* all but the command */
    const char *again; /* what goes on with this run when --resume ID is added: "assay bench" */
    const char *fewer; /* what to do about a plan that takes long; NULL: it is not announced */
    bool fell_back;    /* to the CPU, from the device that was asked for */
    bool repeats;      /* the plan may have each group several times */
    bool models;       /* a resumed run must be one of models */
    /* Hears of every group, those of an earlier part of the run included. Optional. */
    void (*group)(const struct assay_record *records, int64_t n);
};

/* Measures the plan, which it takes over; with --resume the plan is the earlier run's, and `plan`
 * is empty. Says what goes wrong, and gives the exit code. */
int assay_measure(const struct assay_measuring *measuring, struct assay_plan *plan);

#endif
