/* report_chart_bars.h: which bars a chart has, and what they say.
 *
 * Of `assay kernel` one for each workload, and of an op that assay knows one for each rival: how
 * the repository's kernel compares with it. Of all other commands one for each variant of each
 * group: how it compares with the group's baseline. Hot ones come before cold ones. */
#ifndef ASSAY_REPORT_CHART_BARS_H
#define ASSAY_REPORT_CHART_BARS_H

#include "report/report_bouts.h"

struct assay_chart_bar {
    struct assay_cell heading;          /* of the bars it stands among */
    struct assay_cell name, label;      /* in full, and beside the bar */
    struct assay_cell figure;           /* "1.72x faster", "same within 0.8%", "mismatch" */
    struct assay_cell interval;         /* "[1.70 1.75]", behind the figure; or empty */
    struct assay_cell below;            /* a second line: "6.52 ms vs 11.2 ms" */
    const struct assay_record *trouble; /* why there is no figure; NULL: there is one */
    bool compared, baseline;
    struct assay_ratio ratio; /* where compared; > 1: faster */
};

struct assay_chart_walk {
    struct assay_bout bout; /* of `assay kernel` */
    const struct assay_record *rival;
    int64_t group, record; /* of other commands */
    enum assay_cache_state state;
    bool begun;
};

/* Is it a run of `assay kernel`? */
bool assay_chart_is_kernels(const struct assay_bouts *bouts);
/* Walks through all bars. Start from {0}; false after the last. */
bool assay_chart_next(const struct assay_bouts *bouts, struct assay_chart_walk *walk,
                      struct assay_chart_bar *bar);

#endif
