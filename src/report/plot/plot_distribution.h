/* plot_distribution.h: the samples of one cache state as a histogram in a terminal. */
#ifndef ASSAY_REPORT_PLOT_DISTRIBUTION_H
#define ASSAY_REPORT_PLOT_DISTRIBUTION_H

#include "report/report_line.h"

/* Lines between the columns `indent` and `width`: `name` and what there is in words; bars; the
 * median with its interval on an axis, which bars hold disturbed samples, and times. Begins
 * wherever the line stands. Only where the measurement has samples. */
void assay_plot_distribution(const char *name, const struct assay_measurement *m,
                             struct assay_line *line, const struct assay_sink *sink, int indent,
                             int width);

#endif
