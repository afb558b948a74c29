/* pareto.c: what each way of storing weights costs and gains: time against accuracy, and time
 * against the size of the weights.
 *
 * The frontier is the record's own mark (bench/pareto.h), which knows three figures at once; in two
 * of them its line may turn back. The time is of the cache state that the mark went by. */
#include "report/chart/chart.h"
#include "report/chart/chart_points.h"
#include "report/chart/chart_words.h"
#include "report/draw/draw_axis.h"
#include "report/report_cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_GROUPS = 6,
    MOST_POINTS = 64, /* of a group */
    PANEL = 240,
    BETWEEN = 24,     /* two panels */
    EXACT = 30,       /* height of the lane of exact rows */
    EXACT_WIDTH = 60, /* of its word, at the most */
    GAP = 18,
    SIZE = 9, /* of a marker */
    LABEL = ASSAY_DRAW_SMALL_SIZE,
    LINE = 13,        /* height of a label */
    APART = 5,        /* between two side by side */
    MOST_LABEL = 150, /* … and its width */
};

struct point {
    const struct assay_record *record;
    const struct assay_measurement *m;
    struct assay_cell name;
    int64_t row, of; /* in the book, from 1; the number of its implementation */
};

struct group {
    const struct assay_book *book;
    const struct assay_book_view *view;
    struct point points[MOST_POINTS]; /* the fastest first */
    int64_t n, left_out;
    const char *implementations[MOST_POINTS];
    int64_t n_implementations;
    enum assay_cache_state state;
    struct assay_scale x;
};

/* ---- does it fit ---------------------------------------------------------------------------- */

/* What the mark of the frontier went by, unless a state is asked for. */
static enum assay_cache_state state_of(const struct assay_book_view *view,
                                       const struct assay_chart_request *request)
{
    if (request->has_state)
        return request->state;
    for (int64_t i = 0; i < view->n; i++)
        if (view->records[i].states[ASSAY_CACHE_COLD].measured)
            return ASSAY_CACHE_COLD;
    return ASSAY_CACHE_HOT;
}

static const struct assay_measurement *figures(const struct assay_record *r,
                                               enum assay_cache_state state)
{
    const struct assay_measurement *m = &r->states[state];
    bool has = !isnan(r->accuracy_db) || r->weight_bytes > 0;
    bool timed = r->outcome == ASSAY_OUTCOME_OK && m->measured;
    return r->recipe[0] && has && timed && m->time.median > 0 && isfinite(m->time.median) ? m
                                                                                          : NULL;
}

static bool is_asked(const struct assay_book *book, int64_t g,
                     const struct assay_chart_request *request)
{
    int64_t index = request->row - 1 - book->groups[g].first;
    return request->row <= 0 || (index >= 0 && index < book->groups[g].n);
}

/* Has it two rows or more to be weighed up? */
static bool is_shown(const struct assay_book *book, int64_t g,
                     const struct assay_chart_request *request, struct assay_book_view *view)
{
    int64_t n = 0;
    if (!is_asked(book, g, request) || !assay_book_open(book, g, view))
        return false;
    enum assay_cache_state state = state_of(view, request);
    for (int64_t i = 0; i < view->n; i++)
        n += figures(&view->records[i], state) != NULL;
    return n >= 2;
}

/* -1: without memory. */
static int64_t count_groups(const struct assay_book *book,
                            const struct assay_chart_request *request)
{
    struct assay_book_view view = {0};
    int64_t n = 0;
    for (int64_t g = 0; g < book->n_groups && n >= 0; g++)
        if (is_shown(book, g, request, &view))
            n++;
        else if (view.n < book->groups[g].n && is_asked(book, g, request))
            n = -1;
    assay_book_view_fini(&view);
    return n;
}

static int pareto_fits(const struct assay_book *book, const struct assay_chart_request *request,
                       char *why, size_t size)
{
    int64_t n = 0;
    if (!assay_chart_takes_no_axes(request, why, size))
        return ASSAY_CHART_UNFIT;
    n = count_groups(book, request);
    if (n < 0)
        snprintf(why, size, ASSAY_CHART_NO_MEMORY);
    else if (n == 0 && request->row > book->n_records)
        snprintf(why, size, "there is no row %lld: there are %lld", (long long)request->row,
                 (long long)book->n_records);
    else if (n == 0 && request->row > 0)
        snprintf(why, size, "the group of row %lld has not two recipes with times",
                 (long long)request->row);
    else if (n == 0)
        snprintf(why, size, "no group has two recipes with times");
    return n <= 0                        ? ASSAY_CHART_UNFIT
           : n == 1 && request->row == 0 ? ASSAY_CHART_BEST
                                         : ASSAY_CHART_GOOD;
}

/* ---- a group's points ----------------------------------------------------------------------- */

static int64_t implementation_of(struct group *g, const char *name)
{
    for (int64_t i = 0; i < g->n_implementations; i++)
        if (strcmp(g->implementations[i], name) == 0)
            return i;
    g->implementations[g->n_implementations] = name;
    return g->n_implementations++;
}

static int by_time(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    double one = p->m->time.median, other = q->m->time.median;
    return one != other ? (one > other) - (one < other) : (p->row > q->row) - (p->row < q->row);
}

/* The recipe, with the implementation where several have it. */
static struct assay_cell name_of(const struct group *g, const struct assay_record *record)
{
    struct assay_cell cell = {""};
    int64_t same = 0;
    for (int64_t i = 0; i < g->n; i++)
        same += strcmp(g->points[i].record->recipe, record->recipe) == 0;
    if (same > 1)
        return assay_cell_name(record, g->view->records, g->view->n);
    assay_cell_add(&cell, "%s", record->recipe);
    return cell;
}

static void gather(struct group *g, int64_t group)
{
    const struct assay_book_view *view = g->view;
    for (int64_t i = 0; i < view->n; i++) {
        const struct assay_record *r = &view->records[i];
        struct point point = {.record = r, .m = figures(r, g->state)};
        if (!point.m)
            continue;
        if (g->n == MOST_POINTS) {
            g->left_out++;
            continue;
        }
        point.row = g->book->groups[group].first + i + 1;
        point.of = implementation_of(g, assay_cell_variant(r, view->records, view->n));
        g->points[g->n++] = point;
    }
    for (int64_t i = 0; i < g->n; i++)
        g->points[i].name = name_of(g, g->points[i].record);
    qsort(g->points, (size_t)g->n, sizeof *g->points, by_time);
}

static void see_times(struct group *g)
{
    assay_scale_init(&g->x, ASSAY_SCALE_LOG);
    for (int64_t i = 0; i < g->n; i++) {
        const struct assay_summary *t = &g->points[i].m->time;
        assay_scale_see(&g->x, t->median);
        if (assay_cell_has_interval(t)) {
            assay_scale_see(&g->x, fmax(t->median_ci.lo, t->median / 10));
            assay_scale_see(&g->x, fmin(t->median_ci.hi, t->median * 10));
        }
    }
    g->x.twos = false;
    assay_scale_round(&g->x);
}

/* ---- a panel -------------------------------------------------------------------------------- */

struct panel {
    struct group *group;
    struct assay_plot plot; /* with the lane of exact rows above it, where there is one */
    struct assay_scale x, y;
    bool accuracy, exact;
    int64_t missing;
    struct {
        bool shown;
        double x, y;
    } at[MOST_POINTS];
};

static double value_of(const struct panel *p, const struct point *point)
{
    if (p->accuracy)
        return point->record->accuracy_db;
    return point->record->weight_bytes > 0 ? point->record->weight_bytes : (double)NAN;
}

static struct assay_axis left_axis(const struct panel *p)
{
    return (struct assay_axis){.scale = &p->y,
                               .name = p->accuracy ? "accuracy (SQNR)" : "weights as stored",
                               .label = p->accuracy ? assay_axis_decibel : assay_axis_memory,
                               .grid = true};
}

/* From `left` on; the axis takes what it needs. */
static void lay_out(struct panel *p, double left)
{
    const struct group *g = p->group;
    assay_scale_init(&p->y, ASSAY_SCALE_LINEAR);
    for (int64_t i = 0; i < g->n; i++) {
        double value = value_of(p, &g->points[i]);
        assay_scale_see(&p->y, value);
        p->exact |= p->accuracy && isinf(value) && value > 0;
        p->missing += isnan(value);
    }
    if (!p->accuracy)
        assay_scale_see(&p->y, 0);
    assay_scale_round(&p->y);
    struct assay_axis axis = left_axis(p);
    p->plot.left = left + fmax(assay_axis_width(&axis), EXACT_WIDTH);
    p->y.from = p->plot.bottom;
    p->y.to = p->plot.top + (p->exact ? EXACT : 0);
    p->x = g->x;
    p->x.from = p->plot.left + SIZE;
    p->x.to = p->plot.right - SIZE;
    for (int64_t i = 0; i < g->n; i++) {
        double value = value_of(p, &g->points[i]);
        p->at[i].x = assay_scale_at(&p->x, g->points[i].m->time.median);
        p->at[i].y = p->accuracy && isinf(value) && value > 0 ? p->plot.top + EXACT / 2.0
                                                              : assay_scale_at(&p->y, value);
        p->at[i].shown = isfinite(p->at[i].x) && isfinite(p->at[i].y);
    }
}

static void draw_axes(struct assay_drawing *d, const struct panel *p, const char *time)
{
    struct assay_plot plot = p->plot;
    struct assay_axis left = left_axis(p);
    struct assay_axis below = {
        .scale = &p->x, .name = time, .label = assay_axis_time, .grid = true};
    assay_axis_draw_below(d, &below, &plot);
    plot.top = p->y.to;
    assay_axis_draw_left(d, &left, &plot);
    if (!p->exact)
        return;
    assay_draw_line(d, p->plot.left, plot.top, p->plot.right, plot.top, ASSAY_DRAW_EVEN, 1,
                    ASSAY_DRAW_DOTTED);
    assay_draw_text(d, p->plot.left - 8, p->plot.top + EXACT / 2.0 + 4, EXACT_WIDTH,
                    (struct assay_draw_font){
                        .size = LABEL, .ink = ASSAY_DRAW_MUTED, .anchor = ASSAY_DRAW_RIGHT},
                    "exact");
}

/* In order of time: the points are. */
static void draw_frontier(struct assay_drawing *d, const struct panel *p)
{
    double xs[MOST_POINTS], ys[MOST_POINTS];
    int64_t n = 0;
    for (int64_t i = 0; i < p->group->n; i++) {
        if (!p->at[i].shown || !p->group->points[i].record->pareto)
            continue;
        xs[n] = p->at[i].x;
        ys[n++] = p->at[i].y;
    }
    assay_draw_path(d, xs, ys, n, ASSAY_DRAW_MUTED, 1.25, ASSAY_DRAW_DASHED);
}

static void draw_point(struct assay_drawing *d, const struct panel *p, int64_t i)
{
    const struct point *point = &p->group->points[i];
    const struct assay_summary *t = &point->m->time;
    const struct assay_record *r = point->record;
    struct assay_text tip = {0};
    enum assay_ink ink = assay_draw_series_ink(point->of);
    assay_text_format(&tip, "%s: %s ±%s · %s MB · %s%s%s", point->name.text,
                      assay_cell_time(t->median).text, assay_cell_spread(point->m).text,
                      assay_cell_megabytes(r->weight_bytes).text,
                      assay_cell_level(r->accuracy_db).text, isfinite(r->accuracy_db) ? " dB" : "",
                      r->pareto ? " · no other is better in all three" : "");
    assay_draw_group(d, point->row, tip.failed ? "" : tip.data);
    if (assay_cell_has_interval(t))
        assay_draw_whisker_x(d, assay_scale_clamped(&p->x, t->median_ci.lo),
                             assay_scale_clamped(&p->x, t->median_ci.hi), p->at[i].y, ink);
    assay_draw_marker(d, p->at[i].x, p->at[i].y, SIZE, assay_draw_series_marker(point->of), ink,
                      !r->pareto);
    assay_draw_group_end(d);
    d->body.failed |= tip.failed;
    assay_text_fini(&tip);
}

/* ---- labels that stand apart ---------------------------------------------------------------- */

struct box {
    double left, top, right, bottom;
};

struct labels {
    const struct panel *panel;
    bool numbers; /* "3" instead of "int8wo": names are in the legend */
    struct box boxes[MOST_POINTS];
    bool placed[MOST_POINTS];
    int64_t missing;
};

static bool meet(const struct box *a, const struct box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

static struct box marker_box(const struct panel *p, int64_t i)
{
    const struct assay_summary *t = &p->group->points[i].m->time;
    double half = SIZE / 2.0 + 1, x = p->at[i].x, y = p->at[i].y, lo = x, hi = x;
    if (assay_cell_has_interval(t)) {
        lo = assay_scale_clamped(&p->x, t->median_ci.lo);
        hi = assay_scale_clamped(&p->x, t->median_ci.hi);
    }
    return (struct box){fmin(x - half, lo), y - half, fmax(x + half, hi), y + half};
}

static bool is_free(const struct labels *l, int64_t i, const struct box *box)
{
    const struct panel *p = l->panel;
    struct box wide = {box->left - APART, box->top, box->right + APART, box->bottom};
    bool free = box->left >= p->plot.left + 2 && box->right <= p->plot.right &&
                box->top >= p->plot.top && box->bottom <= p->plot.bottom;
    for (int64_t k = 0; k < p->group->n && free; k++) {
        struct box marker = marker_box(p, k);
        free = !(p->at[k].shown && meet(box, &marker)) &&
               !(k < i && l->placed[k] && meet(&wide, &l->boxes[k]));
    }
    return free;
}

static void text_of(const struct labels *l, int64_t i, struct assay_cell *cell)
{
    *cell = (struct assay_cell){""};
    if (l->numbers)
        assay_cell_add(cell, "%lld", (long long)i + 1);
    else
        *cell = l->panel->group->points[i].name;
}

/* Around its point, nearer first; far ones get a line to it. */
static bool place(struct labels *l, int64_t i)
{
    static const double sides[][2] = {{1, 0},  {-1, 0}, {0, -1},  {0, 1},
                                      {1, -1}, {1, 1},  {-1, -1}, {-1, 1}};
    enum { NEAR = 2, FAR = 9, STEP = 12, SIDES = sizeof sides / sizeof sides[0] };
    const int rings = l->numbers ? FAR : NEAR; /* many long lines would be a tangle */
    const struct panel *p = l->panel;
    struct assay_cell text;
    text_of(l, i, &text);
    double width = fmin(MOST_LABEL, assay_draw_text_width(text.text, LABEL, false));
    struct box marker = marker_box(p, i);
    for (int ring = 0; ring < rings; ring++)
        for (int s = 0; s < SIDES; s++) {
            double away = 3 + ring * STEP, dx = sides[s][0], dy = sides[s][1];
            double x = dx > 0   ? marker.right + away
                       : dx < 0 ? marker.left - away - width
                                : p->at[i].x - width / 2;
            double y = dy > 0   ? marker.bottom + away
                       : dy < 0 ? marker.top - away - LINE
                                : p->at[i].y - LINE / 2.0;
            struct box box = {x, y, x + width, y + LINE};
            if (!is_free(l, i, &box))
                continue;
            l->boxes[i] = box;
            return true;
        }
    return false;
}

static void place_all(struct labels *l)
{
    l->missing = 0;
    for (int64_t i = 0; i < l->panel->group->n; i++) {
        l->placed[i] = l->panel->at[i].shown && place(l, i);
        l->missing += l->panel->at[i].shown && !l->placed[i];
    }
}

/* A line to the label's nearest edge, where it does not stand beside its point. */
static void draw_leader(struct assay_drawing *d, const struct labels *l, int64_t i)
{
    enum { NEAR = 14 };
    const struct box *box = &l->boxes[i];
    double x = l->panel->at[i].x, y = l->panel->at[i].y;
    double to_x = fmax(box->left - 1, fmin(box->right + 1, x));
    double to_y = fmax(box->top + 2, fmin(box->bottom - 2, y));
    if (hypot(to_x - x, to_y - y) > NEAR)
        assay_draw_line(d, x, y, to_x, to_y, ASSAY_DRAW_EVEN, 0.75, ASSAY_DRAW_SOLID);
}

static void draw_labels(struct assay_drawing *d, const struct labels *l)
{
    for (int64_t i = 0; i < l->panel->group->n; i++) {
        struct assay_cell text;
        if (!l->placed[i])
            continue;
        text_of(l, i, &text);
        assay_draw_text(
            d, l->boxes[i].left, l->boxes[i].bottom - 3, MOST_LABEL + 1,
            (struct assay_draw_font){.size = LABEL, .ink = ASSAY_DRAW_TEXT, .halo = true},
            text.text);
    }
}

/* ---- a group -------------------------------------------------------------------------------- */

static void draw_panel(struct assay_drawing *d, const struct panel *p, struct labels *labels,
                       const char *time)
{
    draw_axes(d, p, time);
    for (int64_t i = 0; i < p->group->n; i++)
        if (labels->placed[i])
            draw_leader(d, labels, i);
    draw_frontier(d, p);
    for (int64_t i = 0; i < p->group->n; i++)
        if (p->at[i].shown)
            draw_point(d, p, i);
    draw_labels(d, labels);
}

/* Which number is which; which marker is which implementation. */
static double draw_group_legend(struct assay_drawing *d, const struct group *g, bool numbers,
                                double y)
{
    struct assay_legend_entry entries[2 * MOST_POINTS];
    struct assay_cell texts[MOST_POINTS];
    int64_t n = 0;
    for (int64_t i = 0; i < g->n && numbers; i++) {
        texts[i] = (struct assay_cell){""};
        assay_cell_add(&texts[i], "%lld %s", (long long)i + 1, g->points[i].name.text);
        entries[n++] = (struct assay_legend_entry){
            .shape = g->points[i].record->pareto ? ASSAY_LEGEND_MARKER : ASSAY_LEGEND_HOLLOW,
            .ink = assay_draw_series_ink(g->points[i].of),
            .marker = assay_draw_series_marker(g->points[i].of),
            .text = texts[i].text};
    }
    for (int64_t i = 0; i < g->n_implementations && g->n_implementations > 1; i++)
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_MARKER,
                                                   .ink = assay_draw_series_ink(i),
                                                   .marker = assay_draw_series_marker(i),
                                                   .text = g->implementations[i]};
    return y +
           assay_legend_draw(d, ASSAY_DRAW_MARGIN, y, d->width - 2 * ASSAY_DRAW_MARGIN, entries, n);
}

static void add_note(const struct group *g, const struct panel *panels, struct assay_text *note)
{
    if (g->left_out)
        assay_text_format(note, "%lld more rows are left out. ", (long long)g->left_out);
    if (panels[0].missing)
        assay_text_format(note, "%lld without an accuracy. ", (long long)panels[0].missing);
    if (panels[1].missing)
        assay_text_format(note, "%lld without the size of the weights. ",
                          (long long)panels[1].missing);
}

static double draw_group(struct assay_drawing *d, struct group *g, double top)
{
    struct panel panels[2] = {{.group = g, .accuracy = true}, {.group = g}};
    struct labels labels[2] = {{.panel = &panels[0]}, {.panel = &panels[1]}};
    struct assay_text note = {0};
    double width = (d->width - 2 * ASSAY_DRAW_MARGIN - BETWEEN) / 2;
    char time[64];
    snprintf(time, sizeof time, "time of a call, %s", assay_cache_state_name(g->state));
    see_times(g);
    bool numbers = false;
    for (int i = 0; i < 2; i++) {
        double left = ASSAY_DRAW_MARGIN + i * (width + BETWEEN);
        panels[i].plot = (struct assay_plot){left, top, left + width - 6, top + PANEL};
        lay_out(&panels[i], left);
        place_all(&labels[i]);
        numbers |= labels[i].missing > 0;
    }
    for (int i = 0; i < 2; i++) {
        labels[i].numbers = numbers;
        if (numbers)
            place_all(&labels[i]);
        draw_panel(d, &panels[i], &labels[i], time);
    }
    struct assay_axis below = {.scale = &panels[0].x, .name = time, .label = assay_axis_time};
    double y = top + PANEL + assay_axis_height(&below, width) + 4;
    y = draw_group_legend(d, g, numbers, y);
    add_note(g, panels, &note);
    if (note.length && !note.failed)
        y = assay_draw_note(d, y + 2, note.data);
    d->body.failed |= note.failed;
    assay_text_fini(&note);
    return y;
}

static double draw_heading(struct assay_drawing *d, const struct group *g, double y)
{
    assay_draw_text(d, ASSAY_DRAW_MARGIN, y + ASSAY_DRAW_TEXT_SIZE,
                    d->width - 2 * ASSAY_DRAW_MARGIN,
                    (struct assay_draw_font){
                        .size = ASSAY_DRAW_TEXT_SIZE, .bold = true, .ink = ASSAY_DRAW_TEXT},
                    assay_chart_group_name(g->book, g->view).text);
    return y + ASSAY_DRAW_TEXT_SIZE + 12;
}

static void summarise(struct assay_drawing *d, const struct group *g)
{
    assay_text_format(&d->summary,
                      "%s, on the frontier:", assay_chart_group_name(g->book, g->view).text);
    bool any = false;
    for (int64_t i = 0; i < g->n; i++)
        if (g->points[i].record->pareto) {
            assay_text_format(&d->summary, "%s %s", any ? "," : "", g->points[i].name.text);
            any = true;
        }
    assay_text_add(&d->summary, any ? ". " : " none. ");
}

static double draw_foot(struct assay_drawing *d, double y, int64_t groups)
{
    struct assay_legend_entry entries[] = {
        {.shape = ASSAY_LEGEND_LINE,
         .ink = ASSAY_DRAW_MUTED,
         .dash = ASSAY_DRAW_DASHED,
         .text = "no other is better in time, size and accuracy"},
        {.shape = ASSAY_LEGEND_HOLLOW, .ink = ASSAY_DRAW_MUTED, .text = "another is"}};
    y += assay_legend_draw(d, ASSAY_DRAW_MARGIN, y, d->width - 2 * ASSAY_DRAW_MARGIN, entries, 2);
    if (groups > MOST_GROUPS) {
        char note[128];
        snprintf(note, sizeof note,
                 "The first %d of %lld groups; --chart pareto:row=N shows the group of row N",
                 MOST_GROUPS, (long long)groups);
        y = assay_draw_note(d, y + 2, note);
    }
    return y;
}

static void pareto_draw(const struct assay_book *book, const struct assay_chart_request *request,
                        struct assay_drawing *d)
{
    struct assay_book_view view = {0};
    int64_t groups = count_groups(book, request), drawn = 0;
    struct assay_cell title = assay_chart_subject(book);
    assay_cell_add(&title, ": time, size and accuracy");
    double y = assay_draw_head(d, title.text, assay_chart_place(book).text);
    for (int64_t i = 0; i < book->n_groups && drawn < MOST_GROUPS; i++) {
        if (!is_shown(book, i, request, &view))
            continue;
        struct group g = {.book = book, .view = &view, .state = state_of(&view, request)};
        gather(&g, i);
        y = draw_group(d, &g, draw_heading(d, &g, y)) + GAP;
        summarise(d, &g);
        drawn++;
    }
    d->body.failed |= groups < 0;
    d->height = draw_foot(d, y, groups) + ASSAY_DRAW_MARGIN;
    assay_book_view_fini(&view);
}

const struct assay_chart assay_chart_pareto = {
    .name = "pareto",
    .summary = "recipes: time against accuracy and size of the weights, the frontier joined",
    .fits = pareto_fits,
    .draw = pareto_draw,
};
