/* distribution.c: how samples scatter. Of one row a histogram for each cache state; of a group its
 * variants side by side, each as a strip.
 *
 * Strips are on one axis of times where the medians are close together; else each is relative to
 * its own median, because on an axis of times nothing would be seen of how the fast ones scatter.
 */
#include "report/chart/chart_samples.h"
#include "report/draw/draw_axis.h"

#include <math.h>
#include <stdio.h>

enum {
    GAP = 16,
    STRIP = 24, /* a lane of samples */
    BOX = 12,   /* the quartiles in it */
    BARS = 140, /* height of a histogram */
    MOST_BARS = 64,
    RIGHT = 34,
    NAMES = 200, /* of lanes, at the most */
    FIGURES = 170,
    DOT = 3,
    MOST_LANES = 40,
    MOST_DOTTED = 16, /* of more lanes samples are not drawn one by one */
};

/* Medians that differ by no more have an axis of times. */
static const double CLOSE = 1.5;

static const double REACH = 4;

static const enum assay_ink INK = (enum assay_ink)ASSAY_CHART_SAMPLES;
static const enum assay_ink DISTURBED = (enum assay_ink)ASSAY_CHART_DISTURBED;

/* ---- does it fit ---------------------------------------------------------------------------- */

/* How many of the group have samples in this state; in any where it is ASSAY_CACHE_STATES. */
static int64_t count_lanes(const struct assay_chart_request *request,
                           const struct assay_book_view *view, int state)
{
    int64_t n = 0;
    for (int64_t i = 0; i < view->n; i++) {
        bool any = false;
        for (int s = 0; s < ASSAY_CACHE_STATES; s++)
            any |= (s == state || state == ASSAY_CACHE_STATES) &&
                   assay_chart_row_samples(request, &view->records[i], (enum assay_cache_state)s);
        n += any;
    }
    return n;
}

static int distribution_fits(const struct assay_book *book,
                             const struct assay_chart_request *request, char *why, size_t size)
{
    struct assay_chart_row row = {0};
    bool found = assay_chart_row_find(book, request, &row, why, size);
    assay_chart_row_fini(&row);
    if (!found)
        return ASSAY_CHART_UNFIT;
    return request->row > 0       ? ASSAY_CHART_BEST
           : book->n_records == 1 ? ASSAY_CHART_GOOD
                                  : ASSAY_CHART_POSSIBLE;
}

/* ---- marks on an axis of times --------------------------------------------------------------- */

/* Scatters the samples across a lane, so that equal times are seen; in no order. */
static double across(int32_t i) { return fmod((i + 1) * 0.618033988749895, 1) - 0.5; }

/* Quartiles, median and interval of a lane around y; times are divided by `unit`. */
static void draw_box(struct assay_drawing *d, const struct assay_summary *t,
                     const struct assay_scale *x, double y, double unit)
{
    double q1 = assay_scale_clamped(x, t->q1 / unit), q3 = assay_scale_clamped(x, t->q3 / unit);
    double median = assay_scale_clamped(x, t->median / unit);
    assay_draw_frame(d, q1, y - BOX / 2.0, q3 - q1, BOX, INK, 1);
    if (assay_cell_has_interval(t))
        assay_draw_whisker_x(d, assay_scale_clamped(x, t->median_ci.lo / unit),
                             assay_scale_clamped(x, t->median_ci.hi / unit), y, ASSAY_DRAW_TEXT);
    assay_draw_line(d, median, y - STRIP / 2.0 + 3, median, y + STRIP / 2.0 - 3, ASSAY_DRAW_TEXT, 2,
                    ASSAY_DRAW_SOLID);
}

static void draw_dots(struct assay_drawing *d, const struct assay_samples *samples,
                      const struct assay_scale *x, double y, double unit)
{
    for (int32_t i = 0; i < samples->n; i++) {
        double time = (double)samples->ns[i] / unit;
        if (time >= x->lo && time <= x->hi)
            assay_chart_sample_mark(d, assay_scale_at(x, time), y + across(i) * (STRIP - 8), DOT,
                                    assay_samples_is_disturbed(samples, i));
    }
}

/* ---- one row -------------------------------------------------------------------------------- */

struct histogram {
    int bars;
    int counts[MOST_BARS], disturbed[MOST_BARS];
    int most;
};

static struct histogram count(const struct assay_samples *samples,
                              const struct assay_samples_span *span)
{
    struct histogram h = {.bars = assay_samples_bars(samples, span->lo, span->hi, MOST_BARS)};
    for (int32_t i = 0; i < samples->n; i++) {
        double part = ((double)samples->ns[i] - span->lo) / (span->hi - span->lo);
        if (!(part >= 0) || part > 1)
            continue;
        int bar = part < 1 ? (int)(part * h.bars) : h.bars - 1;
        h.counts[bar]++;
        h.disturbed[bar] += assay_samples_is_disturbed(samples, i);
        h.most = h.counts[bar] > h.most ? h.counts[bar] : h.most;
    }
    return h;
}

/* Disturbed samples are the top of their bar. */
static void draw_bars(struct assay_drawing *d, const struct histogram *h,
                      const struct assay_samples_span *span, const struct assay_scale *x,
                      const struct assay_scale *y)
{
    for (int i = 0; i < h->bars; i++) {
        double width = (span->hi - span->lo) / h->bars, base = assay_scale_at(y, 0);
        double left = assay_scale_at(x, span->lo + i * width);
        double right = assay_scale_at(x, span->lo + (i + 1) * width) - 1;
        double calm = assay_scale_at(y, h->counts[i] - h->disturbed[i]);
        double top = assay_scale_at(y, h->counts[i]);
        assay_draw_rect(d, left, calm, right - left, base - calm, INK);
        if (h->disturbed[i])
            assay_draw_hatched(d, left, top, right - left, calm - top, DISTURBED);
    }
}

/* A histogram, below it its samples as a strip. */
struct panel {
    const struct assay_measurement *m;
    struct assay_samples_span span;
    struct histogram histogram;
    struct assay_scale x, y;
    struct assay_plot plot; /* without the strip */
};

static void lay_out(struct panel *p, double top, double right)
{
    struct assay_axis left = {.scale = &p->y, .name = "samples", .label = assay_axis_number};
    p->histogram = count(&p->m->samples, &p->span);
    assay_scale_init(&p->x, ASSAY_SCALE_LINEAR);
    assay_scale_init(&p->y, ASSAY_SCALE_LINEAR);
    assay_scale_see(&p->x, p->span.lo);
    assay_scale_see(&p->x, p->span.hi);
    assay_scale_round(&p->x);
    assay_scale_see(&p->y, 0);
    assay_scale_see(&p->y, fmax(p->histogram.most, 4));
    assay_scale_round(&p->y);
    p->plot =
        (struct assay_plot){ASSAY_DRAW_MARGIN + assay_axis_width(&left), top, right, top + BARS};
    p->x.from = p->plot.left;
    p->x.to = p->plot.right;
    p->y.from = p->plot.bottom;
    p->y.to = p->plot.top;
}

/* Gives the y below. */
static double draw_axes(struct assay_drawing *d, const struct panel *p)
{
    struct assay_plot both = p->plot;
    struct assay_axis left = {
        .scale = &p->y, .name = "samples", .label = assay_axis_number, .grid = true};
    struct assay_axis below = {.scale = &p->x, .name = "time of a call", .label = assay_axis_time};
    both.bottom += STRIP + 6;
    assay_axis_draw_left(d, &left, &p->plot);
    assay_axis_draw_below(d, &below, &both);
    return both.bottom + assay_axis_height(&below, both.right - both.left);
}

static void draw_marks(struct assay_drawing *d, const struct panel *p)
{
    double median = assay_scale_clamped(&p->x, p->m->time.median);
    double strip = p->plot.bottom + 3 + STRIP / 2.0;
    draw_bars(d, &p->histogram, &p->span, &p->x, &p->y);
    assay_draw_line(d, median, p->plot.top, median, p->plot.bottom, ASSAY_DRAW_TEXT, 1,
                    ASSAY_DRAW_DASHED);
    draw_dots(d, &p->m->samples, &p->x, strip, 1);
    draw_box(d, &p->m->time, &p->x, strip, 1);
}

static double draw_histogram(struct assay_drawing *d, double top, const struct assay_measurement *m,
                             enum assay_cache_state state, int64_t row)
{
    struct panel p = {.m = m, .span = assay_samples_span(&m->samples)};
    struct assay_text text = {0};
    assay_chart_samples_words(m, &p.span, &text);
    const char *words = text.failed ? "" : text.data;
    top = assay_chart_state_heading(d, top, assay_cache_state_name(state), words) + 6;
    lay_out(&p, top, d->width - RIGHT);
    double bottom = draw_axes(d, &p);
    assay_draw_group(d, row, words);
    draw_marks(d, &p);
    assay_draw_group_end(d);
    assay_text_format(&d->summary, "%s: %s. ", assay_cache_state_name(state), words);
    d->body.failed |= text.failed;
    assay_text_fini(&text);
    return bottom + GAP;
}

/* ---- a group's variants --------------------------------------------------------------------- */

struct lanes {
    const struct assay_chart_request *request;
    const struct assay_chart_row *row; /* any of the group */
    const struct assay_book *book;
    enum assay_cache_state state;
    const struct assay_measurement *of[MOST_LANES];
    int64_t at[MOST_LANES]; /* in the group */
    int64_t n, left_out;
    bool relative;
    struct assay_scale x;
};

static void choose_lanes(struct lanes *l)
{
    double least = (double)INFINITY, most = 0;
    for (int64_t i = 0; i < l->row->view.n; i++) {
        const struct assay_measurement *m =
            assay_chart_row_samples(l->request, &l->row->view.records[i], l->state);
        if (!m || !(m->time.median > 0) || isinf(m->time.median))
            continue;
        if (l->n == MOST_LANES) {
            l->left_out++;
            continue;
        }
        l->of[l->n] = m;
        l->at[l->n++] = i;
        least = fmin(least, m->time.median);
        most = fmax(most, m->time.median);
    }
    l->relative = most > CLOSE * least;
}

static double unit_of(const struct lanes *l, int64_t i)
{
    return l->relative ? l->of[i]->time.median : 1;
}

/* How far the samples of each lane reach above its median, or below, as a part of it. What is more
 * than REACH times as far as in the middle lane would squeeze the others: it is beyond the axis. */
static double reach_of(const struct lanes *l, bool above)
{
    double parts[MOST_LANES];
    for (int64_t i = 0; i < l->n; i++) {
        struct assay_samples_span span = assay_samples_span(&l->of[i]->samples);
        double median = l->of[i]->time.median;
        parts[i] = fmax(0, above ? span.hi / median - 1 : 1 - span.lo / median);
    }
    assay_stats_sort(parts, l->n);
    double middle = parts[l->n / 2];
    return middle > 0 ? fmin(parts[l->n - 1], REACH * middle) : parts[l->n - 1];
}

static void see_lanes(struct lanes *l, double from, double to)
{
    double above = reach_of(l, true), below = reach_of(l, false);
    assay_scale_init(&l->x, ASSAY_SCALE_LINEAR);
    for (int64_t i = 0; i < l->n; i++) {
        double middle = l->of[i]->time.median / unit_of(l, i);
        struct assay_samples_span span = assay_samples_span(&l->of[i]->samples);
        assay_scale_see(&l->x, middle);
        assay_scale_see(&l->x, fmax(span.lo / unit_of(l, i), middle * (1 - below)));
        assay_scale_see(&l->x, fmin(span.hi / unit_of(l, i), middle * (1 + above)));
    }
    assay_scale_round(&l->x);
    l->x.from = from;
    l->x.to = to;
}

static int64_t count_beyond(const struct lanes *l, int64_t i)
{
    const struct assay_samples *samples = &l->of[i]->samples;
    int64_t n = 0;
    for (int32_t k = 0; k < samples->n; k++) {
        double time = (double)samples->ns[k] / unit_of(l, i);
        n += !(time >= l->x.lo && time <= l->x.hi);
    }
    return n;
}

static struct assay_cell lane_name(const struct lanes *l, int64_t i)
{
    const struct assay_book_view *view = &l->row->view;
    return assay_cell_name(&view->records[l->at[i]], view->records, view->n);
}

static void draw_lane(struct assay_drawing *d, const struct lanes *l, int64_t i, double y)
{
    const struct assay_measurement *m = l->of[i];
    struct assay_cell name = lane_name(l, i), figure = assay_cell_time(m->time.median);
    struct assay_text tip = {0};
    int64_t beyond = count_beyond(l, i);
    assay_cell_add(&figure, " ±%s", assay_cell_spread(m).text);
    if (beyond)
        assay_cell_add(&figure, " · %lld beyond", (long long)beyond);
    assay_text_format(&tip, "%s: ", name.text);
    assay_chart_samples_words(m, NULL, &tip);
    assay_draw_group(d, l->book->groups[l->row->group].first + l->at[i] + 1,
                     tip.failed ? "" : tip.data);
    d->body.failed |= tip.failed;
    struct assay_draw_font font = {
        .size = ASSAY_DRAW_SMALL_SIZE + 1, .ink = ASSAY_DRAW_TEXT, .anchor = ASSAY_DRAW_RIGHT};
    assay_draw_text(d, l->x.from - 10, y + 4, NAMES, font, name.text);
    font.ink = ASSAY_DRAW_MUTED;
    font.anchor = ASSAY_DRAW_LEFT;
    font.size = ASSAY_DRAW_SMALL_SIZE;
    assay_draw_text(d, l->x.to + 10, y + 4, FIGURES - 10, font, figure.text);
    if (l->n <= MOST_DOTTED)
        draw_dots(d, &m->samples, &l->x, y, unit_of(l, i));
    draw_box(d, &m->time, &l->x, y, unit_of(l, i));
    assay_draw_group_end(d);
    assay_text_fini(&tip);
}

/* Of a ratio to the median: "-2%", "+10%". */
static void label_relative(const void *user, double value, char *text, size_t size)
{
    double percent = round((value - 1) * 1e6) / 1e4;
    (void)user;
    snprintf(text, size, percent > 0 ? "+%.4g%%" : "%.4g%%", percent + 0.0);
}

static double names_width(const struct lanes *l)
{
    double most = 0;
    for (int64_t i = 0; i < l->n; i++)
        most = fmax(most,
                    assay_draw_text_width(lane_name(l, i).text, ASSAY_DRAW_SMALL_SIZE + 1, false));
    return fmin(NAMES, ceil(most));
}

static double draw_lanes(struct assay_drawing *d, struct lanes *l, double top)
{
    char left_out[80] = "";
    if (l->left_out)
        snprintf(left_out, sizeof left_out, "the first %lld of %lld rows", (long long)l->n,
                 (long long)(l->n + l->left_out));
    top = assay_chart_state_heading(d, top, assay_cache_state_name(l->state), left_out);
    struct assay_plot plot = {ASSAY_DRAW_MARGIN + names_width(l) + 10, top + 4,
                              d->width - ASSAY_DRAW_MARGIN - FIGURES,
                              top + 4 + STRIP * (double)l->n};
    see_lanes(l, plot.left, plot.right);
    struct assay_axis below = {.scale = &l->x,
                               .name = l->relative ? "time of a call, against the row's own median"
                                                   : "time of a call",
                               .label = l->relative ? label_relative : assay_axis_time,
                               .grid = true};
    assay_axis_draw_below(d, &below, &plot);
    for (int64_t i = 0; i < l->n; i++)
        draw_lane(d, l, i, plot.top + STRIP * ((double)i + 0.5));
    assay_text_format(&d->summary, "%s: samples of %lld variants. ",
                      assay_cache_state_name(l->state), (long long)l->n);
    return plot.bottom + assay_axis_height(&below, plot.right - plot.left) + GAP;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static double draw_legend(struct assay_drawing *d, double y, bool dots, bool bars)
{
    struct assay_legend_entry entries[4] = {{.shape = ASSAY_LEGEND_LINE,
                                             .ink = ASSAY_DRAW_TEXT,
                                             .marker = ASSAY_DRAW_SQUARE,
                                             .text = "median, 95% interval"},
                                            {.shape = ASSAY_LEGEND_HOLLOW,
                                             .marker = ASSAY_DRAW_SQUARE,
                                             .ink = ASSAY_DRAW_MUTED,
                                             .text = "quartiles"}};
    int64_t n = 2;
    if (dots)
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_MARKER,
                                                   .marker = ASSAY_DRAW_CROSS,
                                                   .ink = DISTURBED,
                                                   .text = "disturbed sample"};
    if (bars)
        entries[n++] = (struct assay_legend_entry){
            .shape = ASSAY_LEGEND_HATCHED, .ink = DISTURBED, .text = "disturbed samples of a bar"};
    return y +
           assay_legend_draw(d, ASSAY_DRAW_MARGIN, y, d->width - 2 * ASSAY_DRAW_MARGIN, entries, n);
}

static double draw_row(struct assay_drawing *d, const struct assay_book *book,
                       const struct assay_chart_request *request, const struct assay_chart_row *row)
{
    double y = assay_chart_row_head(d, book, row, true);
    bool disturbed = false;
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        enum assay_cache_state state = (enum assay_cache_state)s;
        const struct assay_measurement *m =
            assay_chart_row_samples(request, &row->view.records[row->index], state);
        if (!m)
            continue;
        y = draw_histogram(d, y, m, state, row->number);
        disturbed |= assay_samples_count_disturbed(&m->samples) > 0;
    }
    return draw_legend(d, y, disturbed, disturbed);
}

static double draw_group(struct assay_drawing *d, const struct assay_book *book,
                         const struct assay_chart_request *request,
                         const struct assay_chart_row *row)
{
    double y = assay_chart_row_head(d, book, row, false);
    bool disturbed = false;
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        struct lanes lanes = {
            .request = request, .row = row, .book = book, .state = (enum assay_cache_state)s};
        choose_lanes(&lanes);
        if (lanes.n == 0)
            continue;
        for (int64_t i = 0; i < lanes.n && lanes.n <= MOST_DOTTED; i++)
            disturbed |= assay_samples_count_disturbed(&lanes.of[i]->samples) > 0;
        y = draw_lanes(d, &lanes, y);
    }
    y = draw_legend(d, y, disturbed, false);
    if (book->n_groups > 1) {
        char note[96];
        snprintf(note, sizeof note, "Group %lld of %lld; --chart distribution:row=N shows a row",
                 (long long)row->group + 1, (long long)book->n_groups);
        y = assay_draw_note(d, y + 4, note);
    }
    return y;
}

static void distribution_draw(const struct assay_book *book,
                              const struct assay_chart_request *request, struct assay_drawing *d)
{
    struct assay_chart_row row = {0};
    char why[ASSAY_CHART_WHY];
    if (!assay_chart_row_find(book, request, &row, why, sizeof why))
        d->body.failed = true; /* it fits: there was no memory */
    else if (request->row > 0 || count_lanes(request, &row.view, ASSAY_CACHE_STATES) < 2)
        d->height = draw_row(d, book, request, &row) + ASSAY_DRAW_MARGIN;
    else
        d->height = draw_group(d, book, request, &row) + ASSAY_DRAW_MARGIN;
    assay_chart_row_fini(&row);
}

const struct assay_chart assay_chart_distribution = {
    .name = "distribution",
    .summary = "how samples scatter: of one row, or of a group's variants side by side",
    .fits = distribution_fits,
    .draw = distribution_draw,
};
