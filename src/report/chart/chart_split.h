/* chart_split.h: which axes of a book are swept, and what tells apart records that an axis puts in
 * one place: series, and panels by the axes that a chart has no direction for. */
#ifndef ASSAY_REPORT_CHART_SPLIT_H
#define ASSAY_REPORT_CHART_SPLIT_H

#include "report/chart/chart_axes.h"
#include "report/report_cells.h"

/* ---- classes: records that are the same in some axes ---------------------------------------- */

struct assay_chart_class {
    int64_t first, n; /* a record of it, and how many there are */
    bool shown;
};

struct assay_chart_classes {
    int64_t axes[ASSAY_CHART_AXES_MOST];
    int64_t n_axes;
    int32_t *of;                       /* the class of each record */
    struct assay_chart_class *classes; /* as they came */
    int64_t n, n_shown;
};

/* By these axes; false without memory. Without axes there is one class. Start from zeroes. All are
 * shown. */
bool assay_chart_classes_find(const struct assay_chart_axes *axes, const int64_t *which, int64_t n,
                              struct assay_chart_classes *classes);
void assay_chart_classes_fini(struct assay_chart_classes *classes);
/* Of more than `most` those with the most records are shown, of equals the first. */
void assay_chart_classes_limit(struct assay_chart_classes *classes, int64_t most);
/* "dim 768 · f32": sizes with their names. "" without axes. Of variants "not run" where none was.
 */
struct assay_cell assay_chart_class_name(const struct assay_chart_axes *axes,
                                         const struct assay_chart_classes *classes, int64_t index);

/* What tells variants apart, as classes: the implementation and the recipe, as far as they vary. */
bool assay_chart_series_find(const struct assay_chart_axes *axes,
                             struct assay_chart_classes *series);

/* ---- the axes beside those of a chart ------------------------------------------------------- */

enum assay_chart_rest {
    /* A size is left out where it is in proportion to one of the chart's, as k of m = k = n. */
    ASSAY_CHART_REST_STRICT,
    /* … where it, or another axis, follows from one of the chart's in any way. */
    ASSAY_CHART_REST_LOOSE
};

/* Those that vary besides `used` and say more than the ones before them; the variants' only where
 * asked. Gives their number. */
int64_t assay_chart_rest_find(const struct assay_chart_axes *axes, const int64_t *used,
                              int64_t n_used, enum assay_chart_rest rest, bool variants,
                              int64_t out[ASSAY_CHART_AXES_MOST]);

/* "k and n change with m": sizes and others that the rule leaves to `leader`; "" where there are
 * none. */
struct assay_cell assay_chart_changing(const struct assay_chart_axes *axes, int64_t leader,
                                       enum assay_chart_rest rest);

/* "batch 32, dim 768": the sizes that all records have in common. */
struct assay_cell assay_chart_fixed(const struct assay_chart_axes *axes);

/* ---- swept axes ----------------------------------------------------------------------------- */

/* An axis is swept where records differ in it alone: sizes, and threads. */
struct assay_chart_sweeps {
    int64_t x, y;   /* the one with the most values in one sweep, and another beside it; -1: none */
    int64_t nx, ny; /* how many values */
    bool failed;    /* without memory */
};

struct assay_chart_sweeps assay_chart_sweeps_find(const struct assay_chart_axes *axes);

#endif
