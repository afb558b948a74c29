/* chart_sweep.h: one panel of the chart "sweep": lines of a figure along a numeric axis. */
#ifndef ASSAY_REPORT_CHART_SWEEP_H
#define ASSAY_REPORT_CHART_SWEEP_H

#include "report/chart/chart_points.h"
#include "report/draw/draw_axis.h"

/* A point that is drawn. Marks are sorted by panel, series and x. */
struct assay_sweep_mark {
    int64_t panel, series; /* the series among those that are drawn */
    double x;
    const struct assay_chart_point *point;
};

struct assay_sweep_panel {
    const struct assay_sweep_mark *marks;
    int64_t n;
    enum assay_chart_figure figure;
    struct assay_scale x_scale, y_scale; /* in the plot's pixels */
    struct assay_axis x, y;
    struct assay_plot plot;
    bool bands;                        /* intervals as bands, not as whiskers */
    bool markers;                      /* else lines only */
    struct assay_chart_reader *reader; /* for tips; NULL: none */
};

/* What a scale of the panel's figure must show: values, their intervals, ceilings. */
void assay_sweep_see(const struct assay_sweep_panel *panel, struct assay_scale *y);
void assay_sweep_draw(struct assay_drawing *d, const struct assay_sweep_panel *panel);

/* Do the variants of one problem have ceilings of their own, because they do not move the same
 * bytes? Then each series has its line. */
bool assay_sweep_own_ceilings(const struct assay_sweep_mark *marks, int64_t n,
                              enum assay_chart_figure figure);

/* Names at the right ends of lines, where they stand apart; false, and nothing is drawn, where they
 * do not. `names` are those of the series; there are `most` pixels right of the plot, of which the
 * names leave ASSAY_SWEEP_KEY. With `d` NULL it only tries. */
enum { ASSAY_SWEEP_KEY = 22 };
bool assay_sweep_label(struct assay_drawing *d, const struct assay_sweep_panel *panel,
                       const struct assay_cell *names, double most);

#endif
