/* chart_rows.h: charts of rows, one below the other: a label, a bar, and figures behind it.
 *
 * A chart adds its rows group by group and keeps beside each what its bar shows. There is no end
 * to runs, but to images: so many rows are drawn, of whole groups, and the number of others is
 * said. */
#ifndef ASSAY_REPORT_CHART_ROWS_H
#define ASSAY_REPORT_CHART_ROWS_H

#include "report/chart/chart.h"
#include "report/draw/draw_axis.h"
#include "report/report_cells.h"

enum {
    ASSAY_CHART_MOST_ROWS = 60,
    ASSAY_CHART_BAR = 14, /* how thick a bar is, in pixels; two share it and the gap below */
};

struct assay_chart_row {
    struct assay_cell heading; /* of the rows it stands among */
    struct assay_cell label;   /* beside the bar */
    struct assay_cell figure;  /* behind it: "1.72x faster", "mismatch" */
    struct assay_cell aside;   /* … behind that, "[1.70 1.75]", or empty */
    struct assay_cell below;   /* … a second line: "6.52 ms vs 11.2 ms" */
    enum assay_ink ink;        /* of the figure */
    char more[320];            /* what only its tip says; the tip has all of the above, uncut */
    int64_t record;            /* which of the book's it stands for, from 1; 0: none alone */
    double most;               /* how long its bar is, where lengths are compared; see below */
};

struct assay_chart_rows {
    struct assay_chart_row rows[ASSAY_CHART_MOST_ROWS];
    int64_t n;
    int64_t wanted;               /* rows that were to be added */
    int64_t groups, groups_shown; /* that had rows */
    int64_t group_at, group_wanted;
    bool full;
};

/* Start from zeroes. A group that does not fit whole is left out with all that follow it; of the
 * first one as many rows are drawn as fit. */
void assay_chart_rows_group(struct assay_chart_rows *rows);
void assay_chart_rows_group_end(struct assay_chart_rows *rows);
/* Of the group that was begun; NULL where there are too many. */
struct assay_chart_row *assay_chart_rows_add(struct assay_chart_rows *rows);

/* "1.72x faster" in its ink and its interval aside; "same within 0.8%", "unclear (n=8)". */
void assay_chart_row_ratio(struct assay_chart_row *row, const struct assay_ratio *ratio);
/* "mismatch" with the reason below. */
void assay_chart_row_trouble(struct assay_chart_row *row, const struct assay_record *record);
/* The ink of its bar, which is hatched. */
enum assay_ink assay_chart_trouble_ink(const struct assay_record *record);
/* "int8wo native": which variant of its group it is; one that stands for a whole group has none. */
struct assay_cell assay_chart_variant(const struct assay_record *record,
                                      const struct assay_record *records, int64_t n);

/* Where groups differ so much that the bars of some would be too short to see, each group has a
 * scale of its own: lengths are shares of the greatest `most` under the same heading. */
bool assay_chart_rows_are_shares(const struct assay_chart_rows *rows);
double assay_chart_rows_unit(const struct assay_chart_rows *rows, int64_t row);
/* From 0 to the longest bar. */
struct assay_scale assay_chart_rows_scale(const struct assay_chart_rows *rows, bool shares);

/* An interval along a bar; an end that the scale does not reach is an arrow. */
void assay_chart_whisker(struct assay_drawing *drawing, const struct assay_scale *scale,
                         const struct assay_interval *ci, double y);

struct assay_chart_rows_style {
    const char *title, *subtitle;
    struct assay_scale *scale; /* its pixels are set */
    const struct assay_axis *axis;
    double line; /* a value that has a line of its own; NaN: none */
    /* Draws the bar of a row whose middle is at y. */
    void (*bar)(struct assay_drawing *drawing, const struct assay_plot *plot, int64_t row, double y,
                const void *user);
    const void *user;
    const struct assay_legend_entry *legend;
    int64_t n_legend;
    const char *note;
};

/* All of the chart; sets the drawing's height. */
void assay_chart_rows_draw(const struct assay_chart_rows *rows,
                           const struct assay_chart_rows_style *style,
                           struct assay_drawing *drawing);

/* A chart of rows has no axes to choose, and this figure alone: false, and why, where something
 * else was asked. */
bool assay_chart_rows_suit(const struct assay_chart_request *request, const char *figure, char *why,
                           size_t size);

#endif
