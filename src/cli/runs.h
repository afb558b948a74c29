/* runs.h: earlier runs, as the command line tells of them. */
#ifndef ASSAY_CLI_RUNS_H
#define ASSAY_CLI_RUNS_H

#include "record/record.h"

/* `assay list runs`: the journals in the data folder, newest first; `names`: only their ids. Gives
 * the exit code. */
int assay_list_runs(bool names);

/* "assay bench": the command that goes on with this run when --resume ID is added. */
void assay_run_again(const struct assay_run_info *run, char *out, size_t size);
/* The second word of what was typed: "bench"; "" where that is none of assay's commands. */
void assay_run_command_name(const struct assay_run_info *run, char *out, size_t size);

#endif
