/* roofline.c: the chart "roofline": operations per second over operations per byte, below the
 * ceilings that this run measured beside its kernels. */
#include "report/chart/chart.h"

#include "base/alloc.h"
#include "report/chart/chart_roofs.h"
#include "report/chart/chart_words.h"

#include <math.h>
#include <stdio.h>

enum {
    MOST_POINTS = 2400,
    MOST_TIPS = 800,
    MOST_SERIES = 40,
    MOST_ROOFS = 16,
    MARKER = 8,
    HALF = MARKER / 2 + 1, /* of the box that names keep off */
    HEIGHT = 400
};

struct roofline {
    const struct assay_book *book;
    struct assay_chart_axes axes;
    struct assay_chart_points points;
    struct assay_chart_classes series;
    int64_t placed_series; /* that have points */
    struct assay_roofs roofs;
    int64_t with_work, without_work; /* points that have operations and a time; rows without */
    int64_t n_roofs;                 /* that are drawn */
    struct assay_scale x, y;
    struct assay_plot plot;
};

static void fini(struct roofline *r)
{
    assay_roofs_fini(&r->roofs);
    assay_chart_classes_fini(&r->series);
    assay_chart_points_fini(&r->points);
    assay_chart_axes_fini(&r->axes);
}

/* ---- does it fit? --------------------------------------------------------------------------- */

/* FLOP/s; NaN where it has no time or no operations. What is impossible has a time. */
static double rate_of(const struct assay_chart_point *p, double ns)
{
    bool placed = p->timed || p->outcome == ASSAY_OUTCOME_IMPOSSIBLE;
    return placed && isfinite(assay_chart_intensity(p)) ? p->flops * 1e9 / ns : (double)NAN;
}

static bool is_placed(const struct assay_chart_point *p) { return isfinite(rate_of(p, p->ns)); }

/* Variants without a point, as those that were skipped, have no name in the legend either. */
static void show_series(struct roofline *r)
{
    for (int64_t i = 0; i < r->series.n; i++)
        r->series.classes[i].shown = false;
    r->series.n_shown = 0;
    for (int64_t i = 0; i < r->points.n; i++) {
        const struct assay_chart_point *p = &r->points.points[i];
        struct assay_chart_class *c = &r->series.classes[r->series.of[p->record]];
        r->series.n_shown += is_placed(p) && !c->shown;
        c->shown = c->shown || is_placed(p);
    }
    r->placed_series = r->series.n_shown;
    assay_chart_classes_limit(&r->series, MOST_SERIES);
}

static void count(struct roofline *r)
{
    int64_t last = -1;
    for (int64_t i = 0; i < r->points.n; i++) {
        const struct assay_chart_point *p = &r->points.points[i];
        r->with_work += is_placed(p);
        r->without_work += p->timed && p->record != last && isnan(assay_chart_intensity(p));
        last = p->record;
    }
}

static bool prepare(struct roofline *r, const struct assay_book *book,
                    const struct assay_chart_request *request, char *why, size_t size)
{
    *r = (struct roofline){.book = book};
    if (request->x || request->y || request->figure)
        return assay_chart_unfit(
            why, size,
            "its axes are operations per byte and per second: it takes no x, y or figure");
    if (!assay_chart_takes_no_row(request, why, size))
        return false;
    assay_chart_axes_find(book, &r->axes);
    assay_chart_points_find(book, request, &r->points);
    if (r->axes.failed || r->points.failed || !assay_chart_series_find(&r->axes, &r->series) ||
        !assay_roofs_find(&r->axes, &r->points, &r->roofs))
        return assay_chart_unfit(why, size, ASSAY_CHART_NO_MEMORY);
    count(r);
    if (!assay_chart_points_have(&r->points, ASSAY_CHART_TIME) && r->with_work == 0)
        return assay_chart_unfit(why, size, "no row has figures");
    if (r->with_work == 0)
        return assay_chart_unfit(why, size,
                                 "no row does arithmetic: copies have no operations per byte");
    if (r->roofs.n == 0)
        return assay_chart_unfit(why, size, "no row has a measured ceiling");
    show_series(r);
    r->n_roofs = r->roofs.n < MOST_ROOFS ? r->roofs.n : MOST_ROOFS;
    return true;
}

static int fits(const struct assay_book *book, const struct assay_chart_request *request, char *why,
                size_t size)
{
    struct roofline r;
    bool fit = prepare(&r, book, request, why, size);
    fini(&r);
    return fit ? ASSAY_CHART_GOOD - 10 : ASSAY_CHART_UNFIT; /* below that of speedups */
}

/* ---- scales --------------------------------------------------------------------------------- */

static void see_points(struct roofline *r)
{
    for (int64_t i = 0; i < r->points.n; i++) {
        const struct assay_chart_point *p = &r->points.points[i];
        if (!is_placed(p))
            continue;
        assay_scale_see(&r->x, assay_chart_intensity(p));
        assay_scale_see(&r->y, rate_of(p, p->ns));
        assay_scale_see(&r->y, rate_of(p, p->ns_ci.lo));
        assay_scale_see(&r->y, rate_of(p, p->ns_ci.hi));
    }
}

/* Some way left and right of the points, so that slopes can be seen. */
static void find_scales(struct roofline *r)
{
    enum { AROUND = 4 };
    assay_scale_init(&r->x, ASSAY_SCALE_LOG);
    assay_scale_init(&r->y, ASSAY_SCALE_LOG);
    see_points(r);
    double lo = r->x.lo, hi = r->x.hi;
    for (int64_t i = 0; i < r->n_roofs; i++) {
        const struct assay_roof *roof = &r->roofs.roofs[i];
        struct assay_interval span = assay_roof_span(&r->roofs, i, &r->x);
        assay_scale_see(&r->y, assay_roof_at(roof, roof->lo, span.lo));
        assay_scale_see(&r->y, assay_roof_at(roof, roof->hi, span.hi));
    }
    assay_scale_see(&r->x, lo / AROUND);
    assay_scale_see(&r->x, hi * AROUND);
    assay_scale_see(&r->y, r->y.hi * 1.5);
    r->x.twos = r->y.twos = false;
    assay_scale_round(&r->x);
    assay_scale_round(&r->y);
}

/* ---- places for names ----------------------------------------------------------------------- */

struct box {
    double left, top, right, bottom;
};

/* What names must not cover: markers, and other names. */
struct boxes {
    struct box *list;
    int64_t n;
};

static bool is_free(const struct boxes *boxes, const struct box *b)
{
    for (int64_t i = 0; i < boxes->n; i++) {
        const struct box *o = &boxes->list[i];
        if (b->left < o->right && b->right > o->left && b->top < o->bottom && b->bottom > o->top)
            return false;
    }
    return true;
}

/* ---- roofs ---------------------------------------------------------------------------------- */

/* A roof's visible part in pixels, from the left to the right. */
struct ridge {
    double x[2], y[2], lo[2], hi[2];
    bool visible;
};

/* Where a slanted one leaves the plot below or above it ends. */
static struct ridge ridge_of(const struct roofline *r, int64_t index)
{
    const struct assay_roof *roof = &r->roofs.roofs[index];
    struct assay_interval span = assay_roof_span(&r->roofs, index, &r->x);
    struct ridge ridge = {0};
    if (!roof->compute) {
        span.lo = fmax(span.lo, r->y.lo / roof->rate);
        span.hi = fmin(span.hi, r->y.hi / roof->rate);
    }
    ridge.visible = span.lo < span.hi;
    for (int i = 0; i < 2; i++) {
        double at = i ? span.hi : span.lo;
        ridge.x[i] = assay_scale_at(&r->x, at);
        ridge.y[i] = assay_scale_at(&r->y, assay_roof_at(roof, roof->rate, at));
        ridge.lo[i] = assay_scale_clamped(&r->y, assay_roof_at(roof, roof->lo, at));
        ridge.hi[i] = assay_scale_clamped(&r->y, assay_roof_at(roof, roof->hi, at));
    }
    return ridge;
}

static enum assay_dash dash_of(int64_t index)
{
    return (enum assay_dash)(index % (ASSAY_DRAW_DASH_DOT + 1));
}

static void draw_roofs(struct assay_drawing *d, const struct roofline *r)
{
    for (int64_t i = 0; i < r->n_roofs; i++) {
        struct ridge ridge = ridge_of(r, i);
        const struct assay_roof *roof = &r->roofs.roofs[i];
        if (!ridge.visible)
            continue;
        if (roof->hi > 1.01 * roof->lo)
            assay_draw_band(d, ridge.x, ridge.lo, ridge.hi, 2, ASSAY_DRAW_EVEN);
        assay_draw_path(d, ridge.x, ridge.y, 2, ASSAY_DRAW_TEXT, 1.5, dash_of(i));
    }
}

enum { SIZE = ASSAY_DRAW_SMALL_SIZE, STEPS = 16 };

/* Below the line to its right, or above it to its left: a slanted line climbs away from there. */
static struct box place_at(const struct ridge *ridge, bool compute, int step, bool above,
                           double width)
{
    enum { BESIDE = 7, OVER = 4, UNDER = 13 };
    double part = (step + 0.5) / STEPS;
    double x = ridge->x[0] + part * (ridge->x[1] - ridge->x[0]);
    double y = ridge->y[0] + part * (ridge->y[1] - ridge->y[0]) + (above ? -OVER : UNDER);
    double left = above ? x - BESIDE - width : x + BESIDE;
    if (compute)
        left = fmin(x, ridge->x[1] - BESIDE) - width;
    return (struct box){left, y - SIZE, left + width, y + 3};
}

static bool crosses(const struct ridge *ridge, const struct box *box)
{
    double slope = (ridge->y[1] - ridge->y[0]) / (ridge->x[1] - ridge->x[0]);
    double from = fmax(box->left, ridge->x[0]), to = fmin(box->right, ridge->x[1]);
    double a = ridge->y[0] + (from - ridge->x[0]) * slope;
    double b = ridge->y[0] + (to - ridge->x[0]) * slope;
    return from < to && fmin(a, b) < box->bottom && fmax(a, b) > box->top;
}

/* A name beside two lines could be either's. */
static bool crosses_any(const struct roofline *r, const struct box *box)
{
    for (int64_t i = 0; i < r->n_roofs; i++) {
        struct ridge ridge = ridge_of(r, i);
        if (ridge.visible && crosses(&ridge, box))
            return true;
    }
    return false;
}

static bool is_inside(const struct assay_plot *plot, const struct box *box)
{
    return box->left >= plot->left && box->right <= plot->right && box->top >= plot->top &&
           box->bottom <= plot->bottom;
}

/* Rather where no line crosses it; false where it is seen and there is no place for its name. */
static bool draw_name(struct assay_drawing *d, const struct roofline *r, int64_t index,
                      struct boxes *boxes)
{
    const struct assay_roof *roof = &r->roofs.roofs[index];
    struct ridge ridge = ridge_of(r, index);
    double width = assay_draw_text_width(roof->name.text, SIZE, false);
    struct assay_draw_font font = {.size = SIZE, .ink = ASSAY_DRAW_TEXT, .halo = true};
    for (int i = 0; i < 4 * STEPS && ridge.visible; i++) {
        int step = i / 2 % STEPS;
        struct box box = place_at(&ridge, roof->compute, roof->compute ? STEPS - 1 - step : step,
                                  i % 2 == 0, width);
        bool off = roof->compute && box.left < ridge.x[0], strict = i < 2 * STEPS;
        if (off || !is_inside(&r->plot, &box) || !is_free(boxes, &box) ||
            (strict && crosses_any(r, &box)))
            continue;
        assay_draw_text(d, box.left, box.bottom - 3, 0, font, roof->name.text);
        boxes->list[boxes->n++] = box;
        return true;
    }
    return !ridge.visible;
}

/* ---- points --------------------------------------------------------------------------------- */

/* A cross says that it is impossible. */
static enum assay_marker marker_of(int64_t series)
{
    enum assay_marker marker = assay_draw_series_marker(series);
    return marker == ASSAY_DRAW_CROSS ? ASSAY_DRAW_SQUARE : marker;
}

static int64_t rank_of(const struct roofline *r, int64_t series)
{
    int64_t rank = 0;
    for (int64_t i = 0; i < series; i++)
        rank += r->series.classes[i].shown;
    return rank;
}

/* Of very many every second or third record is drawn. */
static bool is_drawn(const struct roofline *r, const struct assay_chart_point *p)
{
    int64_t step = (r->with_work + MOST_POINTS - 1) / MOST_POINTS;
    return is_placed(p) && p->record % step == 0 &&
           r->series.classes[r->series.of[p->record]].shown;
}

/* Variants of the same intensity stand side by side, so that one does not hide the other. */
static double x_of(const struct roofline *r, const struct assay_chart_point *p)
{
    enum { BESIDE = 7, WIDEST = 42 };
    double n = (double)r->series.n_shown, rank = (double)rank_of(r, r->series.of[p->record]);
    double step = fmin(BESIDE, WIDEST / n);
    return assay_scale_at(&r->x, assay_chart_intensity(p)) + (rank - (n - 1) / 2) * step;
}

static void draw_joints(struct assay_drawing *d, const struct roofline *r)
{
    for (int64_t i = 1; i < r->points.n; i++) {
        const struct assay_chart_point *p = &r->points.points[i - 1], *q = p + 1;
        if (p->record != q->record || !is_drawn(r, p) || !is_drawn(r, q))
            continue;
        double x = x_of(r, p);
        assay_draw_line(d, x, assay_scale_at(&r->y, rate_of(p, p->ns)), x,
                        assay_scale_at(&r->y, rate_of(q, q->ns)),
                        assay_draw_series_ink(rank_of(r, r->series.of[p->record])), 1,
                        ASSAY_DRAW_SOLID);
    }
}

static void draw_point(struct assay_drawing *d, const struct roofline *r,
                       const struct assay_chart_point *p, struct boxes *boxes)
{
    int64_t rank = rank_of(r, r->series.of[p->record]);
    double x = x_of(r, p), y = assay_scale_at(&r->y, rate_of(p, p->ns));
    double lo = assay_scale_at(&r->y, rate_of(p, p->ns_ci.hi));
    double hi = assay_scale_at(&r->y, rate_of(p, p->ns_ci.lo));
    if (fabs(lo - hi) > MARKER)
        assay_draw_whisker_y(d, x, lo, hi, assay_draw_series_ink(rank));
    assay_draw_marker(d, x, y, MARKER, marker_of(rank), assay_draw_series_ink(rank),
                      p->state == ASSAY_CACHE_COLD);
    if (p->outcome == ASSAY_OUTCOME_IMPOSSIBLE)
        assay_draw_marker(d, x, y, 2 * MARKER, ASSAY_DRAW_CROSS, ASSAY_DRAW_FAILED, false);
    boxes->list[boxes->n++] = (struct box){x - HALF, y - HALF, x + HALF, y + HALF};
}

static void draw_points(struct assay_drawing *d, const struct roofline *r, struct boxes *boxes)
{
    struct assay_chart_reader reader = {.book = r->book};
    for (int64_t i = 0; i < r->points.n; i++) {
        const struct assay_chart_point *p = &r->points.points[i];
        if (!is_drawn(r, p))
            continue;
        if (r->with_work <= MOST_TIPS)
            assay_chart_point_begin(d, &reader, p);
        else
            assay_draw_group(d, p->record + 1, NULL);
        draw_point(d, r, p, boxes);
        assay_draw_group_end(d);
    }
    assay_chart_reader_fini(&reader);
}

/* ---- the texts around ----------------------------------------------------------------------- */

static bool any_impossible(const struct roofline *r)
{
    for (int64_t i = 0; i < r->points.n; i++)
        if (r->points.points[i].outcome == ASSAY_OUTCOME_IMPOSSIBLE &&
            is_drawn(r, &r->points.points[i]))
            return true;
    return false;
}

static double draw_legend(struct assay_drawing *d, const struct roofline *r, double y)
{
    struct assay_legend_entry entries[MOST_SERIES + 3];
    struct assay_cell names[MOST_SERIES];
    int64_t n = 0;
    for (int64_t i = 0; i < r->series.n; i++) {
        if (!r->series.classes[i].shown)
            continue;
        names[n] = assay_chart_class_name(&r->axes, &r->series, i);
        entries[n] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_MARKER,
                                                 .ink = assay_draw_series_ink(n),
                                                 .marker = marker_of(n),
                                                 .text = names[n].text};
        n++;
    }
    if (r->points.states[ASSAY_CACHE_HOT] && r->points.states[ASSAY_CACHE_COLD]) {
        entries[n++] = (struct assay_legend_entry){
            .shape = ASSAY_LEGEND_MARKER, .ink = ASSAY_DRAW_EVEN, .text = "hot"};
        entries[n++] = (struct assay_legend_entry){
            .shape = ASSAY_LEGEND_HOLLOW, .ink = ASSAY_DRAW_EVEN, .text = "cold"};
    }
    if (any_impossible(r))
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_MARKER,
                                                   .ink = ASSAY_DRAW_FAILED,
                                                   .marker = ASSAY_DRAW_CROSS,
                                                   .text = "impossible: above its ceiling"};
    return y +
           assay_legend_draw(d, ASSAY_DRAW_MARGIN, y, d->width - 2 * ASSAY_DRAW_MARGIN, entries, n);
}

static double draw_head(struct assay_drawing *d, const struct roofline *r)
{
    struct assay_cell title = assay_chart_subject(r->book), place = assay_chart_place(r->book);
    assay_cell_add(&title, ": roofline");
    return assay_draw_head(d, title.text, place.text);
}

/* Names that found no place stand below the plot. */
static double draw_unplaced(struct assay_drawing *d, const struct roofline *r, const bool *placed,
                            double y)
{
    struct assay_legend_entry entries[MOST_ROOFS];
    int64_t n = 0;
    for (int64_t i = 0; i < r->n_roofs; i++)
        if (!placed[i])
            entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_STROKE,
                                                       .ink = ASSAY_DRAW_TEXT,
                                                       .dash = dash_of(i),
                                                       .text = r->roofs.roofs[i].name.text};
    return y +
           assay_legend_draw(d, ASSAY_DRAW_MARGIN, y, d->width - 2 * ASSAY_DRAW_MARGIN, entries, n);
}

static double draw_notes(struct assay_drawing *d, const struct roofline *r, double y)
{
    struct assay_text note = {0};
    struct assay_cell failures = assay_chart_failures(&r->points);
    assay_text_add(&note, "Ceilings were measured in the same rounds as the kernels: lines are "
                          "their medians, bands hold nine in ten of them.\n");
    if (assay_chart_slow_probes(&r->points) > 0)
        assay_text_format(&note,
                          "Those of %lld point%s are left out: the machine ran at less than half "
                          "of its best meanwhile.\n",
                          (long long)assay_chart_slow_probes(&r->points),
                          assay_chart_slow_probes(&r->points) == 1 ? "" : "s");
    if (r->series.n_shown > 1)
        assay_text_add(&note, "Variants of the same intensity stand side by side.\n");
    if (r->without_work > 0)
        assay_text_format(&note, "%lld row%s without arithmetic (copies) %s left out.\n",
                          (long long)r->without_work, r->without_work == 1 ? "" : "s",
                          r->without_work == 1 ? "is" : "are");
    if (failures.text[0])
        assay_text_format(&note, "Not right, or without a result: %s.\n", failures.text);
    if (r->with_work > MOST_POINTS)
        assay_text_format(&note, "Of %lld points about %d are drawn.\n", (long long)r->with_work,
                          MOST_POINTS);
    if (r->series.n_shown < r->placed_series)
        assay_text_format(&note, "%lld of %lld variants are drawn, those with the most rows.\n",
                          (long long)r->series.n_shown, (long long)r->placed_series);
    if (r->n_roofs < r->roofs.n)
        assay_text_format(&note, "%lld of %lld ceilings are drawn.\n", (long long)r->n_roofs,
                          (long long)r->roofs.n);
    if (note.length)
        y = assay_draw_note(d, y, note.data);
    d->body.failed |= note.failed;
    assay_text_fini(&note);
    return y;
}

static void summarise(struct assay_drawing *d, const struct roofline *r)
{
    assay_text_format(&d->summary,
                      "Operations per second over operations per byte, %lld points, below measured "
                      "ceilings: ",
                      (long long)r->with_work);
    for (int64_t i = 0; i < r->n_roofs; i++)
        assay_text_format(&d->summary, "%s%s", i ? ", " : "", r->roofs.roofs[i].name.text);
    assay_text_add(&d->summary, ".");
}

/* ---- the chart ------------------------------------------------------------------------------ */

static double draw_plot(struct assay_drawing *d, struct roofline *r, struct boxes *boxes, double y)
{
    struct assay_axis left = {&r->y, "operations per second", assay_axis_rate, NULL, true};
    struct assay_axis below = {&r->x, "operations per byte", assay_axis_number, NULL, true};
    bool placed[MOST_ROOFS];
    r->plot = (struct assay_plot){.left = ASSAY_DRAW_MARGIN + assay_axis_width(&left),
                                  .top = y,
                                  .right = d->width - ASSAY_DRAW_MARGIN,
                                  .bottom = y + HEIGHT};
    r->x.from = r->plot.left;
    r->x.to = r->plot.right;
    r->y.from = r->plot.bottom;
    r->y.to = r->plot.top;
    assay_axis_draw_left(d, &left, &r->plot);
    assay_axis_draw_below(d, &below, &r->plot);
    draw_roofs(d, r);
    draw_joints(d, r);
    draw_points(d, r, boxes);
    for (int64_t i = 0; i < r->n_roofs; i++)
        placed[i] = draw_name(d, r, i, boxes);
    y = r->plot.bottom + assay_axis_height(&below, r->plot.right - r->plot.left) + 6;
    return draw_unplaced(d, r, placed, y);
}

static void draw(const struct assay_book *book, const struct assay_chart_request *request,
                 struct assay_drawing *drawing)
{
    char why[ASSAY_CHART_WHY];
    struct roofline r;
    struct boxes boxes = {0};
    if (prepare(&r, book, request, why, sizeof why))
        boxes.list = assay_malloc((size_t)(r.points.n + MOST_ROOFS) * sizeof *boxes.list);
    if (boxes.list) {
        find_scales(&r);
        double y = draw_legend(drawing, &r, draw_head(drawing, &r)) + 10;
        y = draw_plot(drawing, &r, &boxes, y);
        drawing->height = ceil(draw_notes(drawing, &r, y) + ASSAY_DRAW_MARGIN / 2.0);
        summarise(drawing, &r);
    } else {
        drawing->body.failed = true; /* it fits, so that memory is missing */
    }
    assay_free(boxes.list);
    fini(&r);
}

const struct assay_chart assay_chart_roofline = {
    .name = "roofline",
    .summary = "operations per second over operations per byte, below the measured ceilings",
    .fits = fits,
    .draw = draw,
};
