/* report_chart.h: a run as a bar chart, an SVG image for a README: no scripts, no style sheets,
 * nothing from elsewhere, readable at 830 pixels.
 *
 * One bar for each comparison (report_chart_bars.h), with its interval. Right of the line at 1.0x
 * the kernel, or the variant, is faster. What has no figure is a hatched bar with the word. Light
 * and dark are two formats, so that a page can offer both. */
#ifndef ASSAY_REPORT_CHART_H
#define ASSAY_REPORT_CHART_H

#include "report/report_bouts.h"

/* Colours, "#rrggbb". Those of text stand out from the background by 4.5 to 1 or more. */
struct assay_chart_theme {
    const char *background, *border, *grid;
    const char *text, *muted, *faster, *slower, *failed; /* text, and bars */
    const char *even;                                    /* bars of no significant difference */
};

struct assay_chart {
    struct assay_sink sink;
    struct assay_bouts bouts;
};

enum { ASSAY_CHART_MOST_BARS = 60 };

void assay_chart_begin(struct assay_chart *chart, const struct assay_sink *sink,
                       const struct assay_run_info *run);
/* The other functions of a format; `state` is a struct assay_chart. */
void assay_chart_group(void *state, const struct assay_record *records, int64_t n);
void assay_chart_end(struct assay_chart *chart, const struct assay_chart_theme *theme);
void assay_chart_fini(void *state);

#endif
