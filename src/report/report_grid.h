/* report_grid.h: tables for a terminal from columns that are data.
 *
 * A format describes its columns: heading, width, a function that makes a row's cell, and when the
 * column is shown at all. The grid lays them out, leaves out what does not fit, and writes headings
 * and rows. What stands around the rows (page, legend, tally) is shared too. */
#ifndef ASSAY_REPORT_GRID_H
#define ASSAY_REPORT_GRID_H

#include "report/report_cells.h"
#include "report/report_row.h"

enum { ASSAY_MOST_COLUMNS = 16, ASSAY_LEAST_WIDTH = 60, ASSAY_MOST_WIDTH = 240 };

/* ---- the page ------------------------------------------------------------------------------ */

/* What a table writes to, and what it has to say at its end. */
struct assay_page {
    struct assay_sink sink;
    struct assay_report_style style;
    struct assay_line line;
    int width; /* of the style, within reason */
    int lines; /* flushed so far, by assay_page_flush() */
    struct assay_legend legend;
    struct assay_tally tally;
};

/* Start from zeroes. */
void assay_page_begin(struct assay_page *page, const struct assay_sink *sink,
                      const struct assay_report_style *style);
void assay_page_flush(struct assay_page *page);
/* Items from column `indent` on, on lines of this width; assay_flow_item() adds one. */
struct assay_flow assay_page_flow(struct assay_page *page, int indent, int width,
                                  enum assay_line_ink ink);

/* Columns that rows with many figures may take: style->most, or the width, within reason. */
int assay_page_most(const struct assay_page *page);

/* ---- columns ------------------------------------------------------------------------------- */

/* What a cell function is asked for. */
struct assay_cell_request {
    const void *table; /* the grid's */
    union {            /* the row at hand, as the format knows it */
        const void *row;
        const struct assay_record *record;
        const struct assay_pair *pair;
        const struct assay_bout *bout;
    };
    int of;    /* the column's */
    int width; /* columns that the text may take */
    bool ascii;
    struct assay_legend *legend; /* to note what is shown and needs a word under the table */
};

/* What stands in a cell. */
struct assay_figure {
    struct assay_cell cell;
    enum assay_line_ink ink;
    const char *lead; /* before the text, in a column that is `led` or a cell that spans; or NULL */
    enum assay_line_ink lead_ink;
    int lead_width;   /* of a cell that spans; of others 1 */
    const char *mark; /* behind it, in a column that is `marked`; or NULL */
    int span;         /* how many columns after its own it takes too */
};

enum {
    ASSAY_COLUMN_CONTENTS = 0, /* a width: as wide as the headings and what is in it */
    ASSAY_COLUMN_CHECK = -1,   /* a width: that of ✓, which in ASCII has two letters */
};

struct assay_column {
    const char *heading;
    const char *joint; /* heading of this and the next column, where that is shown; or NULL */
    const char *upper; /* on the line above the headings, after as many blanks as it begins with */
    int over;          /* how many more columns `upper` covers, with a rule behind it */
    int width;         /* columns, or one of those above */
    int most;          /* up to which it takes what the others leave; 0: it does not */
    int gap;           /* blanks before it, beside the usual one */
    bool right;
    bool led;    /* the first of its columns is the lead's: ▸ before a time */
    bool marked; /* one more column behind it, for the mark ! or ~ */
    int of;      /* told to the functions: which state, which member */
    struct assay_figure (*cell)(
        const struct assay_cell_request *q);  /* NULL: the format writes it */
    bool (*shown)(const void *table, int of); /* NULL: always */
};

/* A step towards a table that fits: this column is made narrower, down to `least`. */
struct assay_shrink {
    int column, least;
};
enum {
    ASSAY_DROP = 0,      /* left out */
    ASSAY_DROP_TOO = -1, /* left out where the step before was taken, needed or not */
};

/* ---- the grid ------------------------------------------------------------------------------ */

struct assay_grid {
    struct assay_page *page;
    const struct assay_column *columns;
    int n;
    const void *table; /* what cell functions get */
    int start;         /* columns before the first; -1: not even its blank */
    bool boxed;        /* lines around every cell */
    int width;         /* of the lines that belong to the rows; assay_grid_fit() sets it */
    int widths[ASSAY_MOST_COLUMNS]; /* 0: not shown */
};

/* As wide as the columns say; those that are as wide as their contents as their headings, with
 * `extra` columns beside them. */
void assay_grid_begin(struct assay_grid *grid, int extra);
/* Makes room for a row's cells, where columns are as wide as their contents. */
void assay_grid_measure(struct assay_grid *grid, const void *row);
/* Takes steps, in order, until the table fits into `width`; then columns that were as wide as their
 * contents get back what is left, and columns that may grow take the rest. */
void assay_grid_fit(struct assay_grid *grid, const struct assay_shrink *steps, int n, int width);
/* Columns that a row takes. */
int assay_grid_total(const struct assay_grid *grid);

/* The line of upper headings where some column has one, and that of headings. */
void assay_grid_headings(struct assay_grid *grid);
/* The cells of columns first … last - 1, behind what is on the line. */
void assay_grid_cells(struct assay_grid *grid, const void *row, int first, int last);
/* The whole row, flushed. */
void assay_grid_row(struct assay_grid *grid, const void *row);
/* Of a boxed one: the line above, between and below. */
enum assay_grid_edge { ASSAY_GRID_TOP, ASSAY_GRID_MIDDLE, ASSAY_GRID_BOTTOM };
void assay_grid_rule(struct assay_grid *grid, enum assay_grid_edge edge);

/* Instead of figures, to the end of the line: why there are none. */
void assay_grid_no_figures(struct assay_grid *grid, const struct assay_record *record);

/* ---- cells that several tables have -------------------------------------------------------- */

struct assay_figure assay_figure_plain(struct assay_cell cell);
struct assay_figure assay_figure_text(const char *text, enum assay_line_ink ink);
/* A time with ▸ before it where none is faster; `text` is the time as the table writes it. */
struct assay_figure assay_figure_time(const struct assay_measurement *m, struct assay_cell text,
                                      struct assay_legend *legend);
/* The same with its mark behind. */
struct assay_figure assay_figure_marked_time(const struct assay_measurement *m,
                                             struct assay_cell text, struct assay_legend *legend);
/* The speedup of the record that the row is, with its interval where that fits. */
struct assay_figure assay_figure_speedup(const struct assay_cell_request *q,
                                         const struct assay_measurement *m);
/* ✓, or - where it was not verified. */
struct assay_figure assay_figure_check(bool verified);
/* The same as a cell function, of rows that are records. */
struct assay_figure assay_figure_verified(const struct assay_cell_request *q);
/* Green for faster, yellow for slower. */
enum assay_line_ink assay_figure_ratio_ink(const struct assay_ratio *ratio);

#endif
