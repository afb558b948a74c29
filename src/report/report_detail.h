/* report_detail.h: what `--verbose` adds under a row of the table. */
#ifndef ASSAY_REPORT_DETAIL_H
#define ASSAY_REPORT_DETAIL_H

#include "report/report_line.h"

/* A few indented lines, none wider than `width`: the kernel, each measured state, its memory,
 * the check. */
void assay_detail_write(const struct assay_record *record, struct assay_line *line,
                        const struct assay_sink *sink, int width);

/* What the processor's counters say, which is shown under a row where somebody asked for it. */
void assay_detail_counts(const struct assay_record *record, struct assay_line *line,
                         const struct assay_sink *sink, int width);

#endif
