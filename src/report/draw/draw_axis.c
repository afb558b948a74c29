/* draw_axis.c: ticks, labels and the name of an axis. How many labels fit is found by trying: the
 * most ticks whose labels stand apart. */
#include "report/draw/draw_axis.h"

#include <math.h>
#include <string.h>

enum {
    SIZE = ASSAY_DRAW_SMALL_SIZE,
    TICK = 4,         /* its length */
    GAP = 4,          /* from tick to label */
    APART = 10,       /* between two labels in a line */
    LINE = 14,        /* a line of labels */
    NAME = 20,        /* a name's line */
    UPWARDS = 140,    /* the most of a name that stands upwards */
    SIDEWAYS = 240,   /* … and left of a plot */
    MOST_WANTED = 12, /* labels */
};

struct label {
    char text[256];
    double at, width;
};

struct labels {
    struct assay_tick ticks[ASSAY_SCALE_MOST_TICKS];
    int n;
};

static void text_at(const struct assay_axis *axis, double value, struct label *label)
{
    label->text[0] = '\0';
    axis->label(axis->user, value, label->text, sizeof label->text);
    label->at = assay_scale_at(axis->scale, value);
    label->width = assay_draw_text_width(label->text, SIZE, false);
}

static bool is_band(const struct assay_axis *axis) { return axis->scale->kind == ASSAY_SCALE_BAND; }

/* A label that reads as the one before it, because the values differ in further digits, would
 * deceive. */
static void choose_ticks(const struct assay_axis *axis, int wanted, struct labels *labels)
{
    struct label label, before = {.text = ""};
    labels->n = assay_scale_ticks(axis->scale, wanted, labels->ticks);
    for (int i = 0; i < labels->n && !is_band(axis); i++) {
        if (!labels->ticks[i].major)
            continue;
        text_at(axis, labels->ticks[i].value, &label);
        labels->ticks[i].major = !label.text[0] || strcmp(label.text, before.text) != 0;
        before = label;
    }
}

static double widest(const struct assay_axis *axis, const struct labels *labels)
{
    double most = 0;
    struct label label;
    for (int i = 0; i < labels->n; i++) {
        if (!labels->ticks[i].major)
            continue;
        text_at(axis, labels->ticks[i].value, &label);
        most = fmax(most, label.width);
    }
    return most;
}

/* ---- below ---------------------------------------------------------------------------------- */

/* Whether all labels stand apart, side by side. */
static bool are_apart(const struct assay_axis *axis, const struct labels *labels)
{
    double before = -(double)INFINITY;
    struct label label;
    for (int i = 0; i < labels->n; i++) {
        if (!labels->ticks[i].major)
            continue;
        text_at(axis, labels->ticks[i].value, &label);
        if (label.at - label.width / 2 < before + APART)
            return false;
        before = label.at + label.width / 2;
    }
    return true;
}

static void choose_below(const struct assay_axis *axis, struct labels *labels)
{
    int wanted = MOST_WANTED;
    do
        choose_ticks(axis, wanted, labels);
    while (!is_band(axis) && --wanted >= 2 && !are_apart(axis, labels));
}

/* Of bands: their names do not fit side by side in `length` pixels. */
static bool stands_upwards(const struct assay_axis *axis, double length)
{
    struct labels labels;
    if (!is_band(axis) || axis->scale->n < 1)
        return false;
    choose_ticks(axis, MOST_WANTED, &labels);
    return widest(axis, &labels) + APART / 2.0 > length / (double)axis->scale->n;
}

double assay_axis_height(const struct assay_axis *axis, double length)
{
    struct labels labels;
    double height = TICK + GAP + LINE;
    if (stands_upwards(axis, length)) {
        choose_ticks(axis, MOST_WANTED, &labels);
        height = TICK + GAP + fmin(UPWARDS, widest(axis, &labels)) + GAP;
    }
    return height + (axis->name ? NAME : 0);
}

/* At half pixels a line of one pixel is sharp. */
static double sharp(double at) { return floor(at) + 0.5; }

static void draw_upwards(struct assay_drawing *d, const struct assay_axis *axis,
                         const struct assay_plot *plot, const struct labels *labels)
{
    double before = -(double)INFINITY;
    struct label label;
    struct assay_draw_font font = {
        .size = SIZE, .ink = ASSAY_DRAW_MUTED, .anchor = ASSAY_DRAW_RIGHT, .upwards = true};
    for (int i = 0; i < labels->n; i++) {
        text_at(axis, labels->ticks[i].value, &label);
        if (!labels->ticks[i].major || !(fabs(label.at - before) >= LINE))
            continue;
        assay_draw_text(d, label.at + SIZE * 0.36, plot->bottom + TICK + GAP, UPWARDS, font,
                        label.text);
        before = label.at;
    }
}

/* Those at the ends are moved inwards where they would leave the drawing. */
static void draw_side_by_side(struct assay_drawing *d, const struct assay_axis *axis,
                              const struct assay_plot *plot, const struct labels *labels)
{
    double before = -(double)INFINITY;
    struct label label;
    struct assay_draw_font font = {
        .size = SIZE, .ink = ASSAY_DRAW_MUTED, .anchor = ASSAY_DRAW_MIDDLE};
    for (int i = 0; i < labels->n; i++) {
        text_at(axis, labels->ticks[i].value, &label);
        double half = label.width / 2, at = fmax(half + 2, fmin(d->width - half - 2, label.at));
        if (!labels->ticks[i].major || !(at - half >= before + APART / 2.0))
            continue;
        assay_draw_text(d, at, plot->bottom + TICK + GAP + SIZE, 0, font, label.text);
        if (label.text[0])
            before = at + half;
    }
}

static void draw_ticks_below(struct assay_drawing *d, const struct assay_axis *axis,
                             const struct assay_plot *plot, const struct labels *labels)
{
    for (int i = 0; i < labels->n; i++) {
        double x = sharp(assay_scale_at(axis->scale, labels->ticks[i].value));
        bool major = labels->ticks[i].major;
        if (axis->grid && major)
            assay_draw_line(d, x, plot->top, x, plot->bottom, ASSAY_DRAW_GRID, 1, ASSAY_DRAW_SOLID);
        if (!is_band(axis))
            assay_draw_line(d, x, plot->bottom, x, plot->bottom + (major ? TICK : TICK / 2),
                            ASSAY_DRAW_EVEN, 1, ASSAY_DRAW_SOLID);
    }
}

void assay_axis_draw_below(struct assay_drawing *d, const struct assay_axis *axis,
                           const struct assay_plot *plot)
{
    struct labels labels;
    double length = plot->right - plot->left, y = sharp(plot->bottom);
    choose_below(axis, &labels);
    draw_ticks_below(d, axis, plot, &labels);
    assay_draw_line(d, plot->left, y, plot->right, y, ASSAY_DRAW_EVEN, 1, ASSAY_DRAW_SOLID);
    if (stands_upwards(axis, length))
        draw_upwards(d, axis, plot, &labels);
    else
        draw_side_by_side(d, axis, plot, &labels);
    if (axis->name)
        assay_draw_text(d, (plot->left + plot->right) / 2,
                        plot->bottom + assay_axis_height(axis, length) - 4, length,
                        (struct assay_draw_font){
                            .size = SIZE + 1, .ink = ASSAY_DRAW_TEXT, .anchor = ASSAY_DRAW_MIDDLE},
                        axis->name);
}

/* ---- left ----------------------------------------------------------------------------------- */

/* As wide as the widest of any choice of ticks, because the plot's height is not known yet. */
double assay_axis_width(const struct assay_axis *axis)
{
    struct labels labels;
    double most = 0;
    for (int wanted = 2; wanted <= MOST_WANTED; wanted++) {
        choose_ticks(axis, wanted, &labels);
        most = fmax(most, widest(axis, &labels));
        if (is_band(axis))
            break;
    }
    return ceil(fmin(SIDEWAYS, most)) + TICK + GAP + (axis->name ? NAME : 0);
}

static void draw_labels_left(struct assay_drawing *d, const struct assay_axis *axis,
                             const struct assay_plot *plot, const struct labels *labels)
{
    double before = (double)NAN;
    struct label label;
    struct assay_draw_font font = {
        .size = SIZE, .ink = ASSAY_DRAW_MUTED, .anchor = ASSAY_DRAW_RIGHT};
    for (int i = 0; i < labels->n; i++) {
        text_at(axis, labels->ticks[i].value, &label);
        if (!labels->ticks[i].major || fabs(label.at - before) < LINE || !isfinite(label.at))
            continue;
        assay_draw_text(d, plot->left - TICK - GAP, label.at + SIZE * 0.36, SIDEWAYS, font,
                        label.text);
        before = label.at;
    }
}

static void draw_ticks_left(struct assay_drawing *d, const struct assay_axis *axis,
                            const struct assay_plot *plot, const struct labels *labels)
{
    for (int i = 0; i < labels->n; i++) {
        double y = sharp(assay_scale_at(axis->scale, labels->ticks[i].value));
        bool major = labels->ticks[i].major;
        if (axis->grid && major)
            assay_draw_line(d, plot->left, y, plot->right, y, ASSAY_DRAW_GRID, 1, ASSAY_DRAW_SOLID);
        if (!is_band(axis))
            assay_draw_line(d, plot->left - (major ? TICK : TICK / 2), y, plot->left, y,
                            ASSAY_DRAW_EVEN, 1, ASSAY_DRAW_SOLID);
    }
}

void assay_axis_draw_left(struct assay_drawing *d, const struct assay_axis *axis,
                          const struct assay_plot *plot)
{
    struct labels labels;
    double length = plot->bottom - plot->top, x = sharp(plot->left);
    int wanted = (int)fmax(2, fmin(MOST_WANTED, length / (2.5 * LINE)));
    choose_ticks(axis, wanted, &labels);
    draw_ticks_left(d, axis, plot, &labels);
    assay_draw_line(d, x, plot->top, x, plot->bottom, ASSAY_DRAW_EVEN, 1, ASSAY_DRAW_SOLID);
    draw_labels_left(d, axis, plot, &labels);
    if (axis->name)
        assay_draw_text(d, plot->left - assay_axis_width(axis) + SIZE + 1,
                        (plot->top + plot->bottom) / 2, length,
                        (struct assay_draw_font){.size = SIZE + 1,
                                                 .ink = ASSAY_DRAW_TEXT,
                                                 .anchor = ASSAY_DRAW_MIDDLE,
                                                 .upwards = true},
                        axis->name);
}
