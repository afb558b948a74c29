#include "report/plot/plot_sweep.h"

#include "base/alloc.h"
#include "report/chart/chart_axes.h"
#include "report/draw/draw_axis.h"
#include "report/plot/plot_canvas.h"
#include "report/plot/plot_cells.h"
#include "report/report_cells.h"
#include "report/report_sink.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_PLOTS = 6,
    LEAST_VALUES = 3, /* of the axis, to be called swept */
    LABELS = 8,       /* columns of the times on the left */
    WIDEST = 120,     /* a wider plot is no clearer */
};

/* The next plots are found by what their problems have in common. */
struct sweep {
    const struct assay_book *book;
    struct assay_page *page;
    struct assay_chart_axes axes;
    int64_t x; /* the swept axis */
    enum assay_cache_state state;
    uint64_t *keys; /* of each group: which plot it belongs to; 0: it has no value of the axis */
};

struct point {
    double x, y, lo, hi;
    int series;
};

struct series {
    struct assay_cell names[ASSAY_CANVAS_MARKERS];
    int n;
};

/* One plot. */
struct part {
    const struct sweep *sweep;
    struct point *points;
    int64_t n, capacity;
    struct series series;
    int64_t untimed, crowded_out;
    struct assay_scale x, y; /* in dots */
    int columns, rows;
    struct assay_canvas canvas;
};

/* ---- which axis ----------------------------------------------------------------------------- */

static bool is_key(const struct assay_chart_axes *axes, int64_t a, int64_t x)
{
    const struct assay_chart_axis *axis = &axes->axes[a];
    bool sum = axis->kind == ASSAY_CHART_AXIS_SHAPE || axis->kind == ASSAY_CHART_AXIS_MEMORY;
    if (a == x || sum || axis->of_variants || !assay_chart_axis_varies(axis))
        return false;
    if (axis->kind == ASSAY_CHART_AXIS_LABEL &&
        assay_chart_axes_follows(axes, a, ASSAY_CHART_AXIS_SHAPE))
        return false; /* another name of the shape */
    return !assay_chart_axes_follows(axes, a, x);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Fills in the groups' keys; gives how many groups there are for each plot, on average. */
static double find_keys(struct sweep *s, int64_t x, uint64_t *sorted)
{
    bool keys[ASSAY_CHART_AXES_MOST] = {false};
    int64_t groups = 0, plots = 0;
    for (int64_t a = 0; a < s->axes.n; a++)
        keys[a] = is_key(&s->axes, a, x);
    for (int64_t g = 0; g < s->book->n_groups; g++) {
        int64_t record = s->book->groups[g].first;
        uint64_t hash = 14695981039346656037u; /* FNV-1a of the values' numbers */
        for (int64_t a = 0; a < s->axes.n && s->book->groups[g].n > 0; a++)
            if (keys[a])
                hash = (hash ^ (uint64_t)(assay_chart_axes_at(&s->axes, a, record) + 2)) *
                       1099511628211u;
        bool has = s->book->groups[g].n > 0 && assay_chart_axes_at(&s->axes, x, record) >= 0;
        s->keys[g] = has ? hash | 1 : 0;
        if (has)
            sorted[groups++] = s->keys[g];
    }
    if (groups > 0)
        qsort(sorted, (size_t)groups, sizeof *sorted, by_value);
    for (int64_t i = 0; i < groups; i++)
        plots += i == 0 || sorted[i] != sorted[i - 1];
    return plots > 0 ? (double)groups / (double)plots : 0;
}

/* The one that leaves the fewest plots; -1: none was swept. */
static int64_t choose_axis(struct sweep *s, uint64_t *sorted)
{
    int64_t best = -1;
    double most = 0;
    for (int64_t a = 0; a < s->axes.n; a++) {
        const struct assay_chart_axis *axis = &s->axes.axes[a];
        if (!axis->numeric || axis->kind == ASSAY_CHART_AXIS_MEMORY || axis->n < LEAST_VALUES)
            continue;
        double values = find_keys(s, a, sorted);
        if (values >= LEAST_VALUES && values > most) {
            most = values;
            best = a;
        }
    }
    if (best >= 0)
        find_keys(s, best, sorted);
    return best;
}

/* Hot where something was measured hot. */
static enum assay_cache_state choose_state(const struct assay_book *book)
{
    struct assay_book_view view = {0};
    enum assay_cache_state state = ASSAY_CACHE_COLD;
    for (int64_t g = 0; g < book->n_groups && state == ASSAY_CACHE_COLD; g++) {
        if (!assay_book_open(book, g, &view))
            break;
        for (int64_t i = 0; i < view.n; i++)
            if (view.records[i].states[ASSAY_CACHE_HOT].measured)
                state = ASSAY_CACHE_HOT;
    }
    assay_book_view_fini(&view);
    return state;
}

/* ---- points --------------------------------------------------------------------------------- */

/* -1: there is no marker left for it. */
static int series_of(struct series *series, const struct assay_cell *name)
{
    for (int i = 0; i < series->n; i++)
        if (strcmp(series->names[i].text, name->text) == 0)
            return i;
    if (series->n == ASSAY_CANVAS_MARKERS)
        return -1;
    series->names[series->n] = *name;
    return series->n++;
}

static bool add_point(struct part *p, struct point point)
{
    if (p->n == p->capacity) {
        int64_t more = p->capacity ? 2 * p->capacity : 64;
        struct point *moved = assay_realloc(p->points, (size_t)more, sizeof *moved);
        if (!moved)
            return false;
        p->points = moved;
        p->capacity = more;
    }
    p->points[p->n++] = point;
    return true;
}

static bool add_record(struct part *p, const struct assay_book_view *view, int64_t i, double x)
{
    const struct assay_record *r = &view->records[i];
    const struct assay_measurement *m = &r->states[p->sweep->state];
    struct assay_cell name = assay_cell_name(r, view->records, view->n);
    if (r->outcome != ASSAY_OUTCOME_OK || !m->measured || !(m->time.median > 0) ||
        isinf(m->time.median)) {
        p->untimed++;
        return true;
    }
    int series = series_of(&p->series, &name);
    if (series < 0) {
        p->crowded_out++;
        return true;
    }
    struct point point = {x, m->time.median, m->time.median, m->time.median, series};
    if (assay_cell_has_interval(&m->time)) {
        point.lo = m->time.median_ci.lo;
        point.hi = m->time.median_ci.hi;
    }
    return add_point(p, point);
}

static int by_series(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    if (p->series != q->series)
        return p->series < q->series ? -1 : 1;
    return (p->x > q->x) - (p->x < q->x);
}

/* All of the plot with the key of this group; false without memory. */
static bool gather(struct part *p, int64_t group)
{
    const struct sweep *s = p->sweep;
    struct assay_book_view view = {0};
    bool fine = true;
    for (int64_t g = group; g < s->book->n_groups && fine; g++) {
        if (s->keys[g] != s->keys[group])
            continue;
        int64_t at = assay_chart_axes_at(&s->axes, s->x, s->book->groups[g].first);
        fine = assay_book_open(s->book, g, &view);
        for (int64_t i = 0; i < view.n && fine; i++)
            fine = add_record(p, &view, i, s->axes.axes[s->x].values[at].number);
    }
    if (p->n > 0)
        qsort(p->points, (size_t)p->n, sizeof *p->points, by_series);
    assay_book_view_fini(&view);
    return fine;
}

/* ---- the picture ---------------------------------------------------------------------------- */

static void lay_out(struct part *p)
{
    enum { LEAST_ROWS = 12, MOST_ROWS = 18 };
    int width = p->sweep->page->width;
    double least = (double)INFINITY, most = 0;
    p->columns = (width < WIDEST ? width : WIDEST) - LABELS - 2;
    p->rows = width / 6 < LEAST_ROWS ? LEAST_ROWS : width / 6 > MOST_ROWS ? MOST_ROWS : width / 6;
    for (int64_t i = 0; i < p->n; i++) {
        least = fmin(least, p->points[i].x);
        most = fmax(most, p->points[i].x);
    }
    bool is_log = least > 0 && most >= 8 * least;
    assay_scale_init(&p->x, is_log ? ASSAY_SCALE_LOG : ASSAY_SCALE_LINEAR);
    assay_scale_init(&p->y, ASSAY_SCALE_LOG);
    for (int64_t i = 0; i < p->n; i++) {
        assay_scale_see(&p->x, p->points[i].x);
        assay_scale_see(&p->y, p->points[i].y);
    }
    assay_scale_round(&p->x);
    assay_scale_round(&p->y);
    p->x.from = 1;
    p->x.to = p->columns * ASSAY_CANVAS_DOTS_X - 2;
    p->y.from = p->rows * ASSAY_CANVAS_DOTS_Y - 1;
    p->y.to = 0;
    assay_canvas_init(&p->canvas, p->columns, p->rows);
}

static enum assay_line_ink ink_of(int series)
{
    return (enum assay_line_ink)(ASSAY_INK_SERIES + series % ASSAY_INK_SERIES_COUNT);
}

static void draw(struct part *p)
{
    for (int64_t i = 0; i < p->n; i++) {
        const struct point *at = &p->points[i], *before = at - 1;
        double x = assay_scale_at(&p->x, at->x), y = assay_scale_at(&p->y, at->y);
        enum assay_line_ink ink = ink_of(at->series);
        assay_canvas_line(&p->canvas, x, assay_scale_clamped(&p->y, at->lo), x,
                          assay_scale_clamped(&p->y, at->hi), ink);
        if (i > 0 && before->series == at->series)
            assay_canvas_line(&p->canvas, assay_scale_at(&p->x, before->x),
                              assay_scale_at(&p->y, before->y), x, y, ink);
    }
    for (int64_t i = 0; i < p->n; i++)
        assay_canvas_mark(&p->canvas, assay_scale_at(&p->x, p->points[i].x),
                          assay_scale_at(&p->y, p->points[i].y), p->points[i].series,
                          ink_of(p->points[i].series));
}

static void write_field(struct part *p)
{
    struct assay_page *page = p->sweep->page;
    struct assay_tick ticks[ASSAY_SCALE_MOST_TICKS];
    int n = assay_scale_ticks(&p->y, p->rows / 3, ticks), said = p->rows;
    for (int row = 0; row < p->rows; row++) {
        bool tick = false;
        for (int i = n - 1; i >= 0 && !tick; i--) {
            int at = (int)lround(assay_scale_at(&p->y, ticks[i].value)) / ASSAY_CANVAS_DOTS_Y;
            char text[32];
            if (!ticks[i].major || at != row || at == said)
                continue;
            assay_axis_time(NULL, ticks[i].value, text, sizeof text);
            assay_line_right(&page->line, text, LABELS, ASSAY_INK_DIM);
            tick = true;
            said = at;
        }
        assay_line_to(&page->line, LABELS + 1);
        assay_line_put(&page->line, tick ? "┤" : "│", 1, ASSAY_INK_DIM);
        assay_canvas_row(&p->canvas, row, &page->line);
        assay_page_flush(page);
    }
}

/* ---- words ---------------------------------------------------------------------------------- */

static void add_sizes(const struct sweep *s, int64_t record, struct assay_cell *cell)
{
    for (int64_t a = ASSAY_CHART_AXIS_SIZE; a < s->axes.n; a++) {
        const struct assay_chart_axis *axis = &s->axes.axes[a];
        int64_t at = assay_chart_axes_at(&s->axes, a, record);
        bool fixed = !assay_chart_axis_varies(axis) || is_key(&s->axes, a, s->x);
        if (a != s->x && fixed && at >= 0)
            assay_cell_add(cell, " %s=%s", axis->name, axis->values[at].text);
    }
}

/* "layernorm f32 batch=32 dim=768", with whatever else tells its rows from those of other plots. */
static struct assay_cell title_of(const struct sweep *s, int64_t record,
                                  const struct assay_record *r)
{
    static const enum assay_chart_axis_kind others[] = {
        ASSAY_CHART_AXIS_LABEL,  ASSAY_CHART_AXIS_ENTRY,   ASSAY_CHART_AXIS_COMPILE,
        ASSAY_CHART_AXIS_DEVICE, ASSAY_CHART_AXIS_THREADS, ASSAY_CHART_AXIS_RUN};
    struct assay_cell cell = {""};
    assay_cell_add(&cell, "%s%s%s", assay_cell_subject(r), r->mode[0] ? " " : "", r->mode);
    if (r->dtype != ASSAY_DTYPE_NONE)
        assay_cell_add(&cell, " %s", assay_dtype_name(r->dtype));
    add_sizes(s, record, &cell);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const struct assay_chart_axis *axis = &s->axes.axes[others[i]];
        int64_t at = assay_chart_axes_at(&s->axes, others[i], record);
        if (at >= 0 && is_key(&s->axes, others[i], s->x))
            assay_cell_add(&cell, " %s %s", axis->name, axis->values[at].text);
    }
    return cell;
}

/* "hot · time of a call against m, k". */
static void write_title(struct part *p, int64_t group)
{
    const struct sweep *s = p->sweep;
    struct assay_book_view view = {0};
    struct assay_flow flow = assay_page_flow(s->page, 0, s->page->width, ASSAY_INK_DIM);
    if (assay_book_open(s->book, group, &view) && view.n > 0) {
        struct assay_flow bold = assay_page_flow(s->page, 0, s->page->width, ASSAY_INK_BOLD);
        assay_flow_item(&bold, "%s",
                        title_of(s, s->book->groups[group].first, &view.records[0]).text);
        flow.started = true;
    }
    assay_book_view_fini(&view);
    struct assay_cell names = {""};
    for (int64_t a = ASSAY_CHART_AXIS_SIZE; a < s->axes.n; a++)
        if (a != s->x && assay_chart_axis_varies(&s->axes.axes[a]) && !is_key(&s->axes, a, s->x))
            assay_cell_add(&names, ", %s", s->axes.axes[a].name);
    assay_flow_item(&flow, "%s", assay_cache_state_name(s->state));
    assay_flow_item(&flow, "time of a call against %s%s", s->axes.axes[s->x].name, names.text);
    assay_page_flush(s->page);
}

static void write_legend(const struct part *p)
{
    struct assay_page *page = p->sweep->page;
    struct assay_line *line = &page->line;
    enum { AT = LABELS + 1, APART = 3 };
    bool several = p->canvas.several;
    for (int i = several ? -1 : 0; i < p->series.n; i++) {
        const char *name = i < 0 ? "several at once" : p->series.names[i].text;
        int width = 2 + assay_line_columns_of(name, line->ascii);
        if (line->columns > AT && line->columns + APART + width > page->width)
            assay_page_flush(page);
        assay_line_to(line, line->columns ? line->columns + APART : AT);
        assay_line_put(line, assay_canvas_marker(i < 0 ? -2 : i, line->ascii), 1,
                       i < 0 ? ASSAY_INK_BOLD : ink_of(i));
        assay_line_to(line, line->columns + 1);
        assay_line_put(line, name, page->width - line->columns, ASSAY_INK_PLAIN);
    }
    assay_page_flush(page);
}

static void write_missing(const struct part *p)
{
    struct assay_page *page = p->sweep->page;
    struct assay_flow flow = assay_page_flow(page, LABELS + 1, page->width, ASSAY_INK_DIM);
    if (p->untimed)
        assay_flow_item(&flow, "%lld row%s without a time", (long long)p->untimed,
                        p->untimed == 1 ? "" : "s");
    if (p->crowded_out)
        assay_flow_item(&flow, "%lld more rows are not drawn: there are no more markers",
                        (long long)p->crowded_out);
    if (flow.started)
        assay_page_flush(page);
}

static void write_part(struct part *p, int64_t group)
{
    struct assay_page *page = p->sweep->page;
    struct assay_scale below;
    write_title(p, group);
    if (p->n > 0) {
        lay_out(p);
        draw(p);
        write_field(p);
        below = p->x;
        below.from /= ASSAY_CANVAS_DOTS_X;
        below.to /= ASSAY_CANVAS_DOTS_X;
        assay_plot_axis_below(page, &below, LABELS + 2, assay_axis_number);
        write_legend(p);
    }
    write_missing(p);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool is_first(const struct sweep *s, int64_t group)
{
    for (int64_t g = 0; g < group; g++)
        if (s->keys[g] == s->keys[group])
            return false;
    return s->keys[group] != 0;
}

static void write_plots(const struct sweep *s)
{
    struct part *part = assay_malloc(sizeof *part);
    int64_t plots = 0, drawn = 0;
    for (int64_t g = 0; g < s->book->n_groups && part; g++) {
        if (plots >= MOST_PLOTS || !is_first(s, g))
            continue;
        *part = (struct part){.sweep = s};
        if (plots++ > 0)
            assay_page_flush(s->page);
        if (!gather(part, g))
            assay_sink_fail(&s->page->sink);
        write_part(part, g);
        drawn += part->n + part->untimed + part->crowded_out;
        assay_free(part->points);
    }
    if (!part)
        assay_sink_fail(&s->page->sink);
    if (part && drawn < s->book->n_records) {
        struct assay_flow flow = assay_page_flow(s->page, 0, s->page->width, ASSAY_INK_DIM);
        assay_flow_item(&flow, "%lld rows of other problems are not drawn",
                        (long long)(s->book->n_records - drawn));
        assay_page_flush(s->page);
    }
    assay_free(part);
}

bool assay_plot_sweep(const struct assay_book *book, struct assay_page *page)
{
    struct sweep s = {.book = book, .page = page, .x = -1, .state = choose_state(book)};
    assay_chart_axes_find(book, &s.axes);
    s.keys = assay_calloc((size_t)book->n_groups + 1, sizeof *s.keys);
    uint64_t *sorted = assay_calloc((size_t)book->n_groups + 1, sizeof *sorted);
    if (!s.axes.failed && s.keys && sorted)
        s.x = choose_axis(&s, sorted);
    else
        assay_sink_fail(&page->sink);
    if (s.x >= 0)
        write_plots(&s);
    assay_free(sorted);
    assay_free(s.keys);
    assay_chart_axes_fini(&s.axes);
    return s.x >= 0;
}
