/* report_pairs.h: a group by recipe: for each recipe the eager and the
 * compiled model side by side. Variants that are neither (kernels of an op) stand alone. */
#ifndef ASSAY_REPORT_PAIRS_H
#define ASSAY_REPORT_PAIRS_H

#include "report/report_cells.h"

struct assay_pair {
    const struct assay_record *eager, *compiled; /* NULL: not in the group; never both */
    const struct assay_record *group;            /* all records of it, n of them */
    int64_t n;
};

enum assay_pair_order {
    ASSAY_PAIRS_AS_LISTED,
    ASSAY_PAIRS_BY_TIME, /* those without a time last */
};

/* Walks through a group. Start from {0}; false after the last. */
bool assay_pair_next(const struct assay_record *records, int64_t n, enum assay_pair_order order,
                     struct assay_pair *pair);

/* Either of the two, for what both have in common. */
const struct assay_record *assay_pair_any(const struct assay_pair *pair);
/* The one that stands for the recipe: the compiled model where it was to be measured. */
const struct assay_record *assay_pair_main(const struct assay_pair *pair);
/* The same, but the eager model where the compiled one has no figures. */
const struct assay_record *assay_pair_shown(const struct assay_pair *pair);
/* One that is not ok, the worse of the two; NULL where there is none. */
const struct assay_record *assay_pair_trouble(const struct assay_pair *pair);

bool assay_pair_is_pareto(const struct assay_pair *pair);
/* "int8wo"; with the implementation where that is not an executor's: "int8wo native"; or with the
 * kernel, see assay_cell_variant(). */
struct assay_cell assay_pair_label(const struct assay_pair *pair);

/* Its figures, hot where measured, else cold; NULL where it is NULL, not right or not timed. */
const struct assay_measurement *assay_pair_figures(const struct assay_record *record);
/* The variant that its ratio refers to; NULL where there is none. */
const struct assay_record *assay_pair_baseline(const struct assay_record *records, int64_t n,
                                               const struct assay_record *record);
bool assay_pair_has_compiled(const struct assay_record *records, int64_t n);

#endif
