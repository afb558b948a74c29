#include "report/report_chart.h"

#include "report/report_line.h"
#include "report/report_sink.h"
#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH = 830,
    MARGIN = 24,
    TITLE_SIZE = 20,
    TEXT_SIZE = 14,
    SMALL_SIZE = 12,
    CHART_AT = 84, /* below title and subtitle */
    HEADING = 30,  /* height of a benchmark's name */
    ROW = 38,      /* … and of a bar with its two lines of figures */
    BAR = 16,      /* how thick a bar is */
    GAP = 12,      /* between the columns */
    FIGURES = 168, /* width of the column behind the bars */
    LEAST_LABEL = 90,
    MOST_LABEL = 250,
    WHISKER = 4, /* half the height of its ends */
    FOOT = 86,   /* ticks, legend and how to read it */
};

static const double LETTER = 0.57; /* a letter's usual width over the font's size */

struct drawing {
    const struct assay_bouts *bouts;
    const struct assay_chart_theme *theme;
    struct assay_text text; /* the image so far; its head needs the height, which comes last */
    int y;
    double label, left,
        right;   /* width of the labels; where bars begin, and where the longest ends */
    double most; /* the ratio at `right` */
    double ratios[ASSAY_CHART_MOST_BARS]; /* of the bars */
    double most_ratio;                    /* the far end of the longest */
    int n_ratios, bars;
    int64_t left_out;
    bool on; /* false: only measure */
};

/* ---- text ---------------------------------------------------------------------------------- */

static void add_escaped(struct assay_text *out, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char *special = bytes[i] == '<'   ? "&lt;"
                              : bytes[i] == '>' ? "&gt;"
                              : bytes[i] == '&' ? "&amp;"
                              : bytes[i] == '"' ? "&quot;"
                                                : NULL;
        if (special)
            assay_text_add(out, special);
        else
            assay_text_append(out, bytes + i, 1);
    }
}

/* Any text as content or attribute: a line makes it valid UTF-8 without control characters, cut
 * with an ellipsis. */
static void add_text(struct assay_text *out, const char *text, int columns)
{
    struct assay_line line;
    assay_line_init(&line, &(struct assay_report_style){0});
    assay_line_put(&line, text, columns, ASSAY_INK_PLAIN);
    add_escaped(out, line.bytes, line.length);
}

enum weight { PLAIN, BOLD };

/* Cut to `width` pixels. */
static void put_text(struct drawing *d, double x, double y, int size, enum weight weight,
                     const char *colour, double width, const char *text)
{
    assay_text_format(&d->text, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\"%s fill=\"%s\">", x, y,
                      size, weight == BOLD ? " font-weight=\"600\"" : "", colour);
    add_text(&d->text, text, (int)(width / (size * LETTER)));
    assay_text_add(&d->text, "</text>\n");
}

static double width_of(const char *text, int size)
{
    return assay_line_columns_of(text, false) * size * LETTER;
}

/* ---- bars ---------------------------------------------------------------------------------- */

static double at_ratio(const struct drawing *d, double ratio)
{
    double part = ratio / d->most;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return d->left + part * (d->right - d->left);
}

static void put_line(struct drawing *d, double x1, double y1, double x2, double y2,
                     const char *colour, double width)
{
    assay_text_format(&d->text,
                      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                      "stroke-width=\"%.1f\"/>\n",
                      x1, y1, x2, y2, colour, width);
}

static void put_bar(struct drawing *d, double end, double y, const char *fill)
{
    assay_text_format(&d->text,
                      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\" "
                      "fill=\"%s\"/>\n",
                      d->left, y, end - d->left, BAR, fill);
}

/* Two cuts near the end of a bar that is longer than the chart. */
static void put_break(struct drawing *d, double middle)
{
    for (int i = 0; i < 2; i++) {
        double x = d->right - 18 + 7 * i;
        put_line(d, x - 3, middle + BAR, x + 3, middle - BAR, d->theme->background, 3);
    }
}

static void put_whisker(struct drawing *d, const struct assay_interval *ci, double y)
{
    double lo = at_ratio(d, ci->lo), hi = at_ratio(d, ci->hi);
    if (!(ci->lo > 0) || !(ci->hi >= ci->lo))
        return;
    put_line(d, lo, y, hi, y, d->theme->text, 1.5);
    put_line(d, lo, y - WHISKER, lo, y + WHISKER, d->theme->text, 1.5);
    put_line(d, hi, y - WHISKER, hi, y + WHISKER, d->theme->text, 1.5);
}

/* What one bar says. */
struct bar {
    const struct assay_bout *bout;
    const struct assay_record *rival;   /* NULL: the kernel alone */
    const struct assay_record *trouble; /* why there is no figure; NULL: there is one */
    bool compared;
    struct assay_ratio ratio;
};

static struct bar bar_of(const struct assay_bout *bout, const struct assay_record *rival)
{
    struct bar bar = {.bout = bout, .rival = rival};
    bar.compared = rival && assay_bout_ratio(bout, rival, &bar.ratio);
    if (bout->kernel->outcome != ASSAY_OUTCOME_OK)
        bar.trouble = bout->kernel;
    else if (rival && rival->outcome != ASSAY_OUTCOME_OK)
        bar.trouble = rival;
    return bar;
}

static struct assay_cell label_of(const struct bar *bar)
{
    struct assay_cell cell = {"this kernel"};
    if (assay_cell_is_workload(bar->bout->kernel))
        return assay_bout_workload(bar->bout);
    if (bar->rival && bar->trouble != bar->bout->kernel)
        snprintf(cell.text, sizeof cell.text, "%s", assay_bout_rival_name(bar->bout, bar->rival));
    return cell;
}

static const char *colour_of(const struct drawing *d, const struct bar *bar, bool text)
{
    int direction = assay_cell_ratio_direction(&bar->ratio);
    return direction > 0   ? d->theme->faster
           : direction < 0 ? d->theme->slower
           : text          ? d->theme->muted
                           : d->theme->even;
}

/* What follows "1.72x". In a group of an op the bar is the rival's, and so is the text. */
static const char *word_of(const struct bar *bar)
{
    if (!bar->ratio.significant)
        return "not significant";
    if (!assay_cell_is_workload(bar->bout->kernel))
        return "the time";
    return bar->ratio.ratio > 1 ? "faster" : "slower";
}

/* "6.52 ms vs 11.2 ms"; of an op, where the heading has the kernel's, the rival's alone. */
static struct assay_cell times_of(const struct bar *bar)
{
    const struct assay_measurement *its = assay_bout_figures(bar->bout, bar->rival);
    struct assay_cell cell = {""};
    if (bar->bout->m && assay_cell_is_workload(bar->bout->kernel))
        assay_cell_add(&cell, "%s", assay_cell_time(bar->bout->m->time.median).text);
    if (its)
        assay_cell_add(&cell, "%s%s", cell.text[0] ? " vs " : "",
                       assay_cell_time(its->time.median).text);
    return cell;
}

/* The two lines behind a bar; a single line is centred. */
static void put_figures(struct drawing *d, double middle, const char *colour, const char *first,
                        const char *second)
{
    put_text(d, d->right + GAP, middle + (second[0] ? -3 : 5), TEXT_SIZE, BOLD, colour, FIGURES,
             first);
    if (second[0])
        put_text(d, d->right + GAP, middle + 12, SMALL_SIZE, PLAIN, d->theme->muted, FIGURES,
                 second);
}

static void put_compared(struct drawing *d, const struct bar *bar, double middle)
{
    const char *ink = colour_of(d, bar, true);
    double at = d->right + GAP;
    struct assay_cell times = assay_bout_times(bar->ratio.ratio);
    put_bar(d, at_ratio(d, bar->ratio.ratio), middle - BAR / 2.0, colour_of(d, bar, false));
    if (bar->ratio.ratio > d->most * (1 + 1e-9))
        put_break(d, middle);
    else
        put_whisker(d, &bar->ratio.ci, middle);
    put_figures(d, middle, ink, times.text, times_of(bar).text);
    put_text(d, at + 1.1 * width_of(times.text, TEXT_SIZE) + 8, middle - 3, SMALL_SIZE, PLAIN,
             d->theme->muted, FIGURES - 60, word_of(bar));
}

static void put_trouble(struct drawing *d, const struct bar *bar, double middle)
{
    bool fine = assay_outcome_is_fine(bar->trouble->outcome);
    bool its = bar->trouble == bar->rival && assay_cell_is_workload(bar->bout->kernel);
    char text[160];
    snprintf(text, sizeof text, "%s%s", its ? "reference " : "",
             assay_cell_outcome(bar->trouble->outcome).text);
    put_bar(d, at_ratio(d, 1), middle - BAR / 2.0, "url(#hatch)");
    put_figures(d, middle, fine ? d->theme->muted : d->theme->failed, text,
                bar->bout->m ? times_of(bar).text : "");
}

/* A time without a comparison. */
static void put_alone(struct drawing *d, const struct bar *bar, double middle)
{
    put_figures(d, middle, d->theme->muted, bar->bout->m ? times_of(bar).text : "not timed",
                bar->rival ? "not compared" : "no reference");
}

/* What is too long for the image is in the bar's title, which browsers show. */
static void put_title(struct drawing *d, const struct bar *bar)
{
    assay_text_add(&d->text, "<title>");
    add_text(&d->text, assay_bout_name(d->bouts, bar->bout).text, 200);
    if (bar->trouble && bar->trouble->reason[0]) {
        assay_text_add(&d->text, ": ");
        add_text(&d->text, bar->trouble->reason, 300);
    }
    assay_text_add(&d->text, "</title>\n");
}

static void note_extent(struct drawing *d, const struct bar *bar)
{
    double label = width_of(label_of(bar).text, TEXT_SIZE);
    d->label = label > d->label ? label : d->label;
    if (!bar->compared)
        return;
    d->ratios[d->n_ratios++] = bar->ratio.ratio;
    /* A very wide interval must not make the bars small. */
    d->most_ratio = fmax(d->most_ratio, fmin(bar->ratio.ci.hi, 1.5 * bar->ratio.ratio));
}

static void put_row(struct drawing *d, const struct bar *bar)
{
    if (d->bars++ >= ASSAY_CHART_MOST_BARS) {
        d->left_out++;
        return;
    }
    if (!d->on) {
        note_extent(d, bar);
        return;
    }
    double middle = d->y + ROW / 2.0;
    assay_text_add(&d->text, "<g>\n");
    put_title(d, bar);
    put_text(d, MARGIN, middle + 5, TEXT_SIZE, PLAIN, d->theme->text, d->label + 1,
             label_of(bar).text);
    if (bar->trouble)
        put_trouble(d, bar, middle);
    else if (bar->compared)
        put_compared(d, bar, middle);
    else
        put_alone(d, bar, middle);
    assay_text_add(&d->text, "</g>\n");
    d->y += ROW;
}

/* ---- the rows of a run --------------------------------------------------------------------- */

/* "SiluWorkloads"; of an op each group has its own: "layernorm f32 4x512, this kernel 1.23 ms". */
static struct assay_cell heading_of(const struct assay_bout *bout)
{
    struct assay_cell cell = assay_bout_benchmark(bout->kernel);
    if (assay_cell_is_workload(bout->kernel))
        return cell;
    assay_cell_add(&cell, " %s", assay_bout_workload(bout).text);
    if (bout->m)
        assay_cell_add(&cell, ": this kernel %s", assay_cell_time(bout->m->time.median).text);
    return cell;
}

static void put_heading(struct drawing *d, const char *text)
{
    if (!d->on || d->bars >= ASSAY_CHART_MOST_BARS)
        return;
    assay_text_format(&d->text, /* no lines behind the words */
                      "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", MARGIN,
                      d->y, WIDTH - 2 * MARGIN, HEADING, d->theme->background);
    put_text(d, MARGIN, d->y + HEADING - 9, TEXT_SIZE, BOLD, d->theme->text, WIDTH - 2 * MARGIN,
             text);
    d->y += HEADING;
}

/* A workload, and a kernel without figures, has one bar. */
static void put_bout(struct drawing *d, const struct assay_bout *bout)
{
    const struct assay_record *rival = assay_bout_rival(d->bouts, bout, NULL);
    bool one =
        !rival || bout->kernel->outcome != ASSAY_OUTCOME_OK || assay_cell_is_workload(bout->kernel);
    do {
        struct bar bar = bar_of(bout, rival);
        put_row(d, &bar);
        rival = rival ? assay_bout_rival(d->bouts, bout, rival) : NULL;
    } while (rival && !one);
}

static void put_rows(struct drawing *d)
{
    struct assay_cell last = {""};
    struct assay_bout bout = {0};
    d->bars = 0;
    d->left_out = 0;
    while (assay_bouts_next(d->bouts, &bout)) {
        struct assay_cell heading = heading_of(&bout);
        if (strcmp(heading.text, last.text) != 0)
            put_heading(d, heading.text);
        last = heading;
        put_bout(d, &bout);
    }
}

/* ---- around them --------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, at most seven of which fit. */
static double tick_step(double most)
{
    double power = pow(10, floor(log10(most / 7)));
    double step = most / 7 / power;
    return (step <= 1 ? 1 : step <= 2 ? 2 : step <= 5 ? 5 : 10) * power;
}

static void put_tick(struct drawing *d, double ratio, double y, const char *colour)
{
    char text[32];
    snprintf(text, sizeof text, fabs(ratio - 1) < 1e-9 ? "%.1fx" : "%.3gx", ratio);
    double x = at_ratio(d, ratio) - width_of(text, SMALL_SIZE) / 2;
    put_text(d, x, y, SMALL_SIZE, PLAIN, colour, 80, text);
}

/* Lines behind the bars, and what they stand for. The line at 1.0x is the one that matters. */
static void put_grid(struct drawing *d, int from, int to)
{
    double step = tick_step(d->most), one = at_ratio(d, 1);
    for (int i = 0; i * step <= d->most * (1 + 1e-9); i++) {
        double x = at_ratio(d, i * step);
        put_line(d, x, from, x, to, d->theme->grid, 1);
        if (fabs(x - one) > 36)
            put_tick(d, i * step, to + 18, d->theme->muted);
    }
    put_line(d, one, from, one, to + 4, d->theme->muted, 1.5);
    put_tick(d, 1, to + 18, d->theme->text);
}

static double put_swatch(struct drawing *d, double x, double y, const char *fill, const char *text)
{
    assay_text_format(&d->text,
                      "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" rx=\"2\" "
                      "fill=\"%s\"/>\n",
                      x, y - 10, fill);
    put_text(d, x + 18, y, SMALL_SIZE, PLAIN, d->theme->muted, 300, text);
    return x + 18 + width_of(text, SMALL_SIZE) + 18;
}

static void put_foot(struct drawing *d)
{
    double x = MARGIN, y = d->y + 48;
    x = put_swatch(d, x, y, d->theme->faster, "kernel faster");
    x = put_swatch(d, x, y, d->theme->slower, "kernel slower");
    x = put_swatch(d, x, y, d->theme->even, "no significant difference");
    put_swatch(d, x, y, "url(#hatch)", "no result");
    put_text(d, MARGIN, y + 20, SMALL_SIZE, PLAIN, d->theme->muted, WIDTH - 2 * MARGIN,
             "Bars: the other's time over the kernel's, median over rounds in which both ran; "
             "whiskers: 95 % interval.");
}

static void put_note(struct drawing *d, const char *text)
{
    put_text(d, MARGIN, d->y + HEADING - 9, SMALL_SIZE, PLAIN, d->theme->muted, WIDTH - 2 * MARGIN,
             text);
    d->y += HEADING;
}

/* Says how many bars were left out. */
static void put_left_out(struct drawing *d)
{
    char text[64];
    snprintf(text, sizeof text, "and %lld more bar%s", (long long)d->left_out,
             d->left_out == 1 ? "" : "s");
    if (d->left_out)
        put_note(d, text);
    if (d->bouts->failed)
        put_note(d, "The rest did not fit into memory.");
}

/* "NVIDIA H200 · 2385e44 · assay 0.1.0" */
static void put_head(struct drawing *d, const struct assay_run_info *run)
{
    char text[256];
    snprintf(text, sizeof text, "%s · %s%s · assay %s",
             run->device_name[0] ? run->device_name : run->device,
             run->kernel_commit[0] ? "commit " : "no commit",
             run->kernel_commit[0] ? assay_bout_short_sha(run->kernel_commit).text : "",
             run->version);
    put_text(d, MARGIN, 38, TITLE_SIZE, BOLD, d->theme->text, WIDTH - 2 * MARGIN,
             run->repository[0] ? run->repository : "assay kernel");
    put_text(d, MARGIN, 62, SMALL_SIZE + 1, PLAIN, d->theme->muted, WIDTH - 2 * MARGIN, text);
}

/* A naive reference may take a hundred times as long. Its bar is cut, so that the others stay
 * readable. */
static double choose_most(struct drawing *d)
{
    if (!d->n_ratios)
        return 2;
    assay_stats_sort(d->ratios, d->n_ratios);
    double usual = fmax(4, 2 * assay_stats_quantile(d->ratios, d->n_ratios, 0.5));
    return fmax(1.2, fmin(d->most_ratio, usual));
}

/* Labels get what they need, within reason; bars the rest. */
static void choose_extents(struct drawing *d)
{
    d->on = false;
    put_rows(d);
    d->most = choose_most(d);
    d->label = d->label < LEAST_LABEL ? LEAST_LABEL : d->label > MOST_LABEL ? MOST_LABEL : d->label;
    d->left = MARGIN + d->label + GAP;
    d->right = WIDTH - MARGIN - FIGURES - GAP;
    d->on = true;
}

static void draw(struct drawing *d, const struct assay_run_info *run)
{
    choose_extents(d);
    put_head(d, run);
    struct assay_text head = d->text;
    d->text = (struct assay_text){0};
    d->y = CHART_AT;
    put_rows(d);
    struct assay_text rows = d->text;
    d->text = head;
    put_grid(d, CHART_AT, d->y); /* behind the rows, whose height is known now */
    assay_text_append(&d->text, rows.data ? rows.data : "", rows.length);
    d->text.failed |= rows.failed;
    assay_text_fini(&rows);
    put_foot(d);
    d->y += FOOT;
    put_left_out(d);
}

/* ---- the image ----------------------------------------------------------------------------- */

static void put_opening(const struct drawing *d, const struct assay_sink *sink,
                        const struct assay_run_info *run)
{
    const struct assay_chart_theme *t = d->theme;
    struct assay_text name = {0};
    add_text(&name, run->repository, 200);
    assay_sink_format(sink,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                      "width=\"%d\" height=\"%d\" role=\"img\" font-family=\"-apple-system, "
                      "BlinkMacSystemFont, 'Segoe UI', 'Noto Sans', Helvetica, Arial, "
                      "sans-serif\">\n<title>",
                      WIDTH, d->y, WIDTH, d->y);
    assay_sink_put(sink, name.data ? name.data : "");
    if (name.failed)
        assay_sink_fail(sink);
    assay_text_fini(&name);
    assay_sink_format(sink,
                      "</title>\n<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
                      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                      "<rect width=\"2\" height=\"6\" fill=\"%s\"/></pattern></defs>\n",
                      t->even);
    assay_sink_format(sink,
                      "<rect x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"%s\" "
                      "stroke=\"%s\"/>\n",
                      WIDTH - 1, d->y - 1, t->background, t->border);
}

void assay_chart_begin(struct assay_chart *chart, const struct assay_sink *sink,
                       const struct assay_run_info *run)
{
    chart->sink = *sink;
    assay_bouts_begin(&chart->bouts, run);
}

void assay_chart_group(void *state, const struct assay_record *records, int64_t n)
{
    assay_bouts_add(&((struct assay_chart *)state)->bouts, records, n);
}

void assay_chart_end(struct assay_chart *chart, const struct assay_chart_theme *theme)
{
    struct drawing d = {.bouts = &chart->bouts, .theme = theme};
    draw(&d, &chart->bouts.run);
    put_opening(&d, &chart->sink, &chart->bouts.run);
    if (d.text.failed || chart->bouts.failed)
        assay_sink_fail(&chart->sink);
    if (d.text.length && !d.text.failed)
        chart->sink.write(chart->sink.user, d.text.data, d.text.length);
    else /* a part of it would not be XML */
        assay_sink_put(&chart->sink, "<text x=\"24\" y=\"38\">no memory for the chart</text>\n");
    assay_sink_put(&chart->sink, "</svg>\n");
    assay_text_fini(&d.text);
}

void assay_chart_fini(void *state) { assay_bouts_fini(&((struct assay_chart *)state)->bouts); }
