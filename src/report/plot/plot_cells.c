#include "report/plot/plot_cells.h"

#include <math.h>
#include <string.h>

void assay_plot_cells_put(const struct assay_plot_cells *cells, struct assay_line *line)
{
    char text[4 * ASSAY_MOST_WIDTH + 1];
    for (int i = 0; i < cells->n;) {
        size_t length = 0;
        enum assay_line_ink ink = cells->inks[i];
        int first = i;
        for (; i < cells->n && cells->inks[i] == ink; i++) {
            const char *glyph = cells->glyphs[i] ? cells->glyphs[i] : " ";
            size_t bytes = strlen(glyph);
            memcpy(text + length, glyph, bytes);
            length += bytes;
        }
        text[length] = '\0';
        assay_line_put(line, text, i - first, ink);
    }
}

int assay_plot_column(const struct assay_scale *scale, double value)
{
    double at = assay_scale_clamped(scale, value);
    return isnan(at) ? -1 : (int)lround(at);
}

/* ---- the axis below ------------------------------------------------------------------------- */

enum { MOST_WANTED = 12, APART = 2 };

struct label {
    char text[48];
    int at, width; /* its first column */
};

/* Around its tick, within the lines' width. */
static struct label label_at(const struct assay_page *page, const struct assay_scale *scale,
                             int left, assay_plot_label *put, double value)
{
    struct label label = {.at = 0};
    put(NULL, value, label.text, sizeof label.text);
    label.width = assay_line_columns_of(label.text, page->line.ascii);
    label.at = left + assay_plot_column(scale, value) - label.width / 2;
    if (label.at + label.width > page->width)
        label.at = page->width - label.width;
    label.at = label.at < 0 ? 0 : label.at;
    return label;
}

static bool are_apart(const struct assay_page *page, const struct assay_scale *scale, int left,
                      assay_plot_label *put, const struct assay_tick *ticks, int n)
{
    int end = -APART;
    for (int i = 0; i < n; i++) {
        if (!ticks[i].major)
            continue;
        struct label label = label_at(page, scale, left, put, ticks[i].value);
        if (label.at < end + APART)
            return false;
        end = label.at + label.width;
    }
    return true;
}

static void write_rule(struct assay_page *page, const struct assay_scale *scale, int left,
                       const struct assay_tick *ticks, int n)
{
    struct assay_plot_cells cells = {.n = (int)lround(fmax(scale->from, scale->to)) + 1};
    for (int i = 0; i < cells.n; i++) {
        cells.glyphs[i] = "─";
        cells.inks[i] = ASSAY_INK_DIM;
    }
    for (int i = 0; i < n; i++)
        if (ticks[i].major)
            cells.glyphs[assay_plot_column(scale, ticks[i].value)] = "┴";
    assay_line_to(&page->line, left);
    assay_plot_cells_put(&cells, &page->line);
    assay_page_flush(page);
}

void assay_plot_axis_below(struct assay_page *page, const struct assay_scale *scale, int left,
                           assay_plot_label *label)
{
    struct assay_tick ticks[ASSAY_SCALE_MOST_TICKS];
    int n, wanted = MOST_WANTED, end = -APART;
    do
        n = assay_scale_ticks(scale, wanted, ticks);
    while (--wanted >= 2 && !are_apart(page, scale, left, label, ticks, n));
    write_rule(page, scale, left, ticks, n);
    for (int i = 0; i < n; i++) {
        struct label one = label_at(page, scale, left, label, ticks[i].value);
        if (!ticks[i].major || one.at < end + APART)
            continue;
        assay_line_to(&page->line, one.at);
        assay_line_put(&page->line, one.text, one.width, ASSAY_INK_DIM);
        end = one.at + one.width;
    }
    assay_page_flush(page);
}
