/* draw_axis.h: axes with ticks and labels around a plot, and legends. */
#ifndef ASSAY_REPORT_DRAW_AXIS_H
#define ASSAY_REPORT_DRAW_AXIS_H

#include "report/draw/draw.h"
#include "report/draw/draw_scale.h"

struct assay_plot {
    double left, top, right, bottom; /* the plot's area */
};

struct assay_axis {
    const struct assay_scale *scale;
    const char *name; /* "seq", "time of a call"; NULL: none */
    /* What stands at a tick; of bands the name of band `(int64_t)value`. Writes "" for none. */
    void (*label)(const void *user, double value, char *text, size_t size);
    const void *user;
    bool grid; /* lines across the plot */
};

/* Labels of numbers: 1000 as "1000", 1e6 as "1M"; ns as "1 us"; bytes/s as "10 GB/s"; a ratio as
 * "2x". `user` is not used. */
void assay_axis_number(const void *user, double value, char *text, size_t size);
void assay_axis_time(const void *user, double value, char *text, size_t size);
void assay_axis_bandwidth(const void *user, double value, char *text, size_t size);
void assay_axis_ratio(const void *user, double value, char *text, size_t size);
void assay_axis_share(const void *user, double value, char *text, size_t size);  /* 0.5: "50%" */
void assay_axis_memory(const void *user, double value, char *text, size_t size); /* "100 MB" */
void assay_axis_rate(const void *user, double value, char *text, size_t size);   /* "1 TFLOP/s" */
void assay_axis_decibel(const void *user, double value, char *text, size_t size);

/* How many pixels the axis takes outside the plot: labels, name. Of bands whose names do not fit
 * side by side they stand upwards, at most 140 pixels long. `length` is the plot's. */
double assay_axis_height(const struct assay_axis *axis, double length); /* below */
double assay_axis_width(const struct assay_axis *axis);                 /* left */

/* Labels never overlap: those that would are left out. */
void assay_axis_draw_below(struct assay_drawing *d, const struct assay_axis *axis,
                           const struct assay_plot *plot);
void assay_axis_draw_left(struct assay_drawing *d, const struct assay_axis *axis,
                          const struct assay_plot *plot);

/* ---- legends -------------------------------------------------------------------------------- */

enum assay_legend_shape {
    ASSAY_LEGEND_BOX,
    ASSAY_LEGEND_HATCHED,
    ASSAY_LEGEND_LINE, /* with its marker */
    ASSAY_LEGEND_MARKER,
    ASSAY_LEGEND_HOLLOW, /* a hollow marker */
    ASSAY_LEGEND_STROKE  /* a line without a marker */
};

struct assay_legend_entry {
    enum assay_legend_shape shape;
    enum assay_ink ink;
    enum assay_dash dash;
    enum assay_marker marker;
    const char *text;
};

/* Side by side, in as many lines as they need in `width`; a single text that is longer is cut.
 * Gives the height. With `d` NULL it only measures. */
double assay_legend_draw(struct assay_drawing *d, double x, double y, double width,
                         const struct assay_legend_entry *entries, int64_t n);

/* ---- around a chart ------------------------------------------------------------------------- */

/* Title in bold, subtitle below it; gives the y where the chart may begin. Sets the drawing's
 * title. */
double assay_draw_head(struct assay_drawing *d, const char *title, const char *subtitle);
/* Small muted lines at y, one for each line of `text`, broken where they are too long; gives the y
 * below. */
double assay_draw_note(struct assay_drawing *d, double y, const char *text);
enum { ASSAY_DRAW_MARGIN = 20 };

#endif
