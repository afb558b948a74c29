/* report_row.h: what the rows of every table for a terminal have in common. */
#ifndef ASSAY_REPORT_ROW_H
#define ASSAY_REPORT_ROW_H

#include "report/report_line.h"

/* What was shown, and must be explained under the table. */
struct assay_legend {
    bool fastest, spread, imprecise, disturbed, interrupted, ceiling, no_ceiling, flops, times,
        host;
    bool recipes, weight_rate, weights, levels, prepared, activations; /* of rows with a recipe */
    bool pareto, hot, cold, interval, same, versus; /* of models, eager and compiled */
    bool eager_ratio, memory, counts;               /* of presets */
    bool mean;                                      /* of all groups */
};

/* What the marks mean that rows of every table have. */
void assay_legend_marks(const struct assay_legend *legend, struct assay_flow *flow);

/* How many there were, and how they went. */
struct assay_tally {
    int64_t groups, rows, outcomes[ASSAY_OUTCOME_COUNT];
};

void assay_tally_add(struct assay_tally *tally, const struct assay_record *records, int64_t n);
/* "24 rows in 8 groups: 22 ok, 1 mismatch, 1 unsupported"; on as many lines as that takes. */
void assay_tally_write(const struct assay_tally *tally, struct assay_line *line,
                       const struct assay_sink *sink, int width);

/* "assay 0.1.0 · Intel(R) Xeon(R) Processor · 2 threads" */
void assay_row_machine(const struct assay_run_info *run, struct assay_line *line,
                       const struct assay_sink *sink, int width);

/* "!" for a figure that is not as precise as was asked, "~" for a disturbed one, or "". */
const char *assay_row_mark(const struct assay_measurement *m, struct assay_legend *legend);

enum assay_line_ink assay_row_speedup_ink(const struct assay_record *record,
                                          const struct assay_measurement *m);

/* Instead of figures, up to column `width` of this line and of as many more as it takes: why there
 * are none, or that a variant was checked and not timed. The mark before the text takes `mark`
 * columns. How many lines were flushed before the last one, which is not. */
int assay_row_reason(struct assay_line *line, const struct assay_sink *sink,
                     const struct assay_record *record, int mark, int width);
int assay_row_check(struct assay_line *line, const struct assay_sink *sink,
                    const struct assay_record *record, int mark, int width);

/* Lines below a group's rows, where its figures are not what they seem: the machine is not at its
 * best, or most of a variant's samples were disturbed. How many lines. */
int assay_row_warnings(const struct assay_record *records, int64_t n, struct assay_line *line,
                       const struct assay_sink *sink, int width);

#endif
