/* plot_canvas.h: lines and markers on a field of characters: in dots of Braille, eight in each
 * character, or in points where there is only ASCII. */
#ifndef ASSAY_REPORT_PLOT_CANVAS_H
#define ASSAY_REPORT_PLOT_CANVAS_H

#include "report/report_grid.h"

enum {
    ASSAY_CANVAS_ROWS = 24,
    ASSAY_CANVAS_DOTS_X = 2, /* in a character */
    ASSAY_CANVAS_DOTS_Y = 4,
    ASSAY_CANVAS_MARKERS = 44
};

struct assay_canvas {
    int columns, rows;
    uint8_t dots[ASSAY_CANVAS_ROWS][ASSAY_MOST_WIDTH];
    uint8_t inks[ASSAY_CANVAS_ROWS][ASSAY_MOST_WIDTH];
    int8_t markers[ASSAY_CANVAS_ROWS]
                  [ASSAY_MOST_WIDTH]; /* of which series; -1: none; -2: several */
    bool several;                     /* somewhere */
};

/* In characters; both are brought within what there is room for. */
void assay_canvas_init(struct assay_canvas *canvas, int columns, int rows);
/* In dots, from the top left. What lies outside is left out. */
void assay_canvas_line(struct assay_canvas *canvas, double x1, double y1, double x2, double y2,
                       enum assay_line_ink ink);
void assay_canvas_mark(struct assay_canvas *canvas, double x, double y, int series,
                       enum assay_line_ink ink);
/* "●"; of series where several meet, -2, "=". */
const char *assay_canvas_marker(int series, bool ascii);
void assay_canvas_row(const struct assay_canvas *canvas, int row, struct assay_line *line);

#endif
