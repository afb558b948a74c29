/* draw_legend.c: what the marks stand for. */
#include "report/draw/draw_axis.h"

#include <math.h>

enum {
    SIZE = ASSAY_DRAW_SMALL_SIZE,
    LINE = 18,
    BOX = 11,   /* a swatch */
    REACH = 26, /* … of a line with its marker */
    GAP = 6,    /* from the swatch to its text */
    APART = 18,
};

static double swatch_width(const struct assay_legend_entry *entry)
{
    bool line = entry->shape == ASSAY_LEGEND_LINE || entry->shape == ASSAY_LEGEND_STROKE;
    return line ? REACH : BOX;
}

static void draw_swatch(struct assay_drawing *d, double x, double y,
                        const struct assay_legend_entry *entry)
{
    double width = swatch_width(entry), middle = y + BOX / 2.0;
    switch (entry->shape) {
    case ASSAY_LEGEND_BOX:
        assay_draw_rect(d, x, y, BOX, BOX, entry->ink);
        break;
    case ASSAY_LEGEND_HATCHED:
        assay_draw_hatched(d, x, y, BOX, BOX, entry->ink);
        break;
    case ASSAY_LEGEND_LINE:
        assay_draw_line(d, x, middle, x + width, middle, entry->ink, 2, entry->dash);
        /* fall through */
    case ASSAY_LEGEND_MARKER:
    case ASSAY_LEGEND_HOLLOW:
        assay_draw_marker(d, x + width / 2, middle, 8, entry->marker, entry->ink,
                          entry->shape == ASSAY_LEGEND_HOLLOW);
        break;
    case ASSAY_LEGEND_STROKE:
        assay_draw_line(d, x, middle, x + width, middle, entry->ink, 2, entry->dash);
        break;
    }
}

double assay_legend_draw(struct assay_drawing *d, double x, double y, double width,
                         const struct assay_legend_entry *entries, int64_t n)
{
    double at = x, top = y;
    struct assay_draw_font font = {.size = SIZE, .ink = ASSAY_DRAW_MUTED};
    for (int64_t i = 0; i < n; i++) {
        double swatch = swatch_width(&entries[i]) + GAP, most = fmax(1, width - swatch);
        double text = fmin(most, assay_draw_text_width(entries[i].text, SIZE, false));
        if (at > x && at + swatch + text > x + width) {
            at = x;
            top += LINE;
        }
        if (d) {
            draw_swatch(d, at, top + 3, &entries[i]);
            assay_draw_text(d, at + swatch, top + 3 + BOX - 1.5, most, font, entries[i].text);
        }
        at += swatch + text + APART;
    }
    return n > 0 ? top + LINE - y : 0;
}
