/* chart_speedups.h: which bars of speedup a book has, and what they say.
 *
 * Of `assay kernel` one for each workload, and of an op that assay knows one for each rival: how
 * the repository's kernel compares with it. Of all other commands one for each variant of each
 * group: how it compares with the group's baseline. Hot ones come before cold ones. */
#ifndef ASSAY_REPORT_CHART_SPEEDUPS_H
#define ASSAY_REPORT_CHART_SPEEDUPS_H

#include "report/chart/chart_rows.h"

enum assay_speedup_kind {
    ASSAY_SPEEDUP_ALONE,    /* a time that is compared with none */
    ASSAY_SPEEDUP_BASELINE, /* the one that all others are compared with */
    ASSAY_SPEEDUP_COMPARED,
    ASSAY_SPEEDUP_TROUBLE, /* no figure, and why */
};

struct assay_speedup_bar {
    enum assay_speedup_kind kind;
    struct assay_ratio ratio; /* where compared; > 1: faster */
    enum assay_ink trouble;   /* of the hatched bar */
};

struct assay_speedups {
    struct assay_chart_rows rows;
    struct assay_speedup_bar bars[ASSAY_CHART_MOST_ROWS]; /* of the rows */
    /* Of all rows, also of those that are left out. */
    int64_t verdicts[ASSAY_VERDICTS], troubles;
    bool kernels, variants; /* some are of `assay kernel`, some are not */
};

/* Start from zeroes. */
void assay_speedups_find(const struct assay_book *book, const struct assay_chart_request *request,
                         struct assay_speedups *out);

/* Was it measured, in a state that is asked for? */
bool assay_speedups_timed(const struct assay_record *record,
                          const struct assay_chart_request *request, enum assay_cache_state state);

#endif
