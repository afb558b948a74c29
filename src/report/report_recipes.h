/* report_recipes.h: the table of a group whose variants differ in how the weights are stored. */
#ifndef ASSAY_REPORT_RECIPES_H
#define ASSAY_REPORT_RECIPES_H

#include "report/report_grid.h"

/* Does this group belong into such a table? */
bool assay_recipes_has(const struct assay_record *records, int64_t n);

/* Which state the columns are of that there is only one of: of those `shown`, hot if it was
 * measured, else cold. NULL if neither was. */
const struct assay_measurement *assay_recipes_state(const struct assay_record *record,
                                                    const bool *shown);

/* Is what record `i` notes of its kernel not yet said by one before it? */
bool assay_recipes_first_note(const struct assay_record *records, int64_t i);

/* Writes the group: heading, rows, what the marks mean and what kernels want known. `shown` are the
 * states that the run measures, `device` is the run's. Widths follow from what is in the group;
 * where that is too wide, columns go, the least important first. */
void assay_recipes_write(struct assay_page *page, const bool *shown, const char *device,
                         const struct assay_record *records, int64_t n);

/* Explains the columns, after the last group. Call it where legend.recipes is set. */
void assay_recipes_legend(struct assay_page *page, const bool *shown);

#endif
