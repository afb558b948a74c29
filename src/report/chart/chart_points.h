/* chart_points.h: the rows of a book as points that a chart places: one for each record and cache
 * state, with its figures, their intervals and what was judged of them. */
#ifndef ASSAY_REPORT_CHART_POINTS_H
#define ASSAY_REPORT_CHART_POINTS_H

#include "report/chart/chart.h"
#include "report/report_cells.h"

/* Writes why a chart does not fit; false. */
bool assay_chart_unfit(char *why, size_t size, const char *fmt, ...) ASSAY_PRINTF(3, 4);
/* A chart that has no use for a row, or none for axes and figures, says so rather than pass over
 * what was asked for. */
bool assay_chart_takes_no_row(const struct assay_chart_request *request, char *why, size_t size);
bool assay_chart_takes_no_axes(const struct assay_chart_request *request, char *why, size_t size);

/* ---- figures -------------------------------------------------------------------------------- */

enum assay_chart_figure {
    ASSAY_CHART_TIME,      /* ns of a call */
    ASSAY_CHART_BANDWIDTH, /* bytes per second */
    ASSAY_CHART_SPEEDUP,   /* to the baseline, > 1: faster */
    ASSAY_CHART_CEILING,   /* the share of the ceiling that is reached */
    ASSAY_CHART_WINNER,    /* of a group: which variant is fastest */
    ASSAY_CHART_FIGURES
};

/* "time", as a request has it. */
const char *assay_chart_figure_name(enum assay_chart_figure figure);
/* ASSAY_CHART_FIGURES where there is none of this name. */
enum assay_chart_figure assay_chart_figure_named(const char *name);
/* "time of a call", "speedup over onednn": at an axis or a legend. */
const char *assay_chart_figure_title(enum assay_chart_figure figure);
/* What writes its ticks, see draw_axis.h. */
void assay_chart_figure_label(enum assay_chart_figure figure, double value, char *text,
                              size_t size);

/* ---- points --------------------------------------------------------------------------------- */

struct assay_chart_point {
    int64_t record, group; /* in the book, from 0: its row is record + 1 */
    enum assay_cache_state state;
    enum assay_outcome outcome;
    bool timed; /* right, and timed in this state; what is impossible is not, but has its time */
    bool sure;  /* timed as exactly as was asked, and with an interval */
    bool baseline, fastest;
    bool has_ratio;
    enum assay_verdict verdict; /* where it has a ratio */
    double ns, ratio, efficiency;
    struct assay_interval ns_ci, ratio_ci, efficiency_ci;
    double bytes, flops; /* of one call */
    double ceiling_ns;   /* 0: none */
    bool slow_probes;    /* … and it is none to draw: see assay_chart_slow_probes */
    char bound[16];
};

struct assay_chart_points {
    struct assay_chart_point *points; /* in the book's order, hot before cold */
    int64_t n, capacity;
    bool states[ASSAY_CACHE_STATES]; /* something was timed in this state */
    bool failed;                     /* without memory */
};

/* Of the states that the request asks for. A record that is not ok has a point in each state that
 * its run, or else any record, was measured in. Start from zeroes. */
void assay_chart_points_find(const struct assay_book *book,
                             const struct assay_chart_request *request,
                             struct assay_chart_points *points);
void assay_chart_points_fini(struct assay_chart_points *points);

/* NaN where there is none; the ends also where only they are not known. */
struct assay_chart_value_of {
    double value, lo, hi;
};
struct assay_chart_value_of assay_chart_point_value(const struct assay_chart_point *point,
                                                    enum assay_chart_figure figure);
/* The same figure at the point's ceiling: the time it allows, the bandwidth; NaN: none to draw. */
double assay_chart_point_ceiling(const struct assay_chart_point *point,
                                 enum assay_chart_figure figure);
/* How many ceilings are not drawn because the probes beside the kernel ran at less than half of the
 * best that the machine was seen to reach: something else took its cores or its memory. */
int64_t assay_chart_slow_probes(const struct assay_chart_points *points);
/* Does any have this figure? */
bool assay_chart_points_have(const struct assay_chart_points *points,
                             enum assay_chart_figure figure);
/* It differs significantly from the baseline, or is it; and unless the figure is the speedup, whose
 * verdict says all, it is as exact as was asked. Marks of others are hollow. */
bool assay_chart_point_is_clear(const struct assay_chart_point *point,
                                enum assay_chart_figure figure);

/* ---- tips ----------------------------------------------------------------------------------- */

/* Reads records one after the other; those of one group cost one opening. Start from {book}. */
struct assay_chart_reader {
    const struct assay_book *book;
    struct assay_book_view view;
    int64_t open; /* which group, from 1 */
};

/* NULL without memory. */
const struct assay_record *assay_chart_read(struct assay_chart_reader *reader,
                                            const struct assay_chart_point *point);
void assay_chart_reader_fini(struct assay_chart_reader *reader);

/* Begins the drawing's group of a point: with its row, and all its figures as the tip. */
void assay_chart_point_begin(struct assay_drawing *d, struct assay_chart_reader *reader,
                             const struct assay_chart_point *point);
/* "native · layernorm f32 32x512x768 · hot", and in lines of their own time, speedup, ceiling. */
void assay_chart_point_tip(struct assay_chart_reader *reader, const struct assay_chart_point *point,
                           struct assay_text *out);

/* "3 mismatch, 1 unsupported": of points that are not ok, each record once. "" where all are. */
struct assay_cell assay_chart_failures(const struct assay_chart_points *points);

#endif
