/* run_common.h: what `assay run` and `assay ci` share: from their words to a plan, or to what was
 * asked instead. */
#ifndef ASSAY_CLI_RUN_COMMON_H
#define ASSAY_CLI_RUN_COMMON_H

#include "cli/command.h"
#include "cli/measure.h"
#include "config/run_plan.h"

/* A command of this kind. */
struct assay_run_command {
    const char *name;
    const struct assay_option_table *table;
    int64_t repeat; /* the default */
    bool lenient;   /* with files that have what nobody knows */
    /* Has the plan measured; it is empty where an earlier run is resumed, and then the
     * configuration may be empty too. Gives the exit code. */
    int (*measure)(const struct assay_run_options *options, const struct assay_run_config *config,
                   struct assay_plan *plan, int argc, char **argv);
};

/* Every key of a configuration, on standard output. */
int assay_print_config_reference(void);

/* Was a device asked for that is not here, and the plan made for the CPU? */
bool assay_run_fell_back(const struct assay_run_config *config, const struct assay_plan *plan);

/* What a long run is told. */
#define ASSAY_RUN_FEWER "--dry-run shows them, --limit N measures the first N"

int assay_run_command(const struct assay_run_command *command, int argc, char **argv);

#endif
