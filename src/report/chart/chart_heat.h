/* chart_heat.h: the cells of the chart "heat": what each says, its colour, and the legend of the
 * colours. */
#ifndef ASSAY_REPORT_CHART_HEAT_H
#define ASSAY_REPORT_CHART_HEAT_H

#include "report/chart/chart_points.h"
#include "report/chart/chart_split.h"
#include "report/draw/draw_axis.h"

enum assay_heat_kind {
    ASSAY_HEAT_NOTHING, /* nothing was measured there */
    ASSAY_HEAT_VALUE,
    ASSAY_HEAT_BASELINE, /* of speedups */
    ASSAY_HEAT_UNKNOWN,  /* timed, but without the figure */
    ASSAY_HEAT_FAILED,
    ASSAY_HEAT_WON, /* of winners: one variant alone is fastest */
    ASSAY_HEAT_TIED,
    ASSAY_HEAT_UNCLEAR,
    ASSAY_HEAT_ALONE /* a single variant has figures */
};

struct assay_heat_cell {
    enum assay_heat_kind kind;
    const struct assay_chart_point *point; /* for its row and tip; of winners one that is fastest */
    int64_t rows;                          /* how many share the cell: the first is shown */
    int64_t series;                        /* of what won, among those of the book */
    double value;
    bool clear; /* significant, and as exact as was asked */
};

/* What all cells of a chart have in common. */
struct assay_heat_look {
    enum assay_chart_figure figure;
    struct assay_scale scale;        /* from the least to the greatest colour */
    bool named;                      /* of winners: cells have room for names */
    const struct assay_cell *series; /* names of all series of the book */
    struct assay_chart_reader *reader;
    bool tips;
};

/* The scale for these values; begin with assay_heat_scale_init, and see all of them. */
void assay_heat_scale_init(struct assay_scale *scale, enum assay_chart_figure figure);
void assay_heat_scale_round(struct assay_scale *scale, enum assay_chart_figure figure);

/* Counts this point in. Points of one cell come one after the other. Winners are judged of whole
 * groups, so that they take the group's records from the reader; false without memory. */
bool assay_heat_add(struct assay_heat_cell *cell, const struct assay_heat_look *look,
                    const struct assay_chart_classes *series,
                    const struct assay_chart_point *point);

/* "1.62x", "71%", "2.31 ms", "native", "mismatch". */
struct assay_cell assay_heat_text(const struct assay_heat_cell *cell,
                                  const struct assay_heat_look *look);
void assay_heat_draw(struct assay_drawing *d, const struct assay_heat_look *look,
                     const struct assay_heat_cell *cell, double x, double y, double width,
                     double height);

/* What is seen in the cells, and so must be explained. */
struct assay_heat_seen {
    bool kinds[ASSAY_HEAT_ALONE + 1];
    bool striped;
    bool *series; /* that won somewhere, as many as the book has */
    int64_t n_series;
};
/* Gives the y below. */
double assay_heat_legend(struct assay_drawing *d, const struct assay_heat_look *look,
                         const struct assay_heat_seen *seen, double y);

#endif
