/* dry_run.h: what a plan would measure, what memory it takes and how long at the most, without
 * measuring anything. */
#ifndef ASSAY_CLI_DRY_RUN_H
#define ASSAY_CLI_DRY_RUN_H

#include "record/plan.h"

/* Appends the plan of a configuration, whose groups come `repeat` times. */
enum assay_status assay_dry_run(const struct assay_plan *plan, int64_t repeat,
                                struct assay_text *out, struct assay_error *err);

#endif
