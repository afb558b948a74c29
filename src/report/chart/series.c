/* series.c: the samples of one row in the order in which they were taken: drift, steps, and what
 * disturbances do. */
#include "report/chart/chart_samples.h"
#include "report/draw/draw_axis.h"

#include <math.h>

enum { PANEL = 190, RIGHT = 34, SIZE = 5, GAP = 14 };

static const enum assay_ink INK = (enum assay_ink)ASSAY_CHART_SAMPLES;
static const enum assay_ink DISTURBED = (enum assay_ink)ASSAY_CHART_DISTURBED;

static int series_fits(const struct assay_book *book, const struct assay_chart_request *request,
                       char *why, size_t size)
{
    struct assay_chart_row row = {0};
    bool found = assay_chart_row_find(book, request, &row, why, size);
    assay_chart_row_fini(&row);
    return !found ? ASSAY_CHART_UNFIT : request->row > 0 ? ASSAY_CHART_GOOD : ASSAY_CHART_POSSIBLE;
}

/* The median with its interval, all the way. */
static void draw_median(struct assay_drawing *d, const struct assay_summary *t,
                        const struct assay_scale *y, const struct assay_plot *plot)
{
    double ends[] = {plot->left, plot->right}, at = assay_scale_clamped(y, t->median);
    double lo = assay_scale_clamped(y, t->median_ci.lo);
    double hi = assay_scale_clamped(y, t->median_ci.hi);
    if (assay_cell_has_interval(t))
        assay_draw_band(d, ends, (double[]){lo, lo}, (double[]){hi, hi}, 2, ASSAY_DRAW_TEXT);
    assay_draw_line(d, plot->left, at, plot->right, at, ASSAY_DRAW_TEXT, 1.25, ASSAY_DRAW_SOLID);
}

/* Those beyond the axis stand at its end, as triangles. */
static void draw_samples(struct assay_drawing *d, const struct assay_measurement *m,
                         const struct assay_scale *x, const struct assay_scale *y)
{
    const struct assay_samples *samples = &m->samples;
    double xs[ASSAY_SAMPLES_KEPT], ys[ASSAY_SAMPLES_KEPT];
    for (int32_t i = 0; i < samples->n; i++) {
        xs[i] = assay_scale_at(x, ((double)i + 0.5) * samples->every);
        ys[i] = assay_scale_clamped(y, (double)samples->ns[i]);
    }
    assay_draw_path(d, xs, ys, samples->n, INK, 0.5, ASSAY_DRAW_SOLID);
    for (int32_t i = 0; i < samples->n; i++) {
        bool disturbed = assay_samples_is_disturbed(samples, i);
        double ns = (double)samples->ns[i];
        if (ns >= y->lo && ns <= y->hi)
            assay_chart_sample_mark(d, xs[i], ys[i], SIZE, disturbed);
        else
            assay_draw_marker(d, xs[i], ys[i], SIZE + 3, ASSAY_DRAW_TRIANGLE,
                              disturbed ? DISTURBED : INK, false);
    }
}

static double draw_state(struct assay_drawing *d, double top, const struct assay_measurement *m,
                         enum assay_cache_state state, int64_t row)
{
    struct assay_samples_span span = assay_samples_span(&m->samples);
    struct assay_scale x, y;
    struct assay_text words = {0};
    struct assay_axis below = {.scale = &x,
                               .name = m->samples.every > 1
                                           ? "samples in order, of which not all were kept"
                                           : "samples in order",
                               .label = assay_axis_number};
    struct assay_axis left = {
        .scale = &y, .name = "time of a call", .label = assay_axis_time, .grid = true};
    assay_chart_samples_words(m, &span, &words);
    top = assay_chart_state_heading(d, top, assay_cache_state_name(state),
                                    words.failed ? "" : words.data) +
          10;
    assay_scale_init(&x, ASSAY_SCALE_LINEAR);
    assay_scale_init(&y, ASSAY_SCALE_LINEAR);
    assay_scale_see(&x, 0);
    assay_scale_see(&x, (double)m->samples.n * m->samples.every);
    assay_scale_see(&y, span.lo);
    assay_scale_see(&y, span.hi);
    assay_scale_round(&y);
    struct assay_plot plot = {ASSAY_DRAW_MARGIN + assay_axis_width(&left), top, d->width - RIGHT,
                              top + PANEL};
    x.from = plot.left;
    x.to = plot.right;
    y.from = plot.bottom;
    y.to = plot.top;
    assay_axis_draw_left(d, &left, &plot);
    assay_axis_draw_below(d, &below, &plot);
    assay_draw_group(d, row, words.failed ? "" : words.data);
    draw_median(d, &m->time, &y, &plot);
    draw_samples(d, m, &x, &y);
    assay_draw_group_end(d);
    assay_text_format(&d->summary, "%s: %s. ", assay_cache_state_name(state),
                      words.failed ? "" : words.data);
    d->body.failed |= words.failed;
    assay_text_fini(&words);
    return plot.bottom + assay_axis_height(&below, plot.right - plot.left) + GAP;
}

static double draw_legend(struct assay_drawing *d, double y, bool disturbed, bool beyond)
{
    struct assay_legend_entry entries[3] = {
        {.shape = ASSAY_LEGEND_BOX, .ink = ASSAY_DRAW_TEXT, .text = "median, 95% interval"}};
    int64_t n = 1;
    if (disturbed)
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_MARKER,
                                                   .marker = ASSAY_DRAW_CROSS,
                                                   .ink = DISTURBED,
                                                   .text = "disturbed"};
    if (beyond)
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_MARKER,
                                                   .marker = ASSAY_DRAW_TRIANGLE,
                                                   .ink = ASSAY_DRAW_MUTED,
                                                   .text = "beyond the axis"};
    return y +
           assay_legend_draw(d, ASSAY_DRAW_MARGIN, y, d->width - 2 * ASSAY_DRAW_MARGIN, entries, n);
}

static void series_draw(const struct assay_book *book, const struct assay_chart_request *request,
                        struct assay_drawing *d)
{
    struct assay_chart_row row = {0};
    char why[ASSAY_CHART_WHY];
    bool disturbed = false, beyond = false;
    if (!assay_chart_row_find(book, request, &row, why, sizeof why)) {
        d->body.failed = true; /* it fits: there was no memory */
        assay_chart_row_fini(&row);
        return;
    }
    double y = assay_chart_row_head(d, book, &row, true);
    const struct assay_record *r = &row.view.records[row.index];
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        enum assay_cache_state state = (enum assay_cache_state)s;
        const struct assay_measurement *m = assay_chart_row_samples(request, r, state);
        if (!m)
            continue;
        struct assay_samples_span span = assay_samples_span(&m->samples);
        disturbed |= assay_samples_count_disturbed(&m->samples) > 0;
        beyond |= span.below + span.above > 0;
        y = draw_state(d, y, m, state, row.number);
    }
    d->height = draw_legend(d, y, disturbed, beyond) + ASSAY_DRAW_MARGIN;
    assay_chart_row_fini(&row);
}

const struct assay_chart assay_chart_series = {
    .name = "series",
    .summary = "the samples of one row in order, with the median",
    .fits = series_fits,
    .draw = series_draw,
};
