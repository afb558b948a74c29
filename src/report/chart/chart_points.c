#include "report/chart/chart_points.h"

#include "base/alloc.h"
#include "report/chart/chart_rows.h"
#include "report/chart/chart_words.h"
#include "report/draw/draw_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool assay_chart_unfit(char *why, size_t size, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, size, fmt, args);
    va_end(args);
    return false;
}

bool assay_chart_takes_no_row(const struct assay_chart_request *request, char *why, size_t size)
{
    return request->row <= 0 || assay_chart_unfit(why, size, "it shows all rows: it takes no row");
}

bool assay_chart_takes_no_axes(const struct assay_chart_request *request, char *why, size_t size)
{
    return (!request->x && !request->y && !request->figure) ||
           assay_chart_unfit(why, size, "it takes no x, y or figure");
}

/* ---- figures -------------------------------------------------------------------------------- */

static const struct {
    const char *name, *title;
    void (*label)(const void *user, double value, char *text, size_t size);
} figures[ASSAY_CHART_FIGURES] = {
    [ASSAY_CHART_TIME] = {"time", "time of a call", assay_axis_time},
    [ASSAY_CHART_BANDWIDTH] = {"bandwidth", "bandwidth", assay_axis_bandwidth},
    [ASSAY_CHART_SPEEDUP] = {"speedup", "speedup over the baseline", assay_axis_ratio},
    [ASSAY_CHART_CEILING] = {"ceiling", "share of the ceiling", assay_axis_share},
    [ASSAY_CHART_WINNER] = {"winner", "the fastest", assay_axis_number},
};

const char *assay_chart_figure_name(enum assay_chart_figure figure) { return figures[figure].name; }

const char *assay_chart_figure_title(enum assay_chart_figure figure)
{
    return figures[figure].title;
}

void assay_chart_figure_label(enum assay_chart_figure figure, double value, char *text, size_t size)
{
    figures[figure].label(NULL, value, text, size);
}

enum assay_chart_figure assay_chart_figure_named(const char *name)
{
    int figure = 0;
    while (figure < ASSAY_CHART_FIGURES && !assay_text_same(figures[figure].name, name))
        figure++;
    return (enum assay_chart_figure)figure;
}

/* ---- points --------------------------------------------------------------------------------- */

static struct assay_interval positive(struct assay_interval ci)
{
    bool known = ci.lo > 0 && ci.hi >= ci.lo && isfinite(ci.hi);
    return known ? ci : (struct assay_interval){(double)NAN, (double)NAN};
}

static double positive_or(double value, double other)
{
    return value > 0 && isfinite(value) ? value : other;
}

static void add_figures(struct assay_chart_point *p, const struct assay_record *record)
{
    const struct assay_measurement *m = &record->states[p->state];
    p->ns = positive_or(m->time.median, (double)NAN);
    p->ns_ci = positive(m->time.median_ci);
    p->timed = record->outcome == ASSAY_OUTCOME_OK && isfinite(p->ns);
    p->sure = m->precise && assay_cell_has_interval(&m->time);
    p->fastest = p->timed && m->fastest;
    p->has_ratio = p->timed && m->has_ratio && m->ratio.ratio > 0 && isfinite(m->ratio.ratio);
    if (p->has_ratio) {
        p->ratio = m->ratio.ratio;
        p->ratio_ci = positive(m->ratio.ci);
        p->verdict = assay_cell_verdict(&m->ratio);
    }
    p->ceiling_ns = positive_or(m->ceiling_ns, 0);
    if (p->ceiling_ns > 0) {
        p->slow_probes = m->machine_frac > 0 && m->machine_frac < 0.5;
        p->efficiency = positive_or(m->efficiency, (double)NAN);
        p->efficiency_ci = positive(m->efficiency_ci);
        memcpy(p->bound, m->bound, sizeof p->bound);
        p->bound[sizeof p->bound - 1] = '\0';
    }
}

static void add_point(struct assay_chart_points *points, const struct assay_record *record,
                      struct assay_chart_point at)
{
    if (points->n == points->capacity) {
        int64_t more = points->capacity ? 2 * points->capacity : 64;
        struct assay_chart_point *moved =
            assay_realloc(points->points, (size_t)more, sizeof *points->points);
        if (!moved) {
            points->failed = true;
            return;
        }
        points->points = moved;
        points->capacity = more;
    }
    at.outcome = record->outcome;
    at.ns = (double)NAN;
    at.bytes = positive_or(record->bytes_read + record->bytes_written, 0);
    at.flops = positive_or(record->flops, 0);
    at.baseline = assay_cell_is_baseline(record);
    if (record->states[at.state].measured)
        add_figures(&at, record);
    points->states[at.state] |= at.timed;
    points->points[points->n++] = at;
}

static bool is_planned(const struct assay_run_info *run, enum assay_cache_state state)
{
    if (!run->hot && !run->cold)
        return state == ASSAY_CACHE_HOT;
    return state == ASSAY_CACHE_HOT ? run->hot : run->cold;
}

static void add_group(struct assay_chart_points *points, const struct assay_book_view *view,
                      const struct assay_chart_request *request, struct assay_chart_point at)
{
    for (int64_t i = 0; i < view->n && !points->failed; i++) {
        const struct assay_record *record = &view->records[i];
        for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
            at.state = (enum assay_cache_state)s;
            bool asked = !request->has_state || request->state == at.state;
            bool fails = record->outcome != ASSAY_OUTCOME_OK;
            if (asked && (record->states[s].measured || (fails && is_planned(&view->run->info, s))))
                add_point(points, record, at);
        }
        at.record++;
    }
}

void assay_chart_points_find(const struct assay_book *book,
                             const struct assay_chart_request *request,
                             struct assay_chart_points *points)
{
    struct assay_book_view view = {0};
    for (int64_t g = 0; g < book->n_groups && !points->failed; g++) {
        struct assay_chart_point at = {.record = book->groups[g].first, .group = g};
        points->failed = !assay_book_open(book, g, &view);
        if (!points->failed)
            add_group(points, &view, request, at);
    }
    points->n = points->failed ? 0 : points->n;
    assay_book_view_fini(&view);
}

void assay_chart_points_fini(struct assay_chart_points *points)
{
    assay_free(points->points);
    *points = (struct assay_chart_points){0};
}

/* ---- questions ------------------------------------------------------------------------------ */

static struct assay_chart_value_of value_of(double value, double lo, double hi)
{
    return (struct assay_chart_value_of){value, lo, hi};
}

struct assay_chart_value_of assay_chart_point_value(const struct assay_chart_point *point,
                                                    enum assay_chart_figure figure)
{
    const struct assay_chart_point *p = point;
    double rate = p->bytes > 0 ? p->bytes * 1e9 : (double)NAN;
    double none = (double)NAN;
    if (!p->timed)
        return value_of(none, none, none);
    switch (figure) {
    case ASSAY_CHART_TIME:
        return value_of(p->ns, p->ns_ci.lo, p->ns_ci.hi);
    case ASSAY_CHART_BANDWIDTH:
        return value_of(rate / p->ns, rate / p->ns_ci.hi, rate / p->ns_ci.lo);
    case ASSAY_CHART_SPEEDUP:
        if (!p->has_ratio)
            return value_of(p->baseline ? 1 : none, none, none);
        return value_of(p->ratio, p->ratio_ci.lo, p->ratio_ci.hi);
    case ASSAY_CHART_CEILING:
        if (!(p->ceiling_ns > 0))
            break;
        return value_of(p->efficiency, p->efficiency_ci.lo, p->efficiency_ci.hi);
    case ASSAY_CHART_WINNER:
    case ASSAY_CHART_FIGURES:
        break;
    }
    return value_of(none, none, none);
}

double assay_chart_point_ceiling(const struct assay_chart_point *point,
                                 enum assay_chart_figure figure)
{
    if (figure == ASSAY_CHART_CEILING && point->ceiling_ns > 0)
        return 1;
    if (!(point->ceiling_ns > 0) || point->slow_probes)
        return (double)NAN;
    if (figure == ASSAY_CHART_TIME)
        return point->ceiling_ns;
    if (figure == ASSAY_CHART_BANDWIDTH && point->bytes > 0)
        return point->bytes * 1e9 / point->ceiling_ns;
    return (double)NAN;
}

int64_t assay_chart_slow_probes(const struct assay_chart_points *points)
{
    int64_t n = 0;
    for (int64_t i = 0; i < points->n; i++)
        n += points->points[i].slow_probes;
    return n;
}

bool assay_chart_points_have(const struct assay_chart_points *points,
                             enum assay_chart_figure figure)
{
    for (int64_t i = 0; i < points->n; i++) {
        const struct assay_chart_point *p = &points->points[i];
        if (figure == ASSAY_CHART_WINNER    ? p->fastest
            : figure == ASSAY_CHART_SPEEDUP ? p->has_ratio
                                            : isfinite(assay_chart_point_value(p, figure).value))
            return true;
    }
    return false;
}

bool assay_chart_point_is_clear(const struct assay_chart_point *point,
                                enum assay_chart_figure figure)
{
    bool differs = !point->has_ratio || point->verdict == ASSAY_VERDICT_FASTER ||
                   point->verdict == ASSAY_VERDICT_SLOWER;
    return differs && (point->sure || figure == ASSAY_CHART_SPEEDUP);
}

/* ---- tips ----------------------------------------------------------------------------------- */

const struct assay_record *assay_chart_read(struct assay_chart_reader *reader,
                                            const struct assay_chart_point *point)
{
    if (reader->open != point->group + 1 &&
        !assay_book_open(reader->book, point->group, &reader->view)) {
        reader->open = 0;
        return NULL;
    }
    reader->open = point->group + 1;
    return &reader->view.records[point->record - reader->book->groups[point->group].first];
}

void assay_chart_reader_fini(struct assay_chart_reader *reader)
{
    assay_book_view_fini(&reader->view);
    *reader = (struct assay_chart_reader){0};
}

static void add_figures_text(const struct assay_record *r, const struct assay_measurement *m,
                             struct assay_text *out)
{
    struct assay_cell spread = assay_cell_spread(m), rate = assay_cell_rate(m, true);
    assay_text_format(out, "\n%s", assay_cell_time(m->time.median).text);
    if (spread.text[0] != '-')
        assay_text_format(out, " ± %s", spread.text);
    assay_text_format(out, ", n=%lld%s", (long long)m->time.n,
                      m->precise ? "" : ", less exact than asked");
    if (m->has_ratio)
        assay_text_format(out, "\n%s vs %s", assay_cell_interval(&m->ratio, 60, false).text,
                          r->baseline[0] ? r->baseline : "the baseline");
    else if (assay_cell_is_baseline(r))
        assay_text_add(out, "\nbaseline");
    if (rate.text[0] != '-')
        assay_text_format(out, "\n%s", rate.text);
    if (m->ceiling_ns > 0)
        assay_text_format(out, "%s%s of the ceiling (%.15s)", rate.text[0] != '-' ? ", " : "\n",
                          assay_cell_efficiency(m).text, m->bound);
}

void assay_chart_point_tip(struct assay_chart_reader *reader, const struct assay_chart_point *point,
                           struct assay_text *out)
{
    const struct assay_record *r = assay_chart_read(reader, point);
    if (!r) {
        out->failed = true;
        return;
    }
    assay_text_format(out, "%s · %s · %s",
                      assay_chart_variant(r, reader->view.records, reader->view.n).text,
                      assay_chart_group_name(reader->book, &reader->view).text,
                      assay_cache_state_name(point->state));
    if (r->outcome != ASSAY_OUTCOME_OK)
        assay_text_format(out, "\n%s%s%s", assay_cell_outcome(r->outcome).text,
                          r->reason[0] ? ": " : "", r->reason);
    if (r->states[point->state].measured && isfinite(point->ns))
        add_figures_text(r, &r->states[point->state], out);
}

void assay_chart_point_begin(struct assay_drawing *d, struct assay_chart_reader *reader,
                             const struct assay_chart_point *point)
{
    struct assay_text tip = {0};
    assay_chart_point_tip(reader, point, &tip);
    d->body.failed |= tip.failed;
    assay_draw_group(d, point->record + 1, tip.data);
    assay_text_fini(&tip);
}

struct assay_cell assay_chart_failures(const struct assay_chart_points *points)
{
    int64_t counts[ASSAY_OUTCOME_COUNT] = {0}, last = -1;
    struct assay_cell cell = {""};
    for (int64_t i = 0; i < points->n; i++) {
        if (points->points[i].record != last)
            counts[points->points[i].outcome]++;
        last = points->points[i].record;
    }
    for (int o = ASSAY_OUTCOME_OK + 1; o < ASSAY_OUTCOME_COUNT; o++)
        if (counts[o] > 0)
            assay_cell_add(&cell, "%s%lld %s", cell.text[0] ? ", " : "", (long long)counts[o],
                           assay_cell_outcome((enum assay_outcome)o).text);
    return cell;
}
