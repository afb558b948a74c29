/* dry_run.h: what a plan would measure, what memory it takes and how long at the most, without
 * measuring anything. */
#ifndef ASSAY_CLI_DRY_RUN_H
#define ASSAY_CLI_DRY_RUN_H

#include "record/plan.h"

/* Appends the plan, whose groups come `repeat` times. */
enum assay_status assay_dry_run(const struct assay_plan *plan, int64_t repeat,
                                struct assay_text *out, struct assay_error *err);

/* On standard output; gives the exit code. */
int assay_dry_run_print(const struct assay_plan *plan, int64_t repeat);

/* Where it takes a while, says on standard error how many groups there are and how long they take;
 * `how` says what to do about it. */
void assay_dry_run_announce(const struct assay_plan *plan, int64_t repeat, const char *how);

/* The same as a warning, where the CPU in place of another device makes hours of it. */
void assay_dry_run_warn(const struct assay_plan *plan, int64_t repeat);

#endif
