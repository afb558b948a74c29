/* report_cells.h: the figures of a record as short texts, the same in every report for people. */
#ifndef ASSAY_REPORT_CELLS_H
#define ASSAY_REPORT_CELLS_H

#include "report/report.h"

struct assay_cell {
    char text[128]; /* UTF-8 */
};

/* Appends to the text, as far as it fits. */
void assay_cell_add(struct assay_cell *cell, const char *fmt, ...) ASSAY_PRINTF(2, 3);

/* "-" stands for what is not known. */
struct assay_cell assay_cell_time(double ns);                           /* "2.31 ms" */
struct assay_cell assay_cell_spread(const struct assay_measurement *m); /* "0.4%"; "-" for n < 6 */
struct assay_cell assay_cell_efficiency(const struct assay_measurement *m); /* "71%" */
/* "43.6" (GB/s), or "1.62TF" where compute binds; with units "43.6 GB/s", "1.62 TFLOP/s". */
struct assay_cell assay_cell_rate(const struct assay_measurement *m, bool units);
/* The same for a variant with weights: where no ceiling is known FLOP/s, and bytes are those of the
 * weights as stored. Always with units: "43.6 GB/s", "1.62 TF/s". */
struct assay_cell assay_cell_weight_rate(const struct assay_record *record,
                                         const struct assay_measurement *m);
struct assay_cell assay_cell_megabytes(double bytes); /* "33.6", of 10^6; "-" for 0 */
struct assay_cell assay_cell_level(double db);        /* "31.5", "exact" where infinite */
struct assay_cell assay_cell_share(double fraction);  /* "12%" */
/* "0.0263", "1.235", "123.4": without the unit, at most 7 columns. */
struct assay_cell assay_cell_milliseconds(double ns);
/* A ratio with its 95 % interval: "1.62x [1.58 1.66]", "1.31x slower [1.28 1.35]"; "same within
 * 0.7%" where there is no significant difference, "unclear (n=8)" where there were too few rounds
 * to see one of 10 %. Rounded outwards, so that it never says less than is known; where it does not
 * fit into `width` columns, what follows the first word or two is left out. */
struct assay_cell assay_cell_interval(const struct assay_ratio *ratio, int width, bool ascii);
/* The same of a record's state: "baseline", or its ratio. */
struct assay_cell assay_cell_speedup(const struct assay_record *record,
                                     const struct assay_measurement *m, int width, bool ascii);
/* Of a significant ratio: how many times as fast, or as slow, "1.62x", and the interval the same
 * way round, "[1.58 1.66]", empty where it is not known. */
struct assay_cell assay_cell_times(const struct assay_ratio *ratio, struct assay_cell *interval);
/* Are there enough samples for a 95 % interval of the median? */
bool assay_cell_has_interval(const struct assay_summary *time);

/* What is measured: "linear"; of a model or a workload its name, "ln_linear_gelu", "Silu.large". */
const char *assay_cell_subject(const struct assay_record *record);
bool assay_cell_is_model(const struct assay_record *record);
bool assay_cell_is_workload(const struct assay_record *record);
struct assay_cell assay_cell_shape(const struct assay_record *record); /* "[32, 512, 768]", or "" */
struct assay_cell assay_cell_axes(const struct assay_record *record);  /* "m=1 k=4096 n=4096" */
/* Which group of an op: "f32 4x512x1024", with its label behind where it has one. */
struct assay_cell assay_cell_problem(const struct assay_record *record);
struct assay_cell assay_cell_outcome(enum assay_outcome outcome); /* "out of memory" */

/* Which of a group's it is: the implementation, or, where that has several kernels among `records`
 * with the same recipe, the kernel. */
const char *assay_cell_variant(const struct assay_record *record,
                               const struct assay_record *records, int64_t n);
/* The same with its recipe: "native", "int8wo native", "int8wo compiled". */
struct assay_cell assay_cell_name(const struct assay_record *record,
                                  const struct assay_record *records, int64_t n);

/* More than one sample in twenty was disturbed: a context switch, a changed clock, a slow matrix
 * unit, or a sample so short that the harness can hardly see it. */
bool assay_cell_disturbed(const struct assay_measurement *m);
/* What tables say of a ratio. */
enum assay_verdict {
    ASSAY_VERDICT_FASTER,
    ASSAY_VERDICT_SLOWER,
    ASSAY_VERDICT_SAME,    /* no significant difference, and one of 10 % would have been seen */
    ASSAY_VERDICT_UNCLEAR, /* it would not */
    ASSAY_VERDICTS
};
enum assay_verdict assay_cell_verdict(const struct assay_ratio *ratio);
/* Which way a significant ratio goes: 1 faster than the baseline, -1 slower, 0 neither. */
int assay_cell_direction(const struct assay_measurement *m);
int assay_cell_ratio_direction(const struct assay_ratio *ratio);
/* Do speedups refer to this one? Each executor of a model has a baseline of its own. */
bool assay_cell_is_baseline(const struct assay_record *record);

#endif
