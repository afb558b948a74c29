/* sweep.c: the chart "sweep": a figure along a numeric axis, a line for each variant. Cache states,
 * and axes besides, have panels of their own; chart_sweep.c draws one. */
#include "report/chart/chart.h"

#include "base/alloc.h"
#include "report/chart/chart_split.h"
#include "report/chart/chart_sweep.h"
#include "report/chart/chart_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SERIES = 40,
    MOST_CLASSES = 6, /* combinations of the axes besides */
    MOST_TIPS = 800,
    MOST_MARKERS = 4000,
    WITH_BANDS = 8, /* series */
    PANEL_TITLE = 27,
    APART = 26, /* between panels */
    NAMES = 170 /* pixels of names at line ends, at the most */
};

struct sweep {
    const struct assay_book *book;
    struct assay_chart_axes axes;
    struct assay_chart_points points;
    struct assay_chart_sweeps sweeps;
    struct assay_chart_classes series, rest;
    enum assay_chart_figure figure;
    int64_t x;
    struct assay_sweep_mark *marks;
    int64_t n, without_x;
    bool states[ASSAY_CACHE_STATES]; /* that have panels */
    int64_t n_states;
};

static void fini(struct sweep *s)
{
    assay_free(s->marks);
    assay_chart_classes_fini(&s->series);
    assay_chart_classes_fini(&s->rest);
    assay_chart_points_fini(&s->points);
    assay_chart_axes_fini(&s->axes);
}

/* ---- does it fit? --------------------------------------------------------------------------- */

static bool choose_figure(struct sweep *s, const char *name, char *why, size_t size)
{
    s->figure = name ? assay_chart_figure_named(name) : ASSAY_CHART_TIME;
    if (s->figure >= ASSAY_CHART_WINNER)
        return assay_chart_unfit(
            why, size, "it has no figure \"%s\": time, bandwidth, speedup or ceiling", name);
    if (!assay_chart_points_have(&s->points, s->figure))
        return assay_chart_unfit(why, size, "no row has a %s", assay_chart_figure_name(s->figure));
    return true;
}

static bool choose_axis(struct sweep *s, const char *name, char *why, size_t size)
{
    char names[ASSAY_CHART_WHY / 2];
    assay_chart_axes_names(&s->axes, true, names, sizeof names);
    const char *has = names[0] ? names : "none";
    s->x = s->sweeps.x >= 0 ? s->sweeps.x : ASSAY_CHART_AXIS_MEMORY;
    if (name)
        s->x = assay_chart_axes_named(&s->axes, name);
    if (s->x < 0)
        return assay_chart_unfit(
            why, size, "there is no axis \"%.20s\"; numeric ones that vary: %s", name, has);
    const struct assay_chart_axis *axis = &s->axes.axes[s->x];
    if (!axis->numeric)
        return assay_chart_unfit(why, size, "%s is not a number; numeric axes that vary: %s",
                                 axis->name, has);
    if (axis->n > 1)
        return true;
    if (name)
        return assay_chart_unfit(why, size, "%s has a single value; numeric axes that vary: %s",
                                 name, has);
    assay_chart_axes_names(&s->axes, false, names, sizeof names);
    return assay_chart_unfit(why, size, "no numeric axis varies%s%s", names[0] ? ", only " : "",
                             names);
}

/* Finds everything but the marks; false where it does not fit. */
static bool prepare(struct sweep *s, const struct assay_book *book,
                    const struct assay_chart_request *request, char *why, size_t size)
{
    *s = (struct sweep){.book = book};
    assay_chart_axes_find(book, &s->axes);
    assay_chart_points_find(book, request, &s->points);
    if (!s->axes.failed && !s->points.failed)
        s->sweeps = assay_chart_sweeps_find(&s->axes);
    if (s->axes.failed || s->points.failed || s->sweeps.failed)
        return assay_chart_unfit(why, size, ASSAY_CHART_NO_MEMORY);
    if (request->y)
        return assay_chart_unfit(why, size, "it has no second axis: its y is a figure");
    return assay_chart_takes_no_row(request, why, size) &&
           choose_figure(s, request->figure, why, size) && choose_axis(s, request->x, why, size);
}

static int fits(const struct assay_book *book, const struct assay_chart_request *request, char *why,
                size_t size)
{
    enum { FEW = 3, SHORT = ASSAY_CHART_GOOD - 20, GRID = ASSAY_CHART_GOOD + 10 };
    struct sweep s;
    int fit = ASSAY_CHART_UNFIT;
    if (prepare(&s, book, request, why, size)) {
        fit = ASSAY_CHART_POSSIBLE;
        if (s.sweeps.nx >= FEW)
            fit = s.sweeps.ny >= FEW ? GRID : ASSAY_CHART_BEST;
        else if (s.sweeps.nx == 2)
            fit = SHORT;
    }
    fini(&s);
    return fit;
}

/* ---- marks ---------------------------------------------------------------------------------- */

static int by_line(const void *a, const void *b)
{
    const struct assay_sweep_mark *p = a, *q = b;
    if (p->panel != q->panel)
        return p->panel < q->panel ? -1 : 1;
    if (p->series != q->series)
        return p->series < q->series ? -1 : 1;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return (p->point->record > q->point->record) - (p->point->record < q->point->record);
}

/* The number of a class among those that are shown. */
static int64_t shown_before(const struct assay_chart_classes *classes, int64_t index)
{
    int64_t n = 0;
    for (int64_t i = 0; i < index; i++)
        n += classes->classes[i].shown;
    return n;
}

static void add_mark(struct sweep *s, const struct assay_chart_point *p, const int64_t *ranks)
{
    int64_t rest = s->rest.of[p->record], series = s->series.of[p->record];
    int64_t at = assay_chart_axes_at(&s->axes, s->x, p->record);
    if (!s->rest.classes[rest].shown || !s->series.classes[series].shown || !s->states[p->state])
        return;
    if (at < 0) {
        s->without_x++;
        return;
    }
    int64_t panel = shown_before(&s->rest, rest) * ASSAY_CACHE_STATES + p->state;
    s->marks[s->n++] =
        (struct assay_sweep_mark){panel, ranks[series], s->axes.axes[s->x].values[at].number, p};
}

static void find_states(struct sweep *s)
{
    bool any = s->points.states[ASSAY_CACHE_HOT] || s->points.states[ASSAY_CACHE_COLD];
    for (int i = 0; i < ASSAY_CACHE_STATES; i++) {
        s->states[i] = any ? s->points.states[i] : i == ASSAY_CACHE_HOT;
        s->n_states += s->states[i];
    }
}

/* Where nothing is swept, or another axis is asked for, a line may take other axes along. */
static enum assay_chart_rest rule_of(const struct sweep *s)
{
    return s->x == s->sweeps.x ? ASSAY_CHART_REST_STRICT : ASSAY_CHART_REST_LOOSE;
}

static bool find_classes(struct sweep *s)
{
    int64_t which[ASSAY_CHART_AXES_MOST];
    int64_t n = assay_chart_rest_find(&s->axes, &s->x, 1, rule_of(s), false, which);
    if (!assay_chart_classes_find(&s->axes, which, n, &s->rest) ||
        !assay_chart_series_find(&s->axes, &s->series))
        return false;
    assay_chart_classes_limit(&s->rest, MOST_CLASSES);
    assay_chart_classes_limit(&s->series, MOST_SERIES);
    return true;
}

static bool find_marks(struct sweep *s)
{
    if (!find_classes(s))
        return false;
    int64_t *ranks = assay_calloc((size_t)s->series.n + 1, sizeof *ranks);
    s->marks = assay_calloc((size_t)s->points.n + 1, sizeof *s->marks);
    find_states(s);
    for (int64_t i = 0; ranks && i < s->series.n; i++)
        ranks[i] = shown_before(&s->series, i);
    for (int64_t i = 0; ranks && s->marks && i < s->points.n; i++)
        add_mark(s, &s->points.points[i], ranks);
    if (s->n > 0)
        qsort(s->marks, (size_t)s->n, sizeof *s->marks, by_line);
    bool found = ranks && s->marks;
    assay_free(ranks);
    return found;
}

/* ---- scales --------------------------------------------------------------------------------- */

/* The scale on which the nearest two of the values stand farther apart. */
static enum assay_scale_kind kind_of(const struct assay_chart_axis *axis)
{
    const struct assay_chart_value *v = axis->values;
    double lo = v[0].number, hi = v[axis->n - 1].number, linear = 1, log_of = 1;
    if (!(lo > 0) || !(hi > lo))
        return ASSAY_SCALE_LINEAR;
    for (int64_t i = 1; i < axis->n; i++) {
        linear = fmin(linear, (v[i].number - v[i - 1].number) / (hi - lo));
        log_of = fmin(log_of, log(v[i].number / v[i - 1].number) / log(hi / lo));
    }
    return log_of >= linear ? ASSAY_SCALE_LOG : ASSAY_SCALE_LINEAR;
}

static struct assay_scale x_scale(const struct sweep *s)
{
    struct assay_scale scale;
    assay_scale_init(&scale, kind_of(&s->axes.axes[s->x]));
    for (int64_t i = 0; i < s->n; i++)
        assay_scale_see(&scale, s->marks[i].x);
    assay_scale_round(&scale);
    return scale;
}

static void label_figure(const void *user, double value, char *text, size_t size)
{
    assay_chart_figure_label(*(const enum assay_chart_figure *)user, value, text, size);
}

/* ---- panels --------------------------------------------------------------------------------- */

/* The marks of one class of the axes besides, in one state. */
static struct assay_sweep_panel panel_of(const struct sweep *s, int64_t number)
{
    struct assay_sweep_panel panel = {.figure = s->figure,
                                      .bands = s->series.n_shown <= WITH_BANDS,
                                      .markers = s->n <= MOST_MARKERS};
    int64_t first = 0;
    while (first < s->n && s->marks[first].panel < number)
        first++;
    panel.marks = s->marks + first;
    while (first + panel.n < s->n && panel.marks[panel.n].panel == number)
        panel.n++;
    return panel;
}

/* One for all states of a class, so that they can be compared. */
static struct assay_scale y_scale(const struct sweep *s, int64_t class_index)
{
    struct assay_scale scale;
    bool linear = s->figure == ASSAY_CHART_CEILING;
    assay_scale_init(&scale, linear ? ASSAY_SCALE_LINEAR : ASSAY_SCALE_LOG);
    for (int64_t state = 0; state < ASSAY_CACHE_STATES; state++) {
        struct assay_sweep_panel panel = panel_of(s, class_index * ASSAY_CACHE_STATES + state);
        assay_sweep_see(&panel, &scale);
    }
    assay_scale_round(&scale);
    return scale;
}

/* Where panels stand, and what they have in common. */
struct grid {
    int64_t columns;
    double width, height; /* of a panel with its axes; of its plot */
    double names;         /* right of the plot; 0: a legend names the lines */
    struct assay_scale x;
    char x_name[40];
};

static struct assay_cell title_of(const struct sweep *s, int64_t index, int64_t state)
{
    struct assay_cell cell = assay_chart_class_name(&s->axes, &s->rest, index);
    if (s->n_states > 1)
        assay_cell_add(&cell, "%s%s", cell.text[0] ? " · " : "",
                       assay_cache_state_name((enum assay_cache_state)state));
    return cell;
}

/* With the top left corner of its plot's row at `x`, `y`. Markers at the ends keep off the axes. */
static void place_panel(const struct sweep *s, const struct grid *grid, double x, double y,
                        struct assay_sweep_panel *panel)
{
    enum { INSET = 10 };
    bool memory = s->x == ASSAY_CHART_AXIS_MEMORY;
    panel->x_scale = grid->x;
    panel->x = (struct assay_axis){.scale = &panel->x_scale,
                                   .name = grid->x_name,
                                   .label = memory ? assay_axis_memory : assay_axis_number};
    panel->y = (struct assay_axis){.scale = &panel->y_scale,
                                   .name = assay_chart_figure_title(s->figure),
                                   .label = label_figure,
                                   .user = &s->figure,
                                   .grid = true};
    panel->plot = (struct assay_plot){.left = x + assay_axis_width(&panel->y),
                                      .top = y,
                                      .right = x + grid->width - grid->names,
                                      .bottom = y + grid->height};
    panel->x_scale.from = panel->plot.left + INSET;
    panel->x_scale.to = panel->plot.right - INSET;
    panel->y_scale.from = panel->plot.bottom;
    panel->y_scale.to = panel->plot.top;
}

static struct grid grid_of(const struct sweep *s, double width)
{
    enum { TALL = 340, LOW = 230 };
    int64_t panels = s->rest.n_shown * s->n_states;
    struct grid grid = {.columns = panels > 1 ? 2 : 1, .x = x_scale(s)};
    grid.height = panels > 2 ? LOW : TALL;
    grid.width =
        (width - 2 * ASSAY_DRAW_MARGIN - APART * (double)(grid.columns - 1)) / (double)grid.columns;
    snprintf(grid.x_name, sizeof grid.x_name, "%s",
             s->x == ASSAY_CHART_AXIS_MEMORY ? "operands of one call" : s->axes.axes[s->x].name);
    return grid;
}

/* A single panel has names at the ends of its lines where they fit. */
static void try_names(const struct sweep *s, const struct assay_cell *names, struct grid *grid)
{
    if (grid->columns > 1 || s->series.n_shown < 2)
        return;
    for (int64_t i = 0; i < s->series.n_shown; i++)
        grid->names = fmax(grid->names,
                           ASSAY_SWEEP_KEY + 1 +
                               assay_draw_text_width(names[i].text, ASSAY_DRAW_SMALL_SIZE, false));
    grid->names = fmin(grid->names, NAMES);
    struct assay_sweep_panel panel = {0};
    for (int64_t i = 0; i < ASSAY_CACHE_STATES && panel.n == 0; i++)
        panel = panel_of(s, i);
    panel.y_scale = y_scale(s, 0);
    place_panel(s, grid, 0, 0, &panel);
    if (!assay_sweep_label(NULL, &panel, names, grid->names))
        grid->names = 0;
}

/* Gives the y below. */
static double draw_panel(struct assay_drawing *d, const struct sweep *s, const struct grid *grid,
                         const struct assay_cell *names, struct assay_sweep_panel *panel,
                         struct assay_cell title, double x, double y)
{
    if (title.text[0]) {
        assay_draw_text(d, x, y + 13, grid->width,
                        (struct assay_draw_font){
                            .size = ASSAY_DRAW_TEXT_SIZE, .bold = true, .ink = ASSAY_DRAW_TEXT},
                        title.text);
        y += PANEL_TITLE;
    }
    place_panel(s, grid, x, y, panel);
    assay_sweep_draw(d, panel);
    if (grid->names > 0)
        assay_sweep_label(d, panel, names, grid->names);
    return panel->plot.bottom + assay_axis_height(&panel->x, panel->plot.right - panel->plot.left);
}

static double draw_panels(struct assay_drawing *d, const struct sweep *s, const struct grid *grid,
                          const struct assay_cell *names, double y)
{
    struct assay_chart_reader reader = {.book = s->book};
    int64_t drawn = 0, index = 0;
    double below = y;
    for (int64_t c = 0; c < s->rest.n; c++) {
        if (!s->rest.classes[c].shown)
            continue;
        struct assay_scale scale = y_scale(s, index);
        for (int64_t state = 0; state < ASSAY_CACHE_STATES; state++) {
            if (!s->states[state])
                continue;
            struct assay_sweep_panel panel = panel_of(s, index * ASSAY_CACHE_STATES + state);
            int64_t column = drawn++ % grid->columns;
            y = column == 0 && drawn > 1 ? below + APART / 2 : y;
            panel.y_scale = scale;
            panel.reader = s->n <= MOST_TIPS ? &reader : NULL;
            below = draw_panel(d, s, grid, names, &panel, title_of(s, c, state),
                               ASSAY_DRAW_MARGIN + (double)column * (grid->width + APART), y);
        }
        index++;
    }
    assay_chart_reader_fini(&reader);
    return below;
}

/* ---- the texts around ----------------------------------------------------------------------- */

/* What is seen of the marks, and so must be explained. */
struct seen {
    bool hollow, failing, ceiling, own;
};

static struct seen see_marks(const struct sweep *s)
{
    struct seen seen = {0};
    for (int64_t i = 0; i < s->n; i++) {
        const struct assay_chart_point *p = s->marks[i].point;
        bool valued = isfinite(assay_chart_point_value(p, s->figure).value);
        seen.hollow |= valued && !assay_chart_point_is_clear(p, s->figure);
        seen.failing |= p->outcome != ASSAY_OUTCOME_OK;
        seen.ceiling |= p->timed && isfinite(assay_chart_point_ceiling(p, s->figure));
    }
    bool lines = s->figure == ASSAY_CHART_TIME || s->figure == ASSAY_CHART_BANDWIDTH;
    for (int64_t i = 0; i < s->rest.n_shown * ASSAY_CACHE_STATES && lines; i++) {
        struct assay_sweep_panel panel = panel_of(s, i);
        seen.own |= assay_sweep_own_ceilings(panel.marks, panel.n, s->figure);
    }
    return seen;
}

static double draw_legend(struct assay_drawing *d, const struct sweep *s, const struct grid *grid,
                          const struct assay_cell *names, double y)
{
    struct assay_legend_entry entries[MOST_SERIES + 4];
    struct assay_cell failures = {"no time: "};
    struct seen seen = see_marks(s);
    int64_t n = 0;
    assay_cell_add(&failures, "%s", assay_chart_failures(&s->points).text);
    for (int64_t i = 0; i < s->series.n_shown && grid->names == 0; i++)
        entries[n++] = (struct assay_legend_entry){ASSAY_LEGEND_LINE, assay_draw_series_ink(i),
                                                   assay_draw_series_dash(i),
                                                   assay_draw_series_marker(i), names[i].text};
    if (seen.ceiling)
        entries[n++] = (struct assay_legend_entry){
            .shape = ASSAY_LEGEND_STROKE,
            .ink = seen.own ? ASSAY_DRAW_EVEN : ASSAY_DRAW_TEXT,
            .dash = seen.own ? ASSAY_DRAW_DOTTED : ASSAY_DRAW_DASHED,
            .text = seen.own ? "measured ceiling, of each variant" : "measured ceiling"};
    if (s->figure == ASSAY_CHART_SPEEDUP)
        entries[n++] = (struct assay_legend_entry){
            .shape = ASSAY_LEGEND_STROKE, .ink = ASSAY_DRAW_TEXT, .text = "the baseline"};
    if (seen.hollow)
        entries[n++] = (struct assay_legend_entry){
            .shape = ASSAY_LEGEND_HOLLOW,
            .ink = ASSAY_DRAW_EVEN,
            .text = s->figure == ASSAY_CHART_SPEEDUP
                        ? "no significant difference"
                        : "no significant difference from the baseline, or less exact than asked"};
    if (seen.failing)
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_MARKER,
                                                   .ink = ASSAY_DRAW_FAILED,
                                                   .marker = ASSAY_DRAW_CROSS,
                                                   .text = failures.text};
    return y +
           assay_legend_draw(d, ASSAY_DRAW_MARGIN, y, d->width - 2 * ASSAY_DRAW_MARGIN, entries, n);
}

/* Title, place, and what is the same in the whole chart. */
static double draw_head(struct assay_drawing *d, const struct sweep *s)
{
    struct assay_cell title = assay_chart_subject(s->book), place = assay_chart_place(s->book);
    struct assay_cell fixed = assay_chart_fixed(&s->axes);
    struct assay_cell changing = assay_chart_changing(&s->axes, s->x, rule_of(s));
    struct assay_text subtitle = {0};
    const char *x = s->x == ASSAY_CHART_AXIS_MEMORY ? "bytes" : s->axes.axes[s->x].name;
    assay_cell_add(&title, ": %s%s against %s", s->figure == ASSAY_CHART_CEILING ? "% of " : "",
                   assay_chart_figure_name(s->figure), x);
    if (s->n_states == 1)
        assay_cell_add(&title, ", %s",
                       assay_cache_state_name(s->states[ASSAY_CACHE_HOT] ? ASSAY_CACHE_HOT
                                                                         : ASSAY_CACHE_COLD));
    assay_text_format(&subtitle, "%s%s%s", place.text, fixed.text[0] ? " · " : "", fixed.text);
    if (changing.text[0] && s->x != ASSAY_CHART_AXIS_MEMORY)
        assay_text_format(&subtitle, " · %s", changing.text);
    double y = assay_draw_head(d, title.text, subtitle.data ? subtitle.data : "");
    d->body.failed |= subtitle.failed;
    assay_text_fini(&subtitle);
    return y;
}

static double draw_notes(struct assay_drawing *d, const struct sweep *s, double y)
{
    struct assay_text note = {0};
    char others[100];
    assay_chart_axes_names(&s->axes, true, others, sizeof others);
    if (s->rest.n_shown < s->rest.n)
        assay_text_format(&note,
                          "%lld of %lld combinations of the other axes are drawn, those with the "
                          "most rows. Axes: %s.\n",
                          (long long)s->rest.n_shown, (long long)s->rest.n, others);
    if (s->series.n_shown < s->series.n)
        assay_text_format(&note, "%lld of %lld variants are drawn, those with the most rows.\n",
                          (long long)s->series.n_shown, (long long)s->series.n);
    if (assay_chart_slow_probes(&s->points) > 0 &&
        (s->figure == ASSAY_CHART_TIME || s->figure == ASSAY_CHART_BANDWIDTH))
        assay_text_format(&note,
                          "The ceilings of %lld point%s are left out: the machine ran at less than "
                          "half of its best meanwhile.\n",
                          (long long)assay_chart_slow_probes(&s->points),
                          assay_chart_slow_probes(&s->points) == 1 ? "" : "s");
    if (s->without_x > 0)
        assay_text_format(&note, "%lld points have no %s and are left out.\n",
                          (long long)s->without_x, s->axes.axes[s->x].name);
    if (s->n > MOST_MARKERS)
        assay_text_format(&note, "%lld points are drawn as lines, without markers.\n",
                          (long long)s->n);
    if (note.length)
        y = assay_draw_note(d, y, note.data);
    d->body.failed |= note.failed;
    assay_text_fini(&note);
    return y;
}

static void summarise(struct assay_drawing *d, const struct sweep *s)
{
    struct assay_cell failures = assay_chart_failures(&s->points);
    assay_text_format(&d->summary, "%s over %s, %lld points of %lld variants with intervals%s%s.",
                      assay_chart_figure_title(s->figure), s->axes.axes[s->x].name, (long long)s->n,
                      (long long)s->series.n_shown, failures.text[0] ? "; no time: " : "",
                      failures.text);
}

/* ---- the chart ------------------------------------------------------------------------------ */

static void draw_all(struct assay_drawing *d, const struct sweep *s)
{
    struct assay_cell names[MOST_SERIES];
    int64_t n = 0;
    for (int64_t i = 0; i < s->series.n; i++)
        if (s->series.classes[i].shown)
            names[n++] = assay_chart_class_name(&s->axes, &s->series, i);
    struct grid grid = grid_of(s, d->width);
    try_names(s, names, &grid);
    double y = draw_head(d, s);
    y = draw_legend(d, s, &grid, names, y) + 12;
    y = draw_panels(d, s, &grid, names, y);
    y = draw_notes(d, s, y + 6);
    summarise(d, s);
    d->height = ceil(y + ASSAY_DRAW_MARGIN / 2.0);
}

static void draw(const struct assay_book *book, const struct assay_chart_request *request,
                 struct assay_drawing *drawing)
{
    char why[ASSAY_CHART_WHY];
    struct sweep s;
    if (prepare(&s, book, request, why, sizeof why) && find_marks(&s))
        draw_all(drawing, &s);
    else
        drawing->body.failed = true; /* it fits, so that memory is missing */
    fini(&s);
}

const struct assay_chart assay_chart_sweep = {
    .name = "sweep",
    .summary = "time, bandwidth, speedup or % of ceiling along a numeric axis, with the ceilings",
    .fits = fits,
    .draw = draw,
};
