/* draw.h: marks on a drawing, and the SVG of them.
 *
 * One layer for every chart, in files and in pages: what a chart draws it says in inks, which the
 * look turns into colours. The same drawing gives the same bytes. Lengths are pixels, y grows
 * downwards. Scales are in draw_scale.h, axes and legends in draw_axis.h. */
#ifndef ASSAY_REPORT_DRAW_DRAW_H
#define ASSAY_REPORT_DRAW_DRAW_H

#include "base/text.h"

enum assay_draw_look {
    ASSAY_DRAW_LIGHT, /* a file for light pages: colours as they are, no style sheet */
    ASSAY_DRAW_DARK,  /* … for dark ones */
    ASSAY_DRAW_PAGE,  /* inside an HTML page: var(--ink-NAME), which the page's style sheet sets */
    ASSAY_DRAW_LOOKS
};

/* What a colour means. Text stands out from the background by 4.5 to 1 or more, marks by 3 to 1.
 * The eight of series can be told apart by those who do not see all colours. */
enum assay_ink {
    ASSAY_DRAW_BACKGROUND,
    ASSAY_DRAW_BORDER,
    ASSAY_DRAW_GRID,
    ASSAY_DRAW_TEXT,
    ASSAY_DRAW_MUTED,
    ASSAY_DRAW_FASTER,
    ASSAY_DRAW_SLOWER,
    ASSAY_DRAW_EVEN, /* neither */
    ASSAY_DRAW_FAILED,
    ASSAY_DRAW_SERIES, /* the first of ASSAY_DRAW_SERIES_COUNT */
    ASSAY_DRAW_INKS = ASSAY_DRAW_SERIES + 8
};
enum { ASSAY_DRAW_SERIES_COUNT = 8 };

/* Of a series among any number of them: colours repeat with another dash and marker. */
enum assay_ink assay_draw_series_ink(int64_t series);

/* "background", "series-3": as in var(--ink-series-3). */
const char *assay_draw_ink_name(enum assay_ink ink);
/* "#rrggbb"; `look` is light or dark. */
const char *assay_draw_colour(enum assay_draw_look look, enum assay_ink ink);
/* Colours of heat maps: `part` from -1 (slower) over 0 (even, near the background) to 1 (faster);
 * and from 0 (near the background) to 1 (much). In steps of 1/8, so that pages can have a style for
 * each: var(--heat-0) to var(--heat-16), of which 8 is even, var(--ramp-0) to var(--ramp-8). */
enum { ASSAY_DRAW_STEPS = 8 };
/* All of a look for a page's style sheet: "--ink-background:#ffffff;…--ramp-8:#…;", to stand in the
 * braces of ":root{}". `look` is light or dark. */
void assay_draw_style(enum assay_draw_look look, struct assay_text *out);

struct assay_drawing {
    struct assay_text body; /* all but the head; a byte 1 stands for the id of assay_draw_svg */
    double width, height;   /* the height is set before the end */
    enum assay_draw_look look;
    struct assay_text title;   /* for those who cannot see it: <title>, aria-label */
    struct assay_text summary; /* <desc>: what it shows, in a sentence or two */
    uint32_t hatched;          /* the inks whose stripes it needs, a bit for each */
};

/* Start from zeroes. */
void assay_draw_begin(struct assay_drawing *drawing, enum assay_draw_look look, double width);
void assay_draw_fini(struct assay_drawing *drawing);
/* The image: head, body, tail, appended to `out`. Its <svg> has viewBox, width and height, role
 * "img", and fonts of the system. `id` makes the ids inside it unique in a page; "" in a file.
 * Where there was no memory for all of it, it says so, and `out` has failed. */
void assay_draw_svg(const struct assay_drawing *drawing, const char *id, struct assay_text *out);

/* ---- marks ---------------------------------------------------------------------------------- */

/* Marks at coordinates that are not finite, or that lie outside the drawing by more than its size
 * (its height, while that is 0, by 1e5), are left out. */
void assay_draw_rect(struct assay_drawing *d, double x, double y, double width, double height,
                     enum assay_ink ink);
/* Stripes of the ink on the background: no result, or a difference that is not significant. Striped
 * leaves what is below visible between the stripes: for cells that have a colour. */
void assay_draw_hatched(struct assay_drawing *d, double x, double y, double width, double height,
                        enum assay_ink ink);
void assay_draw_striped(struct assay_drawing *d, double x, double y, double width, double height,
                        enum assay_ink ink);
void assay_draw_frame(struct assay_drawing *d, double x, double y, double width, double height,
                      enum assay_ink ink, double line);
/* Of heat maps: see above; `part` is clamped. */
void assay_draw_heat(struct assay_drawing *d, double x, double y, double width, double height,
                     double part);
void assay_draw_ramp(struct assay_drawing *d, double x, double y, double width, double height,
                     double part);
/* An ink for text on such a cell that stands out from it. */
enum assay_ink assay_draw_heat_text(double part);
enum assay_ink assay_draw_ramp_text(double part);

enum assay_dash { ASSAY_DRAW_SOLID, ASSAY_DRAW_DASHED, ASSAY_DRAW_DOTTED, ASSAY_DRAW_DASH_DOT };
enum assay_dash assay_draw_series_dash(int64_t series);
void assay_draw_line(struct assay_drawing *d, double x1, double y1, double x2, double y2,
                     enum assay_ink ink, double line, enum assay_dash dash);
/* Points that are not finite break the line. */
void assay_draw_path(struct assay_drawing *d, const double *x, const double *y, int64_t n,
                     enum assay_ink ink, double line, enum assay_dash dash);
/* Between two lines, lightly filled: an interval along a path. */
void assay_draw_band(struct assay_drawing *d, const double *x, const double *lo, const double *hi,
                     int64_t n, enum assay_ink ink);

enum assay_marker {
    ASSAY_DRAW_DISC,
    ASSAY_DRAW_SQUARE,
    ASSAY_DRAW_DIAMOND,
    ASSAY_DRAW_TRIANGLE,
    ASSAY_DRAW_CROSS,
    ASSAY_DRAW_MARKERS
};
enum assay_marker assay_draw_series_marker(int64_t series);
/* `size` is its width. Hollow: filled with the background. */
void assay_draw_marker(struct assay_drawing *d, double x, double y, double size,
                       enum assay_marker marker, enum assay_ink ink, bool hollow);
/* A line with two short ends: an interval, along x or along y. */
void assay_draw_whisker_x(struct assay_drawing *d, double lo, double hi, double y,
                          enum assay_ink ink);
void assay_draw_whisker_y(struct assay_drawing *d, double x, double lo, double hi,
                          enum assay_ink ink);

/* ---- text ----------------------------------------------------------------------------------- */

enum assay_anchor { ASSAY_DRAW_LEFT, ASSAY_DRAW_MIDDLE, ASSAY_DRAW_RIGHT };

enum { ASSAY_DRAW_TITLE_SIZE = 18, ASSAY_DRAW_TEXT_SIZE = 13, ASSAY_DRAW_SMALL_SIZE = 11 };

struct assay_draw_font {
    int size;
    bool bold;
    enum assay_ink ink;
    enum assay_anchor anchor;
    bool upwards; /* turned by 90 degrees: from the bottom to the top */
    bool halo;    /* with a rim of the background: on lines and stripes */
};

/* No browser's usual font makes it wider. `text` is any text; what is drawn is valid UTF-8 without
 * control characters, which are spelt out (\n, \x1b), and the width is of that. */
double assay_draw_text_width(const char *text, int size, bool bold);
/* The baseline begins, ends or has its middle at x, y. Cut to `most` pixels with an ellipsis, to
 * nothing where not even that fits; 0: as long as it is. Gives the width that was used. */
double assay_draw_text(struct assay_drawing *d, double x, double y, double most,
                       struct assay_draw_font font, const char *text);
/* The same text as it would be cut. */
void assay_draw_cut(const char *text, int size, bool bold, double most, struct assay_text *out);

/* ---- what belongs together ------------------------------------------------------------------ */

/* Until the end, marks are one thing: with a tip, which browsers show, and the row of the book that
 * they stand for (from 1; 0: none), which pages link: <g data-row="12"><title>tip</title>. */
void assay_draw_group(struct assay_drawing *d, int64_t row, const char *tip);
void assay_draw_group_end(struct assay_drawing *d);

/* Any text as content or attribute of XML or HTML. */
void assay_draw_escape(struct assay_text *out, const char *text);

#endif
