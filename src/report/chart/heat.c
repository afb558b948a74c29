/* heat.c: the chart "heat": a figure over any two axes, as coloured cells. Cache states, and axes
 * besides, have panels of their own; chart_heat.c draws a cell. */
#include "report/chart/chart.h"

#include "base/alloc.h"
#include "report/chart/chart_heat.h"
#include "report/chart/chart_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_VALUES = 40, /* of an axis */
    MOST_CLASSES = 6, /* combinations of the axes besides */
    MOST_TIPS = 1600,
    PANEL_TITLE = 24,
    APART = 26
};

struct heat {
    const struct assay_book *book;
    struct assay_chart_axes axes;
    struct assay_chart_points points;
    struct assay_chart_sweeps sweeps;
    struct assay_chart_classes series, rest;
    enum assay_chart_figure figure;
    int64_t x, y;
    bool swept; /* both axes are */
    bool states[ASSAY_CACHE_STATES];
    int64_t n_states;
    int64_t several;          /* cells that several rows share */
    struct assay_cell *names; /* of the series */
};

static void fini(struct heat *h)
{
    assay_free(h->names);
    assay_chart_classes_fini(&h->series);
    assay_chart_classes_fini(&h->rest);
    assay_chart_points_fini(&h->points);
    assay_chart_axes_fini(&h->axes);
}

/* ---- does it fit? --------------------------------------------------------------------------- */

/* Has one anything to say beside the other? */
static bool are_apart(const struct assay_chart_axes *axes, int64_t a, int64_t b)
{
    return a != b && !assay_chart_axes_follows(axes, a, b) && !assay_chart_axes_follows(axes, b, a);
}

/* The first of those that say most, beside `other` where that is one. */
static int64_t choose(const struct heat *h, int64_t other, bool variants)
{
    const int64_t order[] = {h->sweeps.x,
                             h->sweeps.y,
                             ASSAY_CHART_AXIS_IMPLEMENTATION,
                             ASSAY_CHART_AXIS_RECIPE,
                             ASSAY_CHART_AXIS_SHAPE,
                             ASSAY_CHART_AXIS_DTYPE,
                             ASSAY_CHART_AXIS_OP,
                             ASSAY_CHART_AXIS_MODE,
                             ASSAY_CHART_AXIS_THREADS,
                             ASSAY_CHART_AXIS_LABEL,
                             ASSAY_CHART_AXIS_ENTRY,
                             ASSAY_CHART_AXIS_COMPILE,
                             ASSAY_CHART_AXIS_MACHINE,
                             ASSAY_CHART_AXIS_DEVICE,
                             ASSAY_CHART_AXIS_RUN};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int64_t a = order[i];
        if (a >= 0 && assay_chart_axis_varies(&h->axes.axes[a]) &&
            (variants || !h->axes.axes[a].of_variants) &&
            (other < 0 || are_apart(&h->axes, a, other)))
            return a;
    }
    return -1;
}

static size_t longest(const struct assay_chart_axis *axis)
{
    size_t most = 0;
    for (int64_t i = 0; i < axis->n; i++) {
        size_t length = strlen(axis->values[i].text);
        most = length > most ? length : most;
    }
    return most;
}

/* Numbers go along x; of two others the longer names stand on the left. */
static bool is_better_turned(const struct heat *h)
{
    const struct assay_chart_axis *x = &h->axes.axes[h->x], *y = &h->axes.axes[h->y];
    if (x->numeric || y->numeric)
        return !x->numeric;
    return longest(x) > longest(y);
}

static bool find_named(const struct heat *h, const char *name, int64_t *axis, char *why,
                       size_t size)
{
    char names[ASSAY_CHART_WHY / 2];
    assay_chart_axes_names(&h->axes, false, names, sizeof names);
    if (name)
        *axis = assay_chart_axes_named(&h->axes, name);
    if (name && *axis < 0)
        return assay_chart_unfit(why, size, "there is no axis \"%.20s\"; those that vary: %s", name,
                                 names[0] ? names : "none");
    return true;
}

static bool choose_axes(struct heat *h, const struct assay_chart_request *request, char *why,
                        size_t size)
{
    bool variants = !request->figure || h->figure != ASSAY_CHART_WINNER;
    char names[ASSAY_CHART_WHY / 2];
    h->x = h->y = -1;
    if (!find_named(h, request->x, &h->x, why, size) ||
        !find_named(h, request->y, &h->y, why, size))
        return false;
    if (h->x < 0)
        h->x = choose(h, h->y, variants);
    if (h->y < 0 && h->x >= 0)
        h->y = choose(h, h->x, variants);
    assay_chart_axes_names(&h->axes, false, names, sizeof names);
    if (h->x < 0 || h->y < 0)
        return assay_chart_unfit(why, size, "it takes two axes that vary; there %s: %s",
                                 strchr(names, ',') ? "are" : "is", names[0] ? names : "none");
    if (h->x == h->y)
        return assay_chart_unfit(why, size, "x and y are the same axis; those that vary: %s",
                                 names);
    if (!request->x && !request->y && is_better_turned(h)) {
        int64_t x = h->x;
        h->x = h->y;
        h->y = x;
    }
    h->swept = h->x == h->sweeps.x && h->y == h->sweeps.y;
    return true;
}

static bool is_of_variants(const struct heat *h)
{
    return h->axes.axes[h->x].of_variants || h->axes.axes[h->y].of_variants;
}

/* Of several variants who wins; of two, or where they have a direction, by how much. */
static enum assay_chart_figure best_figure(const struct heat *h)
{
    bool ratios = assay_chart_points_have(&h->points, ASSAY_CHART_SPEEDUP);
    if (!is_of_variants(h) && h->series.n > 2 &&
        assay_chart_points_have(&h->points, ASSAY_CHART_WINNER))
        return ASSAY_CHART_WINNER;
    if (ratios)
        return ASSAY_CHART_SPEEDUP;
    return assay_chart_points_have(&h->points, ASSAY_CHART_CEILING) ? ASSAY_CHART_CEILING
                                                                    : ASSAY_CHART_TIME;
}

static bool check_figure(const struct heat *h, const char *name, char *why, size_t size)
{
    bool timed = assay_chart_points_have(&h->points, ASSAY_CHART_TIME);
    if (name && timed && !assay_chart_points_have(&h->points, h->figure))
        return assay_chart_unfit(why, size, "no row %s",
                                 h->figure == ASSAY_CHART_WINNER    ? "is the fastest of its group"
                                 : h->figure == ASSAY_CHART_CEILING ? "has a ceiling"
                                 : h->figure == ASSAY_CHART_SPEEDUP ? "has a speedup"
                                                                    : "has a bandwidth");
    if (h->figure == ASSAY_CHART_WINNER && is_of_variants(h))
        return assay_chart_unfit(
            why, size, "a winner is a group's: implementation and recipe cannot be its axes");
    return true;
}

static bool prepare(struct heat *h, const struct assay_book *book,
                    const struct assay_chart_request *request, char *why, size_t size)
{
    *h = (struct heat){.book = book};
    assay_chart_axes_find(book, &h->axes);
    assay_chart_points_find(book, request, &h->points);
    if (!h->axes.failed && !h->points.failed)
        h->sweeps = assay_chart_sweeps_find(&h->axes);
    if (h->axes.failed || h->points.failed || h->sweeps.failed ||
        !assay_chart_series_find(&h->axes, &h->series))
        return assay_chart_unfit(why, size, ASSAY_CHART_NO_MEMORY);
    if (request->figure)
        h->figure = assay_chart_figure_named(request->figure);
    if (h->figure == ASSAY_CHART_FIGURES)
        return assay_chart_unfit(
            why, size, "it has no figure \"%.20s\": speedup, ceiling, time, bandwidth or winner",
            request->figure);
    if (h->points.n == 0)
        return assay_chart_unfit(why, size, "no row has figures");
    if (!assay_chart_takes_no_row(request, why, size) || !choose_axes(h, request, why, size))
        return false;
    if (!request->figure)
        h->figure = best_figure(h);
    return check_figure(h, request->figure, why, size);
}

static int fits(const struct assay_book *book, const struct assay_chart_request *request, char *why,
                size_t size)
{
    enum { FEW = 3 };
    struct heat h;
    int fit = ASSAY_CHART_UNFIT;
    if (prepare(&h, book, request, why, size)) {
        bool timed = assay_chart_points_have(&h.points, ASSAY_CHART_TIME);
        bool grid = h.swept && h.sweeps.nx >= FEW && h.sweeps.ny >= FEW;
        fit = grid && timed ? ASSAY_CHART_BEST : ASSAY_CHART_POSSIBLE;
    }
    fini(&h);
    return fit;
}

/* ---- panels by the axes besides ------------------------------------------------------------- */

/* Speedups of the baseline are all 1: where variants have panels it needs none. */
static void leave_out_baselines(struct heat *h)
{
    bool *others = assay_calloc((size_t)h->rest.n + 1, sizeof *others);
    int64_t n = 0;
    for (int64_t i = 0; others && i < h->points.n; i++) {
        const struct assay_chart_point *p = &h->points.points[i];
        bool *its = &others[h->rest.of[p->record]];
        n += !*its && !p->baseline;
        *its |= !p->baseline;
    }
    for (int64_t i = 0; others && n > 0 && i < h->rest.n; i++)
        if (!others[i])
            h->rest.classes[i].n = 0;
    if (n > 0)
        assay_chart_classes_limit(&h->rest, n < MOST_CLASSES ? n : MOST_CLASSES);
    assay_free(others);
}

static bool find_panels(struct heat *h)
{
    int64_t which[ASSAY_CHART_AXES_MOST], used[] = {h->x, h->y};
    enum assay_chart_rest rest = h->swept ? ASSAY_CHART_REST_STRICT : ASSAY_CHART_REST_LOOSE;
    bool variants = h->figure != ASSAY_CHART_WINNER;
    int64_t n = assay_chart_rest_find(&h->axes, used, 2, rest, variants, which);
    if (!assay_chart_classes_find(&h->axes, which, n, &h->rest))
        return false;
    if (h->figure == ASSAY_CHART_SPEEDUP)
        leave_out_baselines(h);
    assay_chart_classes_limit(&h->rest, MOST_CLASSES);
    bool any = h->points.states[ASSAY_CACHE_HOT] || h->points.states[ASSAY_CACHE_COLD];
    for (int64_t i = 0; i < h->points.n && !any; i++)
        h->states[h->points.points[i].state] = true;
    for (int i = 0; i < ASSAY_CACHE_STATES; i++) {
        h->states[i] = any ? h->points.states[i] : h->states[i];
        h->n_states += h->states[i];
    }
    h->names = assay_calloc((size_t)h->series.n + 1, sizeof *h->names);
    for (int64_t i = 0; h->names && i < h->series.n; i++)
        h->names[i] = assay_chart_class_name(&h->axes, &h->series, i);
    return h->names != NULL;
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* The values of an axis that a panel has. */
struct side {
    const struct assay_chart_axis *axis;
    int64_t number;              /* of the axis */
    int32_t values[MOST_VALUES]; /* those that are drawn */
    int64_t n, of;               /* drawn, of how many */
};

/* All states of one of the combinations of the axes besides. */
struct panel {
    int64_t index; /* the class */
    struct side x, y;
    struct assay_heat_cell *cells[ASSAY_CACHE_STATES]; /* a row of x for each y; NULL: no state */
};

static int64_t place_in(const struct side *side, int64_t value)
{
    for (int64_t i = 0; i < side->n; i++)
        if (side->values[i] == value)
            return i;
    return -1;
}

/* Of too many numbers every second or third is drawn, of other values the first. */
static bool find_side(const struct heat *h, int64_t axis, int64_t index, struct side *side)
{
    *side = (struct side){.axis = &h->axes.axes[axis], .number = axis};
    bool *seen = assay_calloc((size_t)side->axis->n + 1, sizeof *seen);
    for (int64_t r = 0; seen && r < h->axes.n_records; r++) {
        int64_t at = assay_chart_axes_at(&h->axes, axis, r);
        if (at >= 0 && h->rest.of[r] == index) {
            side->of += !seen[at];
            seen[at] = true;
        }
    }
    int64_t step = side->axis->numeric ? (side->of + MOST_VALUES - 1) / MOST_VALUES : 1, nth = 0;
    for (int64_t v = 0; seen && v < side->axis->n; v++)
        if (seen[v] && nth++ % step == 0 && side->n < MOST_VALUES)
            side->values[side->n++] = (int32_t)v;
    assay_free(seen);
    return seen != NULL;
}

static bool find_cells(struct heat *h, struct panel *panel, const struct assay_heat_look *look)
{
    bool whole = true;
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        size_t n = (size_t)(panel->x.n * panel->y.n) + 1;
        if (h->states[s])
            panel->cells[s] = assay_calloc(n, sizeof *panel->cells[s]);
        whole &= !h->states[s] || panel->cells[s];
    }
    for (int64_t i = 0; i < h->points.n && whole; i++) {
        const struct assay_chart_point *p = &h->points.points[i];
        if (h->rest.of[p->record] != panel->index || !h->states[p->state])
            continue;
        int64_t x = place_in(&panel->x, assay_chart_axes_at(&h->axes, h->x, p->record));
        int64_t y = place_in(&panel->y, assay_chart_axes_at(&h->axes, h->y, p->record));
        if (x >= 0 && y >= 0)
            whole =
                assay_heat_add(&panel->cells[p->state][y * panel->x.n + x], look, &h->series, p);
    }
    return whole;
}

static bool find_panel(struct heat *h, int64_t index, const struct assay_heat_look *look,
                       struct panel *panel)
{
    panel->index = index;
    return find_side(h, h->x, index, &panel->x) && find_side(h, h->y, index, &panel->y) &&
           find_cells(h, panel, look);
}

static void see_cell(struct heat *h, const struct assay_heat_cell *cell,
                     struct assay_heat_look *look, struct assay_heat_seen *seen)
{
    bool coloured = cell->kind == ASSAY_HEAT_VALUE || cell->kind == ASSAY_HEAT_BASELINE;
    seen->kinds[cell->kind] = true;
    seen->striped |= coloured && !cell->clear;
    h->several += cell->rows > 1;
    if (coloured)
        assay_scale_see(&look->scale, cell->value);
    if (cell->kind == ASSAY_HEAT_WON)
        seen->series[cell->series] = true;
}

static void see_panel(struct heat *h, const struct panel *panel, struct assay_heat_look *look,
                      struct assay_heat_seen *seen)
{
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        for (int64_t i = 0; panel->cells[s] && i < panel->x.n * panel->y.n; i++)
            see_cell(h, &panel->cells[s][i], look, seen);
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void label_side(const void *user, double value, char *text, size_t size)
{
    const struct side *side = user;
    const struct assay_chart_value *v = &side->axis->values[side->values[(int64_t)value]];
    if (side->number == ASSAY_CHART_AXIS_MEMORY)
        assay_axis_memory(NULL, v->number, text, size);
    else
        snprintf(text, size, "%s", v->text);
}

/* Numbers grow upwards; names stand from the top to the bottom. */
static struct assay_scale scale_of(const struct side *side, double from, double to, bool upwards)
{
    bool turned = upwards && side->axis->numeric;
    return assay_scale_bands(side->n, turned ? to : from, turned ? from : to);
}

static double cell_height(const struct side *y) { return y->n <= 16 ? 26 : y->n <= 28 ? 20 : 15; }

/* Without its name where that is longer than the axis. */
static struct assay_axis left_axis(const struct side *y, const struct assay_scale *scale)
{
    struct assay_axis axis = {.scale = scale, .label = label_side, .user = y};
    double name = assay_draw_text_width(y->axis->name, ASSAY_DRAW_SMALL_SIZE + 1, false);
    if (name <= cell_height(y) * (double)y->n)
        axis.name = y->axis->name;
    return axis;
}

/* Pixels for a cell in a panel of this width, with its names on the left. */
static double cell_width(const struct panel *panel, double width)
{
    enum { WIDEST = 120 };
    struct assay_scale scale = scale_of(&panel->y, 0, 1, true);
    struct assay_axis axis = left_axis(&panel->y, &scale);
    return fmin(WIDEST, (width - assay_axis_width(&axis)) / (double)panel->x.n);
}

static double draw_cells(struct assay_drawing *d, const struct panel *panel, int state,
                         const struct assay_heat_look *look, double x, double y, double width)
{
    double each = cell_width(panel, width), height = cell_height(&panel->y);
    struct assay_scale xs, ys = scale_of(&panel->y, y, y + height * (double)panel->y.n, true);
    struct assay_axis left = left_axis(&panel->y, &ys);
    double from = x + assay_axis_width(&left), to = from + each * (double)panel->x.n;
    struct assay_plot plot = {from, y, to, y + height * (double)panel->y.n};
    xs = scale_of(&panel->x, from, to, false);
    struct assay_axis below = {&xs, panel->x.axis->name, label_side, &panel->x, false};
    for (int64_t i = 0; i < panel->x.n * panel->y.n; i++)
        assay_heat_draw(d, look, &panel->cells[state][i],
                        assay_scale_at(&xs, (double)(i % panel->x.n)) - each / 2,
                        assay_scale_at(&ys, (double)(i / panel->x.n)) - height / 2, each, height);
    assay_axis_draw_left(d, &left, &plot);
    assay_axis_draw_below(d, &below, &plot);
    return plot.bottom + assay_axis_height(&below, to - from);
}

static struct assay_cell title_of(const struct heat *h, int64_t index, int state)
{
    struct assay_cell cell = assay_chart_class_name(&h->axes, &h->rest, index);
    if (h->n_states > 1)
        assay_cell_add(&cell, "%s%s", cell.text[0] ? " · " : "",
                       assay_cache_state_name((enum assay_cache_state)state));
    return cell;
}

static double draw_panel(struct assay_drawing *d, const struct heat *h, const struct panel *panel,
                         int state, const struct assay_heat_look *look, double x, double y,
                         double width)
{
    struct assay_cell title = title_of(h, panel->index, state);
    if (title.text[0]) {
        assay_draw_text(d, x, y + 13, width,
                        (struct assay_draw_font){
                            .size = ASSAY_DRAW_TEXT_SIZE, .bold = true, .ink = ASSAY_DRAW_TEXT},
                        title.text);
        y += PANEL_TITLE;
    }
    return draw_cells(d, panel, state, look, x, y, width);
}

/* Two panels side by side where cells keep their texts, else one below the other. */
static int64_t count_columns(const struct heat *h, const struct panel *panels, double width)
{
    static const double enough[ASSAY_CHART_FIGURES] = {[ASSAY_CHART_TIME] = 56,
                                                       [ASSAY_CHART_BANDWIDTH] = 62,
                                                       [ASSAY_CHART_SPEEDUP] = 42,
                                                       [ASSAY_CHART_CEILING] = 36,
                                                       [ASSAY_CHART_WINNER] = 30};
    double half = (width - APART) / 2;
    if (h->rest.n_shown * h->n_states < 2)
        return 1;
    for (int64_t i = 0; i < h->rest.n_shown; i++)
        if (cell_width(&panels[i], half) < enough[h->figure])
            return 1;
    return 2;
}

static double draw_panels(struct assay_drawing *d, const struct heat *h, const struct panel *panels,
                          const struct assay_heat_look *look, double y)
{
    double width = d->width - 2 * ASSAY_DRAW_MARGIN, below = y;
    int64_t columns = count_columns(h, panels, width), drawn = 0;
    double each = (width - APART * (double)(columns - 1)) / (double)columns;
    for (int64_t i = 0; i < h->rest.n_shown; i++)
        for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
            if (!h->states[s])
                continue;
            int64_t column = drawn++ % columns;
            y = column == 0 && drawn > 1 ? below + APART / 2 : y;
            double bottom =
                draw_panel(d, h, &panels[i], s, look,
                           ASSAY_DRAW_MARGIN + (double)column * (each + APART), y, each);
            below = column == 0 ? bottom : fmax(below, bottom);
        }
    return below;
}

/* ---- the texts around ----------------------------------------------------------------------- */

static const char *figure_title(enum assay_chart_figure figure)
{
    return figure == ASSAY_CHART_CEILING  ? "% of ceiling"
           : figure == ASSAY_CHART_WINNER ? "the fastest"
                                          : assay_chart_figure_name(figure);
}

static double draw_head(struct assay_drawing *d, const struct heat *h)
{
    struct assay_cell title = assay_chart_subject(h->book), place = assay_chart_place(h->book);
    struct assay_cell fixed = assay_chart_fixed(&h->axes);
    struct assay_text subtitle = {0};
    assay_cell_add(&title, ": %s by %s and %s", figure_title(h->figure), h->axes.axes[h->x].name,
                   h->axes.axes[h->y].name);
    if (h->n_states == 1)
        assay_cell_add(&title, ", %s",
                       assay_cache_state_name(h->states[ASSAY_CACHE_HOT] ? ASSAY_CACHE_HOT
                                                                         : ASSAY_CACHE_COLD));
    assay_text_format(&subtitle, "%s%s%s", place.text, fixed.text[0] ? " · " : "", fixed.text);
    double y = assay_draw_head(d, title.text, subtitle.data ? subtitle.data : "");
    d->body.failed |= subtitle.failed;
    assay_text_fini(&subtitle);
    return y;
}

static void note_side(struct assay_text *note, const struct side *side)
{
    if (side->n < side->of)
        assay_text_format(note, "%lld of %lld values of %s are drawn%s.\n", (long long)side->n,
                          (long long)side->of, side->axis->name,
                          side->axis->numeric ? ", evenly chosen" : ", the first");
}

static double draw_notes(struct assay_drawing *d, const struct heat *h, const struct panel *panels,
                         double y)
{
    struct assay_text note = {0};
    struct assay_cell failures = assay_chart_failures(&h->points);
    if (h->rest.n_shown > 0) {
        note_side(&note, &panels[0].x);
        note_side(&note, &panels[0].y);
    }
    if (h->rest.n_shown < h->rest.n && h->rest.n_shown == MOST_CLASSES)
        assay_text_format(&note,
                          "%lld of %lld combinations of the other axes are drawn, those with the "
                          "most rows.\n",
                          (long long)h->rest.n_shown, (long long)h->rest.n);
    if (h->several > 0)
        assay_text_format(&note,
                          "In %lld cell%s several rows meet, which differ in other axes: "
                          "the first is shown.\n",
                          (long long)h->several, h->several == 1 ? "" : "s");
    if (failures.text[0])
        assay_text_format(&note, "Without a result: %s.\n", failures.text);
    if (note.length)
        y = assay_draw_note(d, y, note.data);
    assay_text_format(&d->summary, "%s by %s and %s as coloured cells%s%s.",
                      figure_title(h->figure), h->axes.axes[h->x].name, h->axes.axes[h->y].name,
                      failures.text[0] ? "; without a result: " : "", failures.text);
    d->body.failed |= note.failed;
    assay_text_fini(&note);
    return y;
}

/* ---- the chart ------------------------------------------------------------------------------ */

/* Names stand in cells where that of every winner fits. */
static bool names_fit(const struct heat *h, const struct panel *panels,
                      const struct assay_heat_seen *seen, double width)
{
    enum { AROUND = 14 };
    double least = width;
    int64_t columns = count_columns(h, panels, width);
    for (int64_t i = 0; i < h->rest.n_shown; i++)
        least = fmin(least, cell_width(&panels[i],
                                       (width - APART * (double)(columns - 1)) / (double)columns));
    for (int64_t i = 0; i < h->series.n; i++)
        if (seen->series[i] &&
            assay_draw_text_width(h->names[i].text, ASSAY_DRAW_SMALL_SIZE, false) + AROUND > least)
            return false;
    return true;
}

static bool draw_all(struct assay_drawing *d, struct heat *h, struct panel *panels)
{
    struct assay_chart_reader reader = {.book = h->book};
    struct assay_heat_seen seen = {.series = assay_calloc((size_t)h->series.n + 1, sizeof(bool)),
                                   .n_series = h->series.n};
    struct assay_heat_look look = {.figure = h->figure, .series = h->names, .reader = &reader};
    int64_t n = 0, cells = 0;
    bool whole = seen.series != NULL;
    assay_heat_scale_init(&look.scale, h->figure);
    for (int64_t c = 0; c < h->rest.n && whole; c++) {
        if (!h->rest.classes[c].shown)
            continue;
        whole = find_panel(h, c, &look, &panels[n]);
        if (whole)
            see_panel(h, &panels[n], &look, &seen);
        cells += panels[n].x.n * panels[n].y.n * h->n_states;
        n++;
    }
    if (whole) {
        assay_heat_scale_round(&look.scale, h->figure);
        look.tips = cells <= MOST_TIPS;
        look.named = names_fit(h, panels, &seen, d->width - 2 * ASSAY_DRAW_MARGIN);
        double y = draw_head(d, h);
        y = assay_heat_legend(d, &look, &seen, y) + 12;
        y = draw_panels(d, h, panels, &look, y);
        d->height = ceil(draw_notes(d, h, panels, y + 6) + ASSAY_DRAW_MARGIN / 2.0);
    }
    assay_free(seen.series);
    assay_chart_reader_fini(&reader);
    return whole;
}

static void draw(const struct assay_book *book, const struct assay_chart_request *request,
                 struct assay_drawing *drawing)
{
    char why[ASSAY_CHART_WHY];
    struct panel panels[MOST_CLASSES] = {0};
    struct heat h;
    bool whole = prepare(&h, book, request, why, sizeof why) && find_panels(&h) &&
                 draw_all(drawing, &h, panels);
    drawing->body.failed |= !whole; /* it fits, so that memory is missing */
    for (int i = 0; i < MOST_CLASSES; i++)
        for (int s = 0; s < ASSAY_CACHE_STATES; s++)
            assay_free(panels[i].cells[s]);
    fini(&h);
}

const struct assay_chart assay_chart_heat = {
    .name = "heat",
    .summary = "speedup, % of ceiling, time, bandwidth or the winner over any two axes",
    .fits = fits,
    .draw = draw,
};
