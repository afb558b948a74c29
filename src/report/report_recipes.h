/* report_recipes.h: the table of a group whose variants differ in how the weights are stored. */
#ifndef ASSAY_REPORT_RECIPES_H
#define ASSAY_REPORT_RECIPES_H

#include "report/report_row.h"

/* Does this group belong into such a table? */
bool assay_recipes_has(const struct assay_record *records, int64_t n);

/* Which state the columns are of that there is only one of: of those `shown`, hot if it was
 * measured, else cold. NULL if neither was. */
const struct assay_measurement *assay_recipes_state(const struct assay_record *record,
                                                    const bool *shown);

/* Is what record `i` notes of its kernel not yet said by one before it? */
bool assay_recipes_first_note(const struct assay_record *records, int64_t i);

/* How the tables of one run look. */
struct assay_recipes {
    const struct assay_sink *sink;
    const struct assay_report_style *style;
    bool shown[ASSAY_CACHE_STATES];
    const char *device; /* of the run */
    struct assay_legend *legend;
};

/* Writes the group: heading, rows, what the marks mean and what kernels want known. Widths follow
 * from what is in the group; where that is too wide, columns go, the least important first. Returns
 * how many lines it took. */
int assay_recipes_write(const struct assay_recipes *r, struct assay_line *line,
                        const struct assay_record *records, int64_t n);

/* Explains the columns, after the last group. Call it where legend->recipes is set. */
void assay_recipes_legend(const struct assay_recipes *r, struct assay_line *line);

#endif
