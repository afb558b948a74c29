/* report_line.h: lines for people, measured in display columns.
 *
 * Text goes in as UTF-8. A line counts the columns it fills: two for wide characters, none for
 * combining ones and for colours. Control characters become blanks, and bytes that are not UTF-8
 * become '?', so a reason that came from anywhere cannot break the layout. With style.ascii the
 * characters assay itself uses are spelt out (± as +/-, ✓ as ok) and all others become '?'. */
#ifndef ASSAY_REPORT_LINE_H
#define ASSAY_REPORT_LINE_H

#include "report/report.h"

enum assay_line_ink {
    ASSAY_INK_PLAIN,
    ASSAY_INK_BOLD,
    ASSAY_INK_DIM,
    ASSAY_INK_GOOD,
    ASSAY_INK_BEST,
    ASSAY_INK_WARN,
    ASSAY_INK_BAD,
    ASSAY_INK_SERIES, /* the first of ASSAY_INK_SERIES_COUNT, of things side by side in a plot */
    ASSAY_INKS = ASSAY_INK_SERIES + 6
};
enum { ASSAY_INK_SERIES_COUNT = ASSAY_INKS - ASSAY_INK_SERIES };

struct assay_line {
    bool ascii, colour;
    int columns; /* filled so far */
    size_t length;
    char bytes[4096]; /* what does not fit is dropped */
};

/* An empty line in this style. */
void assay_line_init(struct assay_line *line, const struct assay_report_style *style);

/* Columns that `text` takes when it is written. */
int assay_line_columns_of(const char *text, bool ascii);

/* Appends the text, cut with an ellipsis where it is wider than `width` columns. */
void assay_line_put(struct assay_line *line, const char *text, int width, enum assay_line_ink ink);
/* The same, then filled with blanks, or with blanks before it, to `width` columns. */
void assay_line_left(struct assay_line *line, const char *text, int width, enum assay_line_ink ink);
void assay_line_right(struct assay_line *line, const char *text, int width,
                      enum assay_line_ink ink);
/* Appends the text, broken between words where it does not fit into `width`: it goes on at column
 * `indent` of further lines. The caller flushes the last one; returns how many came before it. */
int assay_line_wrap(struct assay_line *line, const struct assay_sink *sink, const char *text,
                    int indent, int width, enum assay_line_ink ink);
/* Blanks, or a rule, up to this column. */
void assay_line_to(struct assay_line *line, int column);
void assay_line_rule(struct assay_line *line, int column, enum assay_line_ink ink);

/* Writes the line without trailing blanks, and starts the next. */
void assay_line_flush(struct assay_line *line, const struct assay_sink *sink);

/* Items with " · " between them, continued on further lines at the same indent where they do not
 * fit into `width`; an item longer than a line is broken between words. Begins wherever the line
 * stands; the caller flushes the last line. */
struct assay_flow {
    struct assay_line *line;
    const struct assay_sink *sink;
    int indent, width;
    bool started; /* something is on this line already that the next item must be parted from */
    enum assay_line_ink ink;
};
void assay_flow_item(struct assay_flow *flow, const char *fmt, ...) ASSAY_PRINTF(2, 3);

#endif
