/* chart_roofs.h: the measured ceilings of a run as lines of a roofline: for each level that binds
 * the bandwidth, for arithmetic the rate, on each machine, device and number of threads. */
#ifndef ASSAY_REPORT_CHART_ROOFS_H
#define ASSAY_REPORT_CHART_ROOFS_H

#include "report/chart/chart_points.h"
#include "report/chart/chart_split.h"
#include "report/draw/draw_axis.h"

struct assay_roof {
    bool compute;           /* flat: `rate` is FLOP/s; else slanted: bytes/s */
    double rate, lo, hi;    /* the median of what its rows measured, and where nine in ten are */
    int64_t n;              /* rows */
    int64_t site;           /* of the roofs that belong together: machine, device, threads */
    int64_t dtype, recipe;  /* of compute, as values of their axes; recipe -1: any */
    struct assay_cell name; /* "memory 41.2 GB/s", "compute bf16 1.2 TFLOP/s" */
};

struct assay_roofs {
    struct assay_roof *roofs; /* slanted ones first */
    int64_t n;
};

/* What a record does for each byte; NaN where it has no operations or no bytes. */
double assay_chart_intensity(const struct assay_chart_point *point);

/* Start from zeroes; false without memory. */
bool assay_roofs_find(const struct assay_chart_axes *axes, const struct assay_chart_points *points,
                      struct assay_roofs *roofs);
void assay_roofs_fini(struct assay_roofs *roofs);

/* FLOP/s of the roof at an intensity. */
double assay_roof_at(const struct assay_roof *roof, double rate, double intensity);
/* Between which intensities it is the roof, where other roofs of its site hide the rest. */
struct assay_interval assay_roof_span(const struct assay_roofs *roofs, int64_t index,
                                      const struct assay_scale *x);

#endif
