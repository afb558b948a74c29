/* report_columns.h: the columns of one table for a terminal: which are shown, and how wide. */
#ifndef ASSAY_REPORT_COLUMNS_H
#define ASSAY_REPORT_COLUMNS_H

#include "report/report_row.h"

enum { ASSAY_MOST_COLUMNS = 16, ASSAY_LEAST_WIDTH = 60, ASSAY_MOST_WIDTH = 240 };

struct assay_column {
    const char *heading;
    int width; /* 0: as wide as what is in it */
    bool right;
    bool marked; /* a time: one more column behind it, for the mark ! or ~ */
};

struct assay_columns {
    const struct assay_column *table;
    int n;
    int around;                     /* columns that the line takes for what stands in no column */
    int widths[ASSAY_MOST_COLUMNS]; /* 0: not shown */
};

/* As wide as the table says. */
struct assay_columns assay_columns_start(const struct assay_column *table, int n, int around);

/* Columns taken by all that is shown, each with a blank before it. */
int assay_columns_total(const struct assay_columns *c);

/* At least as wide as this text. */
void assay_columns_widen(struct assay_columns *c, int column, const char *text, bool ascii);

/* Takes from this column, down to `least`, until all fit into `width`. */
void assay_columns_cut(struct assay_columns *c, int column, int least, int width);

/* Leaves columns out, in this order, until the rest fits into `width`. */
void assay_columns_drop(struct assay_columns *c, const int *order, int n, int width);

/* How wide a table with many figures may be: style->most, or its width, within reason. */
int assay_columns_room(const struct assay_report_style *style);
/* The same for the lines around it. */
int assay_columns_width(const struct assay_report_style *style);

/* One cell with the blank before it; nothing where the column is not shown. */
void assay_columns_put(const struct assay_columns *c, struct assay_line *line, int column,
                       const char *text, enum assay_ink ink);

/* A time with ▸ before it where none is faster, and its mark behind. `text` is the time as the
 * table writes it. */
void assay_columns_time(const struct assay_columns *c, struct assay_line *line, int column,
                        const struct assay_measurement *m, const char *text,
                        struct assay_legend *legend);

#endif
