/* repeats.h: a plan that has each of its groups several times, whose results are shown as one row
 * for each variant: kept until all repeats of a group are there. */
#ifndef ASSAY_CLI_REPEATS_H
#define ASSAY_CLI_REPEATS_H

#include "record/plan.h"
#include "record/record.h"

typedef struct assay_repeats assay_repeats;

/* How often each group of the plan comes: it is its first groups over and over. */
int64_t assay_repeats_count(const struct assay_plan *plan);

/* NULL without memory. */
assay_repeats *assay_repeats_create(const struct assay_plan *plan);
void assay_repeats_destroy(assay_repeats *repeats);

/* Keeps one repeat of a group. False without memory. */
bool assay_repeats_add(assay_repeats *repeats, const struct assay_record *records, int64_t n);

/* The next group of which everything is there, or with `all` anything, merged: its rows, which stay
 * until the next call. How many; 0: there is none, -1: no memory. */
int64_t assay_repeats_next(assay_repeats *repeats, bool all, const struct assay_record **out);

#endif
