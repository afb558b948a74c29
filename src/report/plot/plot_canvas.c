#include "report/plot/plot_canvas.h"

#include "report/plot/plot_cells.h"

#include <math.h>
#include <string.h>

enum { NONE = -1, SEVERAL = -2 };

static int within(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

void assay_canvas_init(struct assay_canvas *canvas, int columns, int rows)
{
    memset(canvas, 0, sizeof *canvas);
    canvas->columns = within(columns, 1, ASSAY_MOST_WIDTH);
    canvas->rows = within(rows, 1, ASSAY_CANVAS_ROWS);
    memset(canvas->markers, NONE, sizeof canvas->markers);
}

static void dot(struct assay_canvas *canvas, int x, int y, enum assay_line_ink ink)
{
    /* Braille numbers its dots downwards in the first two columns of three, then the last row. */
    static const uint8_t bits[ASSAY_CANVAS_DOTS_Y][ASSAY_CANVAS_DOTS_X] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int column = x / ASSAY_CANVAS_DOTS_X, row = y / ASSAY_CANVAS_DOTS_Y;
    if (x < 0 || y < 0 || column >= canvas->columns || row >= canvas->rows)
        return;
    canvas->dots[row][column] |= bits[y % ASSAY_CANVAS_DOTS_Y][x % ASSAY_CANVAS_DOTS_X];
    canvas->inks[row][column] = (uint8_t)ink;
}

void assay_canvas_line(struct assay_canvas *canvas, double x1, double y1, double x2, double y2,
                       enum assay_line_ink ink)
{
    double steps = ceil(fmax(fabs(x2 - x1), fabs(y2 - y1)));
    if (!(steps <= ASSAY_MOST_WIDTH * ASSAY_CANVAS_DOTS_X)) /* not finite, or far outside */
        return;
    for (double i = 0; i <= steps; i++) {
        double part = steps > 0 ? i / steps : 0;
        dot(canvas, (int)lround(x1 + part * (x2 - x1)), (int)lround(y1 + part * (y2 - y1)), ink);
    }
}

void assay_canvas_mark(struct assay_canvas *canvas, double x, double y, int series,
                       enum assay_line_ink ink)
{
    if (!isfinite(x) || !isfinite(y))
        return;
    int column = (int)lround(x) / ASSAY_CANVAS_DOTS_X, row = (int)lround(y) / ASSAY_CANVAS_DOTS_Y;
    if (x < 0 || y < 0 || column >= canvas->columns || row >= canvas->rows)
        return;
    int8_t *marker = &canvas->markers[row][column];
    bool meets = *marker != NONE && *marker != series;
    *marker = (int8_t)(meets ? SEVERAL : series);
    canvas->inks[row][column] = (uint8_t)(meets ? ASSAY_INK_BOLD : ink);
    canvas->several |= meets;
}

const char *assay_canvas_marker(int series, bool ascii)
{
    static const char *const shapes[] = {"●", "■", "◆", "▲", "○", "□", "◇", "△"};
    static const char *const plain[] = {"*", "o", "x", "+", "#", "@", "%", "&"};
    static const char letters[][2] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
                                      "m", "n", "p", "q", "r", "s", "t", "u", "v", "w", "y", "z",
                                      "A", "B", "C", "D", "E", "F", "G", "H", "J", "K", "L", "M"};
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    _Static_assert(SHAPES + sizeof letters / sizeof letters[0] == ASSAY_CANVAS_MARKERS,
                   "a marker for each series");
    if (series == SEVERAL)
        return "=";
    if (series < SHAPES)
        return ascii ? plain[series] : shapes[series];
    return letters[series - SHAPES];
}

void assay_canvas_row(const struct assay_canvas *canvas, int row, struct assay_line *line)
{
    struct assay_plot_cells cells = {.n = canvas->columns};
    char braille[ASSAY_MOST_WIDTH][4];
    for (int i = 0; i < canvas->columns; i++) {
        uint8_t dots = canvas->dots[row][i];
        int8_t marker = canvas->markers[row][i];
        cells.inks[i] = (enum assay_line_ink)canvas->inks[row][i];
        braille[i][0] = (char)0xe2; /* U+2800 + dots */
        braille[i][1] = (char)(0xa0 | dots >> 6);
        braille[i][2] = (char)(0x80 | (dots & 0x3f));
        braille[i][3] = '\0';
        if (marker != NONE)
            cells.glyphs[i] = assay_canvas_marker(marker, line->ascii);
        else if (dots)
            cells.glyphs[i] = line->ascii ? "." : braille[i];
    }
    assay_plot_cells_put(&cells, line);
}
