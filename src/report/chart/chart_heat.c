#include "report/chart/chart_heat.h"

#include "base/alloc.h"
#include "report/chart/chart_rows.h"
#include "report/report_totals.h"

#include <math.h>
#include <stdio.h>

enum { SIZE = ASSAY_DRAW_SMALL_SIZE, GAP = 1 };

/* ---- colours -------------------------------------------------------------------------------- */

void assay_heat_scale_init(struct assay_scale *scale, enum assay_chart_figure figure)
{
    bool linear = figure == ASSAY_CHART_CEILING;
    assay_scale_init(scale, linear ? ASSAY_SCALE_LINEAR : ASSAY_SCALE_LOG);
}

/* Of speedups as far to both sides of 1; shares go from nothing to all. */
void assay_heat_scale_round(struct assay_scale *scale, enum assay_chart_figure figure)
{
    static const double steps[] = {1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000, 1e6};
    enum { STEPS = sizeof steps / sizeof *steps };
    if (figure == ASSAY_CHART_CEILING) {
        *scale = (struct assay_scale){.kind = ASSAY_SCALE_LINEAR, .lo = 0, .hi = 1};
    } else if (figure == ASSAY_CHART_SPEEDUP && !assay_scale_is_empty(scale)) {
        double most = fmax(scale->hi, 1 / scale->lo);
        int i = 0;
        while (i + 1 < STEPS && steps[i] < most)
            i++;
        scale->hi = steps[i];
        scale->lo = 1 / steps[i];
        scale->twos = false;
    } else {
        assay_scale_round(scale);
    }
    scale->from = 0;
    scale->to = 1;
}

static double part_of(const struct assay_heat_look *look, double value)
{
    double part = assay_scale_clamped(&look->scale, value);
    return look->figure == ASSAY_CHART_SPEEDUP ? 2 * part - 1 : part;
}

static void fill(struct assay_drawing *d, const struct assay_heat_look *look, double x, double y,
                 double width, double height, double part)
{
    if (look->figure == ASSAY_CHART_SPEEDUP)
        assay_draw_heat(d, x, y, width, height, part);
    else
        assay_draw_ramp(d, x, y, width, height, part);
}

/* ---- what cells say ------------------------------------------------------------------------- */

static enum assay_heat_kind verdict_of(const struct assay_totals *totals,
                                       enum assay_cache_state state)
{
    const struct assay_total_groups *g = &totals->states[state];
    return g->won       ? ASSAY_HEAT_WON
           : g->tied    ? ASSAY_HEAT_TIED
           : g->unclear ? ASSAY_HEAT_UNCLEAR
           : g->alone   ? ASSAY_HEAT_ALONE
                        : ASSAY_HEAT_FAILED;
}

/* Judged with the group's first point; the others may be the one that is fastest. */
static bool judge(struct assay_heat_cell *cell, const struct assay_heat_look *look,
                  const struct assay_chart_point *p)
{
    struct assay_totals totals = {0};
    const struct assay_record *record = assay_chart_read(look->reader, p);
    if (record)
        assay_totals_add(&totals, look->reader->view.records, look->reader->view.n);
    bool whole = record && !totals.failed;
    cell->kind = verdict_of(&totals, p->state);
    cell->rows = 1;
    cell->clear = true;
    assay_totals_fini(&totals);
    return whole;
}

static bool add_to_winner(struct assay_heat_cell *cell, const struct assay_heat_look *look,
                          const struct assay_chart_classes *series,
                          const struct assay_chart_point *p)
{
    bool first = cell->kind == ASSAY_HEAT_NOTHING;
    if (first && !judge(cell, look, p))
        return false;
    if (!first && p->group != cell->point->group) {
        cell->rows++;
    } else if (first || (p->fastest && !cell->point->fastest) ||
               (p->timed && !cell->point->timed)) {
        cell->point = p;
        cell->series = series->of[p->record];
    }
    return true;
}

bool assay_heat_add(struct assay_heat_cell *cell, const struct assay_heat_look *look,
                    const struct assay_chart_classes *series, const struct assay_chart_point *point)
{
    if (look->figure == ASSAY_CHART_WINNER)
        return add_to_winner(cell, look, series, point);
    if (cell->rows++ > 0)
        return true;
    cell->point = point;
    cell->value = assay_chart_point_value(point, look->figure).value;
    cell->clear = look->figure == ASSAY_CHART_SPEEDUP
                      ? assay_chart_point_is_clear(point, look->figure)
                      : point->sure;
    cell->kind = !point->timed                                              ? ASSAY_HEAT_FAILED
                 : !isfinite(cell->value)                                   ? ASSAY_HEAT_UNKNOWN
                 : look->figure == ASSAY_CHART_SPEEDUP && !point->has_ratio ? ASSAY_HEAT_BASELINE
                                                                            : ASSAY_HEAT_VALUE;
    return true;
}

static double three_digits(double value)
{
    double unit = pow(10, floor(log10(value)) - 2);
    return round(value / unit) * unit;
}

static struct assay_cell value_text(double value, enum assay_chart_figure figure)
{
    struct assay_cell cell = {""};
    int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    if (figure == ASSAY_CHART_TIME)
        return assay_cell_time(value);
    if (figure == ASSAY_CHART_CEILING)
        return assay_cell_share(value);
    if (figure == ASSAY_CHART_BANDWIDTH)
        assay_chart_figure_label(figure, three_digits(value), cell.text, sizeof cell.text);
    else if (value < 99999)
        assay_cell_add(&cell, "%.*fx", digits, value);
    return cell;
}

struct assay_cell assay_heat_text(const struct assay_heat_cell *cell,
                                  const struct assay_heat_look *look)
{
    switch (cell->kind) {
    case ASSAY_HEAT_VALUE:
        return value_text(cell->value, look->figure);
    case ASSAY_HEAT_BASELINE:
        return (struct assay_cell){"baseline"};
    case ASSAY_HEAT_FAILED:
        return assay_cell_outcome(cell->point->outcome);
    case ASSAY_HEAT_WON:
        return look->series[cell->series];
    case ASSAY_HEAT_TIED:
        return (struct assay_cell){"tied"};
    case ASSAY_HEAT_UNCLEAR:
        return (struct assay_cell){"unclear"};
    case ASSAY_HEAT_ALONE:
        return (struct assay_cell){"alone"};
    case ASSAY_HEAT_NOTHING:
    case ASSAY_HEAT_UNKNOWN:
        break;
    }
    return (struct assay_cell){""};
}

/* ---- drawing -------------------------------------------------------------------------------- */

static enum assay_ink failed_ink(const struct assay_heat_cell *cell)
{
    return assay_outcome_is_fine(cell->point->outcome) ? ASSAY_DRAW_MUTED : ASSAY_DRAW_FAILED;
}

/* A winner's colour is that of its line in other charts, on which no text can be read: where cells
 * have names it is a light one with an edge. */
static void draw_winner(struct assay_drawing *d, bool named, enum assay_ink ink, double x, double y,
                        double width, double height)
{
    enum { EDGE = 5 };
    if (!named) {
        assay_draw_rect(d, x, y, width, height, ink);
        return;
    }
    assay_draw_band(d, (double[]){x, x + width}, (double[]){y, y},
                    (double[]){y + height, y + height}, 2, ink);
    assay_draw_rect(d, x, y, EDGE, height, ink);
}

static void draw_ground(struct assay_drawing *d, const struct assay_heat_look *look,
                        const struct assay_heat_cell *cell, double x, double y, double width,
                        double height)
{
    switch (cell->kind) {
    case ASSAY_HEAT_NOTHING:
        break;
    case ASSAY_HEAT_VALUE:
    case ASSAY_HEAT_BASELINE:
        fill(d, look, x, y, width, height, part_of(look, cell->value));
        if (!cell->clear)
            assay_draw_striped(d, x, y, width, height, ASSAY_DRAW_EVEN);
        break;
    case ASSAY_HEAT_FAILED:
        assay_draw_hatched(d, x, y, width, height, failed_ink(cell));
        break;
    case ASSAY_HEAT_WON:
        draw_winner(d, look->named, assay_draw_series_ink(cell->series), x, y, width, height);
        break;
    case ASSAY_HEAT_UNKNOWN:
    case ASSAY_HEAT_TIED:
    case ASSAY_HEAT_UNCLEAR:
    case ASSAY_HEAT_ALONE:
        assay_draw_hatched(d, x, y, width, height, ASSAY_DRAW_EVEN);
        break;
    }
}

static bool is_striped(const struct assay_heat_cell *cell)
{
    bool coloured = cell->kind == ASSAY_HEAT_VALUE || cell->kind == ASSAY_HEAT_BASELINE;
    return coloured ? !cell->clear : cell->kind != ASSAY_HEAT_WON;
}

static void draw_text(struct assay_drawing *d, const struct assay_heat_look *look,
                      const struct assay_heat_cell *cell, double x, double y, double width,
                      double height)
{
    enum { INSET = 2, EDGE = 5 };
    struct assay_cell text = assay_heat_text(cell, look);
    double edge = cell->kind == ASSAY_HEAT_WON ? EDGE : 0, left = width - 2 * INSET - edge;
    bool fits = height >= SIZE + 3 && assay_draw_text_width(text.text, SIZE, false) <= left;
    if (cell->kind == ASSAY_HEAT_WON && !look->named)
        return;
    if (fits)
        assay_draw_text(d, x + edge + (width - edge) / 2, y + height / 2 + SIZE * 0.36, 0,
                        (struct assay_draw_font){.size = SIZE,
                                                 .ink = ASSAY_DRAW_TEXT,
                                                 .anchor = ASSAY_DRAW_MIDDLE,
                                                 .halo = is_striped(cell)},
                        text.text);
    else if (cell->kind == ASSAY_HEAT_FAILED)
        assay_draw_marker(d, x + width / 2, y + height / 2, fmin(9, fmin(width, height) - 2),
                          ASSAY_DRAW_CROSS, failed_ink(cell), false);
}

/* How long each of a group took. */
static void list_times(const struct assay_heat_look *look, const struct assay_heat_cell *cell,
                       struct assay_text *tip)
{
    enum { MOST = 10 };
    const struct assay_book_view *view = &look->reader->view;
    for (int64_t i = 0, n = 0; i < view->n && n < MOST; i++) {
        const struct assay_record *r = &view->records[i];
        const struct assay_measurement *m = &r->states[cell->point->state];
        if (r->outcome != ASSAY_OUTCOME_OK || !m->measured)
            continue;
        n++;
        bool won = m->fastest && cell->kind == ASSAY_HEAT_WON;
        assay_text_format(tip, "\n%s: %s%s", assay_chart_variant(r, view->records, view->n).text,
                          assay_cell_time(m->time.median).text, won ? ", fastest" : "");
    }
}

static void begin_cell(struct assay_drawing *d, const struct assay_heat_look *look,
                       const struct assay_heat_cell *cell)
{
    struct assay_text tip = {0};
    bool winner = look->figure == ASSAY_CHART_WINNER && cell->kind != ASSAY_HEAT_FAILED;
    if (look->tips) {
        if (winner)
            assay_text_format(&tip, "%s%s\n", cell->kind == ASSAY_HEAT_WON ? "the fastest: " : "",
                              assay_heat_text(cell, look).text);
        assay_chart_point_tip(look->reader, cell->point, &tip);
        if (winner && !tip.failed)
            list_times(look, cell, &tip);
        if (cell->rows > 1)
            assay_text_format(&tip, "\nthe first of %lld rows here", (long long)cell->rows);
    }
    d->body.failed |= tip.failed;
    assay_draw_group(d, cell->point->record + 1, tip.data);
    assay_text_fini(&tip);
}

void assay_heat_draw(struct assay_drawing *d, const struct assay_heat_look *look,
                     const struct assay_heat_cell *cell, double x, double y, double width,
                     double height)
{
    if (cell->kind == ASSAY_HEAT_NOTHING)
        return;
    x += GAP / 2.0;
    y += GAP / 2.0;
    begin_cell(d, look, cell);
    draw_ground(d, look, cell, x, y, width - GAP, height - GAP);
    draw_text(d, look, cell, x, y, width - GAP, height - GAP);
    assay_draw_group_end(d);
}

/* ---- the legend ----------------------------------------------------------------------------- */

enum { BAR = 17 * 14, BAR_HEIGHT = 11, LEGEND_APART = 40, BAR_INSET = 14 };

static void label(const void *user, double value, char *text, size_t size)
{
    assay_chart_figure_label(*(const enum assay_chart_figure *)user, value, text, size);
}

/* The steps of colour with their values below; gives the height. */
static double draw_bar(struct assay_drawing *d, const struct assay_heat_look *look, double x,
                       double y)
{
    struct assay_scale scale = look->scale;
    struct assay_plot plot = {x, y, x + BAR, y + BAR_HEIGHT};
    struct assay_axis axis = {.scale = &scale, .label = label, .user = &look->figure};
    bool heat = look->figure == ASSAY_CHART_SPEEDUP;
    int steps = heat ? 2 * ASSAY_DRAW_STEPS + 1 : ASSAY_DRAW_STEPS + 1;
    for (int i = 0; i < steps; i++)
        fill(d, look, x + i * (double)BAR / steps, y, (double)BAR / steps, BAR_HEIGHT,
             heat ? (double)i / ASSAY_DRAW_STEPS - 1 : (double)i / ASSAY_DRAW_STEPS);
    scale.from = x;
    scale.to = x + BAR;
    assay_axis_draw_below(d, &axis, &plot);
    return BAR_HEIGHT + assay_axis_height(&axis, BAR);
}

struct entries {
    struct assay_legend_entry *list;
    int64_t n;
};

static void add(struct entries *e, bool seen, enum assay_legend_shape shape, enum assay_ink ink,
                const char *text)
{
    if (seen)
        e->list[e->n++] = (struct assay_legend_entry){.shape = shape, .ink = ink, .text = text};
}

static void add_kinds(struct entries *e, const struct assay_heat_look *look,
                      const struct assay_heat_seen *seen)
{
    bool open = seen->kinds[ASSAY_HEAT_TIED] || seen->kinds[ASSAY_HEAT_UNCLEAR] ||
                seen->kinds[ASSAY_HEAT_ALONE];
    bool speedup = look->figure == ASSAY_CHART_SPEEDUP;
    add(e, seen->striped, ASSAY_LEGEND_HATCHED, ASSAY_DRAW_EVEN,
        speedup ? "no significant difference" : "less exact than asked");
    add(e, open, ASSAY_LEGEND_HATCHED, ASSAY_DRAW_EVEN,
        "tied, unclear, or nothing to compare with");
    add(e, seen->kinds[ASSAY_HEAT_UNKNOWN], ASSAY_LEGEND_HATCHED, ASSAY_DRAW_EVEN,
        "timed, but without this figure");
    add(e, seen->kinds[ASSAY_HEAT_FAILED], ASSAY_LEGEND_HATCHED, ASSAY_DRAW_FAILED, "no result");
}

double assay_heat_legend(struct assay_drawing *d, const struct assay_heat_look *look,
                         const struct assay_heat_seen *seen, double y)
{
    struct entries e = {assay_calloc((size_t)seen->n_series + 5, sizeof *e.list), 0};
    double x = ASSAY_DRAW_MARGIN, height = 0, right = d->width - ASSAY_DRAW_MARGIN;
    if (!e.list) {
        d->body.failed = true;
        return y;
    }
    for (int64_t i = 0; i < seen->n_series && look->figure == ASSAY_CHART_WINNER; i++)
        add(&e, seen->series[i], ASSAY_LEGEND_BOX, assay_draw_series_ink(i), look->series[i].text);
    add_kinds(&e, look, seen);
    if (look->figure != ASSAY_CHART_WINNER &&
        (seen->kinds[ASSAY_HEAT_VALUE] || seen->kinds[ASSAY_HEAT_BASELINE])) {
        height = draw_bar(d, look, x + BAR_INSET, y);
        x += BAR_INSET + BAR + LEGEND_APART;
    }
    height = fmax(height, assay_legend_draw(d, x, y - 3, right - x, e.list, e.n));
    assay_free(e.list);
    return y + height;
}
