/* chart_sweep.c: a panel from the back to the front: axes, ceilings, intervals, lines, markers, and
 * at the lower axis what has no figure. */
#include "report/chart/chart_sweep.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

enum { MARKER = 7, CROSS = 7, ALONE = 10 /* half of a ceiling at a single x */ };

/* The next series begins here, or the marks end. */
static int64_t series_end(const struct assay_sweep_panel *p, int64_t first)
{
    int64_t end = first + 1;
    while (end < p->n && p->marks[end].series == p->marks[first].series)
        end++;
    return end;
}

void assay_sweep_see(const struct assay_sweep_panel *panel, struct assay_scale *y)
{
    for (int64_t i = 0; i < panel->n; i++) {
        const struct assay_chart_point *point = panel->marks[i].point;
        struct assay_chart_value_of v = assay_chart_point_value(point, panel->figure);
        assay_scale_see(y, v.value);
        assay_scale_see(y, v.lo);
        assay_scale_see(y, v.hi);
        if (point->timed)
            assay_scale_see(y, assay_chart_point_ceiling(point, panel->figure));
    }
    if (!assay_scale_is_empty(y) && panel->figure == ASSAY_CHART_SPEEDUP)
        assay_scale_see(y, 1);
    if (!assay_scale_is_empty(y) && panel->figure == ASSAY_CHART_CEILING)
        assay_scale_see(y, 0);
}

/* ---- ceilings ------------------------------------------------------------------------------- */

struct roof {
    double x, y;
    const char *bound;
};

static int by_place(const void *a, const void *b)
{
    const struct roof *p = a, *q = b;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

/* Of all marks that have one, by x; gives their number. */
static int64_t find_roofs(const struct assay_sweep_mark *marks, int64_t n,
                          enum assay_chart_figure figure, struct roof *roofs)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        double y = assay_chart_point_ceiling(marks[i].point, figure);
        if (marks[i].point->timed && isfinite(y))
            roofs[found++] = (struct roof){marks[i].x, y, marks[i].point->bound};
    }
    if (found > 0)
        qsort(roofs, (size_t)found, sizeof *roofs, by_place);
    return found;
}

static int64_t place_end(const struct roof *roofs, int64_t n, int64_t first)
{
    int64_t end = first + 1;
    while (end < n && roofs[end].x == roofs[first].x)
        end++;
    return end;
}

bool assay_sweep_own_ceilings(const struct assay_sweep_mark *marks, int64_t n,
                              enum assay_chart_figure figure)
{
    enum { APART = 2 }; /* rounds differ by less: probes are sampled beside each variant */
    struct roof *roofs = assay_malloc((size_t)(n + 1) * sizeof *roofs);
    int64_t found = roofs ? find_roofs(marks, n, figure, roofs) : 0;
    bool own = false;
    for (int64_t i = 0, end; i < found && !own; i = end) {
        end = place_end(roofs, found, i);
        own = roofs[end - 1].y > APART * roofs[i].y;
    }
    assay_free(roofs);
    return own;
}

/* A word where another resource begins to bind, on the side where no kernel can be. */
static void name_bounds(struct assay_drawing *d, const struct assay_sweep_panel *p,
                        const struct roof *roofs, int64_t n)
{
    bool below = p->figure == ASSAY_CHART_TIME;
    struct assay_draw_font font = {
        .size = ASSAY_DRAW_SMALL_SIZE, .ink = ASSAY_DRAW_MUTED, .halo = true};
    double free_from = p->plot.left;
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && assay_text_same(roofs[i].bound, roofs[i - 1].bound))
            continue;
        double x = fmax(roofs[i].x, free_from), y = roofs[i].y + (below ? 16 : -8);
        double width = assay_draw_text_width(roofs[i].bound, font.size, false);
        bool inside = y > p->plot.top + font.size && y < p->plot.bottom - 3;
        if (x - roofs[i].x > width || x + width > p->plot.right || !inside)
            continue;
        assay_draw_text(d, x, y, 0, font, roofs[i].bound);
        free_from = x + width + font.size;
    }
}

/* The median at each x, and the range lightly. */
static void draw_common_roof(struct assay_drawing *d, const struct assay_sweep_panel *p,
                             struct roof *roofs, int64_t n)
{
    double *lines = assay_malloc((size_t)(4 * n + 1) * sizeof *lines);
    double *x = lines, *y = lines + n, *lo = lines + 2 * n, *hi = lines + 3 * n;
    int64_t found = 0;
    d->body.failed |= !lines;
    for (int64_t i = 0, end; lines && i < n; i = end, found++) {
        end = place_end(roofs, n, i);
        const struct roof *middle = &roofs[(i + end - 1) / 2];
        x[found] = assay_scale_at(p->x.scale, middle->x);
        y[found] = assay_scale_at(p->y.scale, middle->y);
        lo[found] = assay_scale_at(p->y.scale, roofs[i].y);
        hi[found] = assay_scale_at(p->y.scale, roofs[end - 1].y);
        roofs[found] = (struct roof){x[found], y[found], middle->bound};
    }
    if (lines) {
        assay_draw_band(d, x, lo, hi, found, ASSAY_DRAW_EVEN);
        if (found == 1)
            assay_draw_line(d, x[0] - ALONE, y[0], x[0] + ALONE, y[0], ASSAY_DRAW_TEXT, 1.5,
                            ASSAY_DRAW_DASHED);
        assay_draw_path(d, x, y, found > 1 ? found : 0, ASSAY_DRAW_TEXT, 1.5, ASSAY_DRAW_DASHED);
        name_bounds(d, p, roofs, found);
    }
    assay_free(lines);
}

/* A line in pixels: of a series' values, or of its ceilings. Marks that have none break it. */
struct line {
    double *x, *y, *lo, *hi;
    int64_t n;
};

static void find_line(const struct assay_sweep_panel *p, int64_t first, int64_t end, bool ceilings,
                      struct line *line)
{
    line->n = end - first;
    for (int64_t i = first; i < end; i++) {
        const struct assay_chart_point *point = p->marks[i].point;
        struct assay_chart_value_of v = assay_chart_point_value(point, p->figure);
        if (ceilings)
            v.value = point->timed ? assay_chart_point_ceiling(point, p->figure) : (double)NAN;
        line->x[i - first] = assay_scale_at(p->x.scale, p->marks[i].x);
        line->y[i - first] = assay_scale_at(p->y.scale, v.value);
        line->lo[i - first] = assay_scale_at(p->y.scale, v.lo);
        line->hi[i - first] = assay_scale_at(p->y.scale, v.hi);
    }
}

static void draw_own_roofs(struct assay_drawing *d, const struct assay_sweep_panel *p,
                           struct line *line)
{
    for (int64_t i = 0, end; i < p->n; i = end) {
        end = series_end(p, i);
        find_line(p, i, end, true, line);
        assay_draw_path(d, line->x, line->y, line->n, assay_draw_series_ink(p->marks[i].series), 1,
                        ASSAY_DRAW_DOTTED);
    }
}

static void draw_level(struct assay_drawing *d, const struct assay_sweep_panel *p, double value,
                       enum assay_dash dash)
{
    double y = assay_scale_at(p->y.scale, value);
    if (y >= p->plot.top - 1 && y <= p->plot.bottom + 1)
        assay_draw_line(d, p->plot.left, y, p->plot.right, y, ASSAY_DRAW_TEXT, 1.5, dash);
}

static void draw_ceilings(struct assay_drawing *d, const struct assay_sweep_panel *p,
                          struct line *line)
{
    if (p->figure == ASSAY_CHART_SPEEDUP || p->figure == ASSAY_CHART_CEILING) {
        draw_level(d, p, 1,
                   p->figure == ASSAY_CHART_SPEEDUP ? ASSAY_DRAW_SOLID : ASSAY_DRAW_DASHED);
        return;
    }
    if (assay_sweep_own_ceilings(p->marks, p->n, p->figure)) {
        draw_own_roofs(d, p, line);
        return;
    }
    struct roof *roofs = assay_malloc((size_t)(p->n + 1) * sizeof *roofs);
    d->body.failed |= !roofs;
    if (roofs)
        draw_common_roof(d, p, roofs, find_roofs(p->marks, p->n, p->figure, roofs));
    assay_free(roofs);
}

/* ---- series --------------------------------------------------------------------------------- */

/* Whiskers that the marker hides are left out. */
static void draw_whiskers(struct assay_drawing *d, const struct line *line, enum assay_ink ink)
{
    for (int64_t i = 0; i < line->n; i++)
        if (fabs(line->hi[i] - line->lo[i]) > MARKER)
            assay_draw_whisker_y(d, line->x[i], line->lo[i], line->hi[i], ink);
}

static void draw_lines(struct assay_drawing *d, const struct assay_sweep_panel *p,
                       struct line *line)
{
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0, end; i < p->n; i = end) {
            int64_t series = p->marks[i].series;
            enum assay_ink ink = assay_draw_series_ink(series);
            end = series_end(p, i);
            find_line(p, i, end, false, line);
            if (pass == 0 && p->bands && line->n > 1)
                assay_draw_band(d, line->x, line->lo, line->hi, line->n, ink);
            else if (pass == 0)
                draw_whiskers(d, line, ink);
            else
                assay_draw_path(d, line->x, line->y, line->n, ink, 1.75,
                                assay_draw_series_dash(series));
        }
}

static void begin_mark(struct assay_drawing *d, const struct assay_sweep_panel *p, int64_t i)
{
    if (p->reader)
        assay_chart_point_begin(d, p->reader, p->marks[i].point);
    else
        assay_draw_group(d, p->marks[i].point->record + 1, NULL);
}

/* A cross cannot be hollow: a ring stands around it. */
static void draw_marker(struct assay_drawing *d, const struct assay_sweep_panel *p,
                        const struct assay_sweep_mark *mark, double value)
{
    double x = assay_scale_at(p->x.scale, mark->x), y = assay_scale_at(p->y.scale, value);
    enum assay_marker marker = assay_draw_series_marker(mark->series);
    enum assay_ink ink = assay_draw_series_ink(mark->series);
    bool hollow = !assay_chart_point_is_clear(mark->point, p->figure);
    if (hollow && marker == ASSAY_DRAW_CROSS) {
        assay_draw_marker(d, x, y, MARKER + 3, ASSAY_DRAW_DISC, ink, true);
        assay_draw_marker(d, x, y, MARKER - 2, marker, ink, true);
    } else {
        assay_draw_marker(d, x, y, MARKER, marker, ink, hollow);
    }
}

static void draw_markers(struct assay_drawing *d, const struct assay_sweep_panel *p)
{
    for (int64_t i = 0; i < p->n; i++) {
        const struct assay_sweep_mark *mark = &p->marks[i];
        double value = assay_chart_point_value(mark->point, p->figure).value;
        if (!isfinite(value))
            continue;
        begin_mark(d, p, i);
        draw_marker(d, p, mark, value);
        assay_draw_group_end(d);
    }
}

/* How many failed before this one at the same x, in the same panel. */
static int64_t crosses_below(const struct assay_sweep_panel *p, int64_t i)
{
    int64_t n = 0;
    for (int64_t k = 0; k < i; k++)
        n += p->marks[k].point->outcome != ASSAY_OUTCOME_OK && p->marks[k].x == p->marks[i].x;
    return n;
}

/* Several at one place stand on each other. Where there are very many, the first stand for all. */
static void draw_crosses(struct assay_drawing *d, const struct assay_sweep_panel *p)
{
    enum { MOST = 8, DRAWN = 400 };
    for (int64_t i = 0, n = 0; i < p->n && n < DRAWN; i++) {
        enum assay_outcome outcome = p->marks[i].point->outcome;
        if (outcome == ASSAY_OUTCOME_OK)
            continue;
        n++;
        double x = assay_scale_at(p->x.scale, p->marks[i].x);
        double y = p->plot.bottom - CROSS * (double)(crosses_below(p, i) % MOST);
        bool fine = assay_outcome_is_fine(outcome);
        begin_mark(d, p, i);
        assay_draw_marker(d, x, y, CROSS, ASSAY_DRAW_CROSS,
                          fine ? ASSAY_DRAW_MUTED : ASSAY_DRAW_FAILED, false);
        assay_draw_group_end(d);
    }
}

void assay_sweep_draw(struct assay_drawing *d, const struct assay_sweep_panel *panel)
{
    int64_t n = panel->n + 1;
    double *lines = assay_malloc((size_t)(4 * n) * sizeof *lines);
    struct line line = {lines, lines + n, lines + 2 * n, lines + 3 * n, 0};
    assay_axis_draw_left(d, &panel->y, &panel->plot);
    assay_axis_draw_below(d, &panel->x, &panel->plot);
    d->body.failed |= !lines;
    if (lines) {
        draw_ceilings(d, panel, &line);
        draw_lines(d, panel, &line);
    }
    assay_free(lines);
    if (panel->markers)
        draw_markers(d, panel);
    draw_crosses(d, panel);
}

/* ---- names of lines ------------------------------------------------------------------------- */

struct end {
    int64_t series;
    double x, y, at; /* of the last point, and of its name */
};

enum { NAMES = 16, LINE = 14, MOVED = 20, REACH = 10 };

static int by_height(const void *a, const void *b)
{
    const struct end *p = a, *q = b;
    return p->y != q->y ? (p->y < q->y ? -1 : 1)
                        : (p->series > q->series) - (p->series < q->series);
}

/* Where the lines end; 0 where there are too many, or one has no figure. */
static int find_ends(const struct assay_sweep_panel *p, struct end ends[NAMES])
{
    int n = 0;
    for (int64_t i = 0, end; i < p->n; i = end) {
        end = series_end(p, i);
        if (n == NAMES)
            return 0;
        ends[n] = (struct end){.series = p->marks[i].series, .y = (double)NAN};
        for (int64_t k = i; k < end; k++) {
            double value = assay_chart_point_value(p->marks[k].point, p->figure).value;
            double y = assay_scale_at(p->y.scale, value);
            if (isfinite(y)) {
                ends[n].x = assay_scale_at(p->x.scale, p->marks[k].x);
                ends[n].y = y;
            }
        }
        if (!isfinite(ends[n++].y))
            return 0;
    }
    qsort(ends, (size_t)n, sizeof *ends, by_height);
    return n;
}

/* Moved apart, first downwards and then up again; false where one moves too far. */
static bool spread(struct end *ends, int n, const struct assay_plot *plot)
{
    for (int i = 0; i < n; i++)
        ends[i].at = i ? fmax(ends[i].y, ends[i - 1].at + LINE) : fmax(ends[i].y, plot->top);
    for (int i = n - 1; i >= 0; i--)
        ends[i].at = fmin(ends[i].at, i + 1 < n ? ends[i + 1].at - LINE : plot->bottom);
    for (int i = 0; i < n; i++)
        if (fabs(ends[i].at - ends[i].y) > MOVED)
            return false;
    return true;
}

bool assay_sweep_label(struct assay_drawing *d, const struct assay_sweep_panel *panel,
                       const struct assay_cell *names, double most)
{
    struct end ends[NAMES];
    int n = find_ends(panel, ends);
    if (n == 0 || !spread(ends, n, &panel->plot))
        return false;
    for (int i = 0; i < n && d; i++) {
        double x = panel->plot.right + REACH;
        int64_t series = ends[i].series;
        assay_draw_line(d, ends[i].x + MARKER, ends[i].y, x - 2, ends[i].at, ASSAY_DRAW_EVEN, 1,
                        ASSAY_DRAW_DOTTED);
        assay_draw_marker(d, x + MARKER / 2.0, ends[i].at, MARKER, assay_draw_series_marker(series),
                          assay_draw_series_ink(series), false);
        assay_draw_text(
            d, x + MARKER + 5, ends[i].at + ASSAY_DRAW_SMALL_SIZE * 0.36, most - REACH - MARKER - 5,
            (struct assay_draw_font){.size = ASSAY_DRAW_SMALL_SIZE, .ink = ASSAY_DRAW_TEXT},
            names[series].text);
    }
    return true;
}
