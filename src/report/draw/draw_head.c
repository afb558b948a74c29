/* draw_head.c: the texts around a chart. */
#include "report/draw/draw_axis.h"

#include <string.h>

enum { LINE = 16, SUBTITLE_LINE = 18 };

/* One line of text. Gives how many bytes of `text` belong on it where it is `width` pixels wide:
 * up to a newline, or to the last blank that fits; a word that is too long has a line to itself. */
static size_t line_length(const char *text, size_t end, int size, double width,
                          struct assay_text *line)
{
    size_t fits = 0;
    for (size_t i = 0; i <= end; i++) {
        if (i < end && text[i] != ' ')
            continue;
        assay_text_clear(line);
        assay_text_append(line, text, i);
        if (fits && assay_draw_text_width(line->data ? line->data : "", size, false) > width)
            break;
        fits = i;
    }
    assay_text_clear(line);
    assay_text_append(line, text, fits);
    return fits;
}

/* From the first baseline; gives the one after the last. */
static double draw_lines(struct assay_drawing *d, double y, double step,
                         struct assay_draw_font font, const char *text)
{
    double width = d->width - 2 * ASSAY_DRAW_MARGIN;
    struct assay_text line = {0};
    while (*text) {
        size_t end = strcspn(text, "\n");
        const char *after = text + end + (text[end] == '\n');
        for (size_t length; end > 0; text += length, end -= length) {
            length = line_length(text, end, font.size, width, &line);
            if (line.failed)
                break;
            assay_draw_text(d, ASSAY_DRAW_MARGIN, y, width, font, line.data);
            y += step;
            while (length < end && text[length] == ' ')
                length++;
        }
        if (line.failed)
            break;
        text = after;
    }
    d->body.failed |= line.failed;
    assay_text_fini(&line);
    return y;
}

double assay_draw_head(struct assay_drawing *d, const char *title, const char *subtitle)
{
    double y = ASSAY_DRAW_MARGIN + ASSAY_DRAW_TITLE_SIZE;
    assay_text_clear(&d->title);
    assay_text_add(&d->title, title);
    assay_draw_text(d, ASSAY_DRAW_MARGIN, y, d->width - 2 * ASSAY_DRAW_MARGIN,
                    (struct assay_draw_font){
                        .size = ASSAY_DRAW_TITLE_SIZE, .bold = true, .ink = ASSAY_DRAW_TEXT},
                    title);
    y += 22;
    if (subtitle && subtitle[0])
        y = draw_lines(
            d, y, SUBTITLE_LINE,
            (struct assay_draw_font){.size = ASSAY_DRAW_SMALL_SIZE + 1, .ink = ASSAY_DRAW_MUTED},
            subtitle);
    return y;
}

double assay_draw_note(struct assay_drawing *d, double y, const char *text)
{
    struct assay_draw_font font = {.size = ASSAY_DRAW_SMALL_SIZE, .ink = ASSAY_DRAW_MUTED};
    return draw_lines(d, y + ASSAY_DRAW_SMALL_SIZE, LINE, font, text) - ASSAY_DRAW_SMALL_SIZE;
}
