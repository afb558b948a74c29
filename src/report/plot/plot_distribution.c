#include "report/plot/plot_distribution.h"

#include "report/report_cells.h"
#include "report/report_samples.h"

#include <math.h>

enum {
    ROWS = 5,       /* of bars */
    LEVELS = 8,     /* in a row */
    MOST_BARS = 80, /* one column each is the least */
    WIDEST = 96,    /* a wider one is no clearer */
};

struct histogram {
    struct assay_samples_span span;
    int bars, columns; /* columns of each bar */
    int counts[MOST_BARS];
    bool disturbed[MOST_BARS]; /* any of its samples */
    int most;
};

static int bar_at(const struct histogram *h, double ns)
{
    double at = floor((ns - h->span.lo) / (h->span.hi - h->span.lo) * h->bars);
    return at < 0 ? 0 : at >= h->bars ? h->bars - 1 : (int)at;
}

static int column_at(const struct histogram *h, double ns)
{
    double at = (ns - h->span.lo) / (h->span.hi - h->span.lo) * h->bars * h->columns;
    int last = h->bars * h->columns - 1;
    return !(at > 0) ? 0 : at > last ? last : (int)at;
}

static struct histogram count(const struct assay_samples *samples, int width)
{
    struct histogram h = {.span = assay_samples_span(samples)};
    int most = width < MOST_BARS ? width : MOST_BARS;
    h.bars = assay_samples_bars(samples, h.span.lo, h.span.hi, most);
    h.columns = (width < WIDEST ? width : WIDEST) / h.bars;
    for (int32_t i = 0; i < samples->n; i++) {
        double ns = (double)samples->ns[i];
        if (ns < h.span.lo || ns > h.span.hi)
            continue;
        int bar = bar_at(&h, ns);
        h.counts[bar]++;
        h.disturbed[bar] |= assay_samples_is_disturbed(samples, i);
        h.most = h.counts[bar] > h.most ? h.counts[bar] : h.most;
    }
    return h;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* What a bar fills of a row, in eighths; a bar that is not empty is seen. */
static int level_in(const struct histogram *h, int bar, int row)
{
    int full = (h->counts[bar] * ROWS * LEVELS + h->most - 1) / h->most;
    int level = full - (ROWS - 1 - row) * LEVELS;
    return level < 0 ? 0 : level > LEVELS ? LEVELS : level;
}

static void bars_line(const struct histogram *h, int row, struct assay_line *line)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    for (int bar = 0; bar < h->bars; bar++)
        for (int c = 0; c < h->columns; c++)
            assay_line_put(line, blocks[level_in(h, bar, row)], 1, ASSAY_INK_PLAIN);
}

static void marks_line(const struct histogram *h, int indent, struct assay_line *line)
{
    for (int bar = 0; bar < h->bars; bar++) {
        if (!h->disturbed[bar])
            continue;
        assay_line_to(line, indent + bar * h->columns + (h->columns - 1) / 2);
        assay_line_put(line, "○", 1, ASSAY_INK_WARN);
    }
}

static void axis_line(const struct histogram *h, const struct assay_summary *time,
                      struct assay_line *line)
{
    bool interval = assay_cell_has_interval(time);
    int lo = interval ? column_at(h, time->median_ci.lo) : -1;
    int hi = interval ? column_at(h, time->median_ci.hi) : -1;
    int median = column_at(h, time->median);
    for (int c = 0; c < h->bars * h->columns; c++)
        assay_line_put(line,
                       c == median ? "┼"
                       : c == lo   ? "├"
                       : c == hi   ? "┤"
                                   : "─",
                       1, ASSAY_INK_PLAIN);
}

/* The ends, and the median where it does not meet them. */
static void labels_line(const struct histogram *h, const struct assay_summary *time, int indent,
                        struct assay_line *line)
{
    int end = indent + h->bars * h->columns;
    struct assay_cell lo = assay_cell_time(h->span.lo), hi = assay_cell_time(h->span.hi);
    struct assay_cell median = assay_cell_time(time->median);
    int width = assay_line_columns_of(median.text, line->ascii);
    int at = indent + column_at(h, time->median) - width / 2;
    int hi_at = end - assay_line_columns_of(hi.text, line->ascii);
    assay_line_put(line, lo.text, end - line->columns, ASSAY_INK_DIM);
    if (at >= line->columns + 2 && at + width + 2 <= hi_at) {
        assay_line_to(line, at);
        assay_line_put(line, median.text, width, ASSAY_INK_BOLD);
    }
    if (line->columns + 2 <= hi_at) {
        assay_line_to(line, hi_at);
        assay_line_put(line, hi.text, end - hi_at, ASSAY_INK_DIM);
    }
}

static void words(const struct histogram *h, const struct assay_samples *samples,
                  struct assay_flow *flow)
{
    int64_t disturbed = assay_samples_count_disturbed(samples);
    assay_flow_item(flow, "%d sample%s", samples->n, samples->n == 1 ? "" : "s");
    if (samples->every > 1)
        assay_flow_item(flow, "1 of each %d", samples->every);
    if (disturbed)
        assay_flow_item(flow, "○ %lld disturbed", (long long)disturbed);
    if (h->span.below)
        assay_flow_item(flow, "%lld faster, down to %s", (long long)h->span.below,
                        assay_cell_time(h->span.least).text);
    if (h->span.above)
        assay_flow_item(flow, "%lld slower, up to %s", (long long)h->span.above,
                        assay_cell_time(h->span.most).text);
}

void assay_plot_distribution(const char *name, const struct assay_measurement *m,
                             struct assay_line *line, const struct assay_sink *sink, int indent,
                             int width)
{
    struct histogram h = count(&m->samples, width - indent);
    struct assay_flow flow = {line, sink, indent, width, false, ASSAY_INK_DIM};
    assay_flow_item(&flow, "%s", name);
    words(&h, &m->samples, &flow);
    assay_line_flush(line, sink);
    for (int row = 0; row < ROWS; row++) {
        assay_line_to(line, indent);
        bars_line(&h, row, line);
        assay_line_flush(line, sink);
    }
    assay_line_to(line, indent);
    axis_line(&h, &m->time, line);
    assay_line_flush(line, sink);
    marks_line(&h, indent, line);
    if (line->columns)
        assay_line_flush(line, sink);
    assay_line_to(line, indent);
    labels_line(&h, &m->time, indent, line);
    assay_line_flush(line, sink);
}
