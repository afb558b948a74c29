#include "report/chart/chart_rows.h"

#include "report/chart/chart_points.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- which rows ----------------------------------------------------------------------------- */

void assay_chart_rows_group(struct assay_chart_rows *rows)
{
    rows->group_at = rows->n;
    rows->group_wanted = 0;
}

struct assay_chart_row *assay_chart_rows_add(struct assay_chart_rows *rows)
{
    rows->wanted++;
    rows->group_wanted++;
    rows->full = rows->full || rows->n == ASSAY_CHART_MOST_ROWS;
    if (rows->full)
        return NULL;
    struct assay_chart_row *row = &rows->rows[rows->n++];
    *row = (struct assay_chart_row){.ink = ASSAY_DRAW_MUTED};
    return row;
}

void assay_chart_rows_group_end(struct assay_chart_rows *rows)
{
    bool whole = rows->n - rows->group_at == rows->group_wanted;
    if (!whole && rows->group_at > 0)
        rows->n = rows->group_at;
    rows->groups += rows->group_wanted > 0;
    rows->groups_shown += rows->n > rows->group_at;
}

/* ---- what rows say -------------------------------------------------------------------------- */

void assay_chart_row_ratio(struct assay_chart_row *row, const struct assay_ratio *ratio)
{
    enum { WIDE = 40 };
    int direction = assay_cell_ratio_direction(ratio);
    if (direction == 0) {
        row->figure = assay_cell_interval(ratio, WIDE, false);
        return;
    }
    row->figure = assay_cell_times(ratio, &row->aside);
    assay_cell_add(&row->figure, direction > 0 ? " faster" : " slower");
    row->ink = direction > 0 ? ASSAY_DRAW_FASTER : ASSAY_DRAW_SLOWER;
}

void assay_chart_row_trouble(struct assay_chart_row *row, const struct assay_record *record)
{
    bool fine = assay_outcome_is_fine(record->outcome);
    assay_cell_add(&row->figure, "%s", assay_cell_outcome(record->outcome).text);
    row->ink = fine ? ASSAY_DRAW_MUTED : ASSAY_DRAW_FAILED;
    if (!row->below.text[0])
        assay_cell_add(&row->below, "%s", record->reason);
    snprintf(row->more, sizeof row->more, "%s", record->reason);
}

enum assay_ink assay_chart_trouble_ink(const struct assay_record *record)
{
    return assay_outcome_is_fine(record->outcome) ? ASSAY_DRAW_EVEN : ASSAY_DRAW_FAILED;
}

struct assay_cell assay_chart_variant(const struct assay_record *record,
                                      const struct assay_record *records, int64_t n)
{
    struct assay_cell cell = assay_cell_name(record, records, n);
    if (!cell.text[0])
        assay_cell_add(&cell, "all variants");
    return cell;
}

bool assay_chart_rows_suit(const struct assay_chart_request *request, const char *figure, char *why,
                           size_t size)
{
    if (request->x || request->y)
        snprintf(why, size, "its rows are the run's own: it has no axis to choose");
    else if (request->figure && strcmp(request->figure, figure) != 0)
        snprintf(why, size, "its figure is %s, and no other", figure);
    else
        return assay_chart_takes_no_row(request, why, size);
    return false;
}

/* ---- lengths -------------------------------------------------------------------------------- */

double assay_chart_rows_unit(const struct assay_chart_rows *rows, int64_t row)
{
    double most = 0;
    for (int64_t i = 0; i < rows->n; i++)
        if (strcmp(rows->rows[i].heading.text, rows->rows[row].heading.text) == 0)
            most = fmax(most, rows->rows[i].most);
    return most;
}

bool assay_chart_rows_are_shares(const struct assay_chart_rows *rows)
{
    const double visible = 20; /* of the shortest group's longest bar a twentieth can be seen */
    double least = (double)INFINITY, most = 0;
    for (int64_t i = 0; i < rows->n; i++) {
        double unit = assay_chart_rows_unit(rows, i);
        if (!(unit > 0))
            continue;
        least = fmin(least, unit);
        most = fmax(most, unit);
    }
    return most > visible * least;
}

struct assay_scale assay_chart_rows_scale(const struct assay_chart_rows *rows, bool shares)
{
    struct assay_scale scale = {.kind = ASSAY_SCALE_LINEAR};
    for (int64_t i = 0; i < rows->n; i++)
        scale.hi = fmax(scale.hi, shares ? 1 : fmin(1e300, rows->rows[i].most));
    scale.hi = scale.hi > 0 ? scale.hi : 1;
    return scale;
}

/* ---- intervals ------------------------------------------------------------------------------ */

enum { WHISKER = 4 }; /* half an end's length, as of the drawing's own */

static void draw_end(struct assay_drawing *d, double x, double y, double inwards, bool beyond)
{
    double back = beyond ? inwards * 1.2 * WHISKER : 0;
    double xs[] = {x + back, x, x + back}, ys[] = {y - WHISKER, y, y + WHISKER};
    assay_draw_path(d, xs, ys, 3, ASSAY_DRAW_TEXT, 1.5, ASSAY_DRAW_SOLID);
}

void assay_chart_whisker(struct assay_drawing *drawing, const struct assay_scale *scale,
                         const struct assay_interval *ci, double y)
{
    bool below = ci->lo<scale->lo, above = ci->hi> scale->hi;
    double lo = assay_scale_clamped(scale, ci->lo), hi = assay_scale_clamped(scale, ci->hi);
    if (!(ci->lo <= ci->hi) || ci->hi < scale->lo || ci->lo > scale->hi)
        return;
    if (!below && !above) {
        assay_draw_whisker_x(drawing, lo, hi, y, ASSAY_DRAW_TEXT);
        return;
    }
    assay_draw_line(drawing, lo, y, hi, y, ASSAY_DRAW_TEXT, 1.5, ASSAY_DRAW_SOLID);
    draw_end(drawing, lo, y, 1, below);
    draw_end(drawing, hi, y, -1, above);
}

/* ---- the image ------------------------------------------------------------------------------ */

enum {
    MARGIN = ASSAY_DRAW_MARGIN,
    SIZE = ASSAY_DRAW_TEXT_SIZE,
    SMALL = ASSAY_DRAW_SMALL_SIZE,
    HEADING = 28,
    ROW = 36,
    GAP = 12, /* between the columns */
    LEAST_LABEL = 60,
    MOST_LABEL = 200,
    LEAST_FIGURES = 120,
    MOST_FIGURES = 240,
};

struct columns {
    double label, figures; /* widths */
};

static double width_of(const struct assay_cell *cell, int size, bool bold)
{
    return assay_draw_text_width(cell->text, size, bold);
}

static double figures_width(const struct assay_chart_row *row)
{
    double aside = row->aside.text[0] ? 6 + width_of(&row->aside, SMALL, false) : 0;
    return fmax(width_of(&row->figure, SIZE, true) + aside, width_of(&row->below, SMALL, false));
}

/* Labels and figures get what they need, within reason; bars the rest. */
static struct columns choose_columns(const struct assay_chart_rows *rows)
{
    struct columns c = {LEAST_LABEL, LEAST_FIGURES};
    for (int64_t i = 0; i < rows->n; i++) {
        c.label = fmax(c.label, width_of(&rows->rows[i].label, SIZE, false));
        c.figures = fmax(c.figures, figures_width(&rows->rows[i]));
    }
    c.label = ceil(fmin(MOST_LABEL, c.label));
    c.figures = ceil(fmin(MOST_FIGURES, c.figures));
    return c;
}

static bool has_heading(const struct assay_chart_rows *rows, int64_t i)
{
    const char *heading = rows->rows[i].heading.text;
    return heading[0] && (i == 0 || strcmp(heading, rows->rows[i - 1].heading.text) != 0);
}

static double height_of(const struct assay_chart_rows *rows)
{
    double height = 0;
    for (int64_t i = 0; i < rows->n; i++)
        height += ROW + (has_heading(rows, i) ? HEADING : 0);
    return height;
}

/* Where a label is broken that is too long: behind the last blank that fits, else the last sign,
 * else anywhere. */
static size_t break_at(const char *text, double most)
{
    char part[sizeof(struct assay_cell)];
    size_t fits = 0, blank = 0, sign = 0, length = strlen(text);
    for (size_t at = 0, bytes; at < length; at += bytes) {
        bytes = assay_text_utf8(text + at, length - at);
        bytes = bytes ? bytes : 1;
        snprintf(part, sizeof part, "%.*s", (int)(at + bytes), text);
        if (assay_draw_text_width(part, SMALL, false) > most)
            break;
        fits = at + bytes;
        blank = text[at] == ' ' ? fits : blank;
        sign = strchr(" _-./", text[at]) ? fits : sign;
    }
    return blank > fits / 3 ? blank : sign > fits / 2 ? sign : fits;
}

/* In one line, or in two smaller ones. */
static void draw_label(struct assay_drawing *d, const char *text, double most, double middle)
{
    struct assay_draw_font font = {.size = SIZE, .ink = ASSAY_DRAW_TEXT};
    if (assay_draw_text_width(text, SIZE, false) <= most) {
        assay_draw_text(d, MARGIN, middle + 4.5, most + 1, font, text);
        return;
    }
    char first[sizeof(struct assay_cell)];
    size_t length = break_at(text, most);
    snprintf(first, sizeof first, "%.*s", (int)length, text);
    font.size = SMALL;
    bool one = text[length] == '\0';
    assay_draw_text(d, MARGIN, middle + (one ? 4 : -3), most + 1, font, first);
    assay_draw_text(d, MARGIN, middle + 11, most, font, text + length);
}

/* A single line is centred. */
static void draw_figures(struct assay_drawing *d, const struct assay_chart_row *row, double x,
                         double most, double middle)
{
    double y = middle + (row->below.text[0] ? -3 : 4.5);
    struct assay_draw_font font = {.size = SIZE, .bold = true, .ink = row->ink};
    double used = assay_draw_text(d, x, y, most + 1, font, row->figure.text) + 6;
    font = (struct assay_draw_font){.size = SMALL, .ink = ASSAY_DRAW_MUTED};
    if (row->aside.text[0] && used + width_of(&row->aside, SMALL, false) <= most + 1)
        assay_draw_text(d, x + used, y, 0, font, row->aside.text);
    if (row->below.text[0])
        assay_draw_text(d, x, middle + 11, most + 1, font, row->below.text);
}

/* No lines of the grid behind the words. */
static void draw_heading(struct assay_drawing *d, const char *text, double y)
{
    double width = d->width - 2 * MARGIN;
    struct assay_draw_font font = {.size = SIZE, .bold = true, .ink = ASSAY_DRAW_TEXT};
    assay_draw_rect(d, MARGIN, y, width, HEADING, ASSAY_DRAW_BACKGROUND);
    assay_draw_text(d, MARGIN, y + HEADING - 8, width, font, text);
}

/* "layernorm f32 4x512, native: 1.72x faster [1.70 1.75], 6.52 ms". */
static void begin_row(struct assay_drawing *d, const struct assay_chart_row *row)
{
    struct assay_text tip = {0};
    bool repeated = strncmp(row->more, row->below.text, strlen(row->below.text)) == 0;
    assay_text_format(&tip, "%s%s%s: %s", row->heading.text, row->heading.text[0] ? ", " : "",
                      row->label.text, row->figure.text);
    if (row->aside.text[0])
        assay_text_format(&tip, " %s", row->aside.text);
    if (row->below.text[0] && !repeated)
        assay_text_format(&tip, ", %s", row->below.text);
    if (row->more[0])
        assay_text_format(&tip, ": %s", row->more);
    assay_draw_group(d, row->record, tip.data);
    d->body.failed |= tip.failed;
    assay_text_fini(&tip);
}

static void draw_rows(struct assay_drawing *d, const struct assay_chart_rows *rows,
                      const struct assay_chart_rows_style *style, const struct assay_plot *plot,
                      struct columns columns)
{
    double y = plot->top;
    for (int64_t i = 0; i < rows->n; i++, y += ROW) {
        const struct assay_chart_row *row = &rows->rows[i];
        if (has_heading(rows, i)) {
            draw_heading(d, row->heading.text, y);
            y += HEADING;
        }
        double middle = y + ROW / 2.0;
        begin_row(d, row);
        draw_label(d, row->label.text, columns.label, middle);
        style->bar(d, plot, i, middle, style->user);
        draw_figures(d, row, plot->right + GAP, columns.figures, middle);
        assay_draw_group_end(d);
    }
}

/* "120 more bars of 40 more groups are left out." */
static double draw_left_out(struct assay_drawing *d, const struct assay_chart_rows *rows, double y)
{
    char text[128];
    int64_t left = rows->wanted - rows->n, groups = rows->groups - rows->groups_shown;
    if (left == 0)
        return y;
    int length = snprintf(text, sizeof text, "%lld of %lld rows are left out", (long long)left,
                          (long long)rows->wanted);
    if (groups > 0)
        snprintf(text + length, sizeof text - (size_t)length,
                 ": the first %lld of %lld groups are shown.", (long long)rows->groups_shown,
                 (long long)rows->groups);
    else
        snprintf(text + length, sizeof text - (size_t)length, ".");
    return assay_draw_note(d, y, text);
}

void assay_chart_rows_draw(const struct assay_chart_rows *rows,
                           const struct assay_chart_rows_style *style,
                           struct assay_drawing *drawing)
{
    struct assay_drawing *d = drawing;
    double y = assay_draw_head(d, style->title, style->subtitle);
    struct columns columns = choose_columns(rows);
    struct assay_plot plot = {.left = MARGIN + columns.label + GAP,
                              .top = y,
                              .right = d->width - MARGIN - columns.figures - GAP,
                              .bottom = y + height_of(rows)};
    style->scale->from = plot.left;
    style->scale->to = plot.right;
    assay_axis_draw_below(d, style->axis, &plot);
    double line = floor(assay_scale_at(style->scale, style->line)) + 0.5;
    assay_draw_line(d, line, plot.top, line, plot.bottom, ASSAY_DRAW_MUTED, 1.5, ASSAY_DRAW_SOLID);
    draw_rows(d, rows, style, &plot, columns);
    y = plot.bottom + assay_axis_height(style->axis, plot.right - plot.left) + 6;
    y += assay_legend_draw(d, MARGIN, y, d->width - 2 * MARGIN, style->legend, style->n_legend);
    y = assay_draw_note(d, y + 4, style->note);
    y = draw_left_out(d, rows, y);
    d->height = y + MARGIN / 2;
}
