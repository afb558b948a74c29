#include "report/report_chart.h"

#include "report/report_chart_bars.h"
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
    FIGURES = 200, /* width of the column behind the bars */
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
    bool kernels; /* of `assay kernel` */
    bool on;      /* false: only measure */
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

static const char *colour_of(const struct drawing *d, const struct assay_chart_bar *bar, bool text)
{
    int direction = bar->compared ? assay_cell_ratio_direction(&bar->ratio) : 0;
    return direction > 0   ? d->theme->faster
           : direction < 0 ? d->theme->slower
           : text          ? d->theme->muted
                           : d->theme->even;
}

/* The two lines behind a bar; a single line is centred. */
static void put_figures(struct drawing *d, const struct assay_chart_bar *bar, double middle,
                        const char *colour)
{
    double at = d->right + GAP, y = middle + (bar->below.text[0] ? -3 : 5);
    put_text(d, at, y, TEXT_SIZE, BOLD, colour, FIGURES, bar->figure.text);
    if (bar->interval.text[0])
        put_text(d, at + 1.1 * width_of(bar->figure.text, TEXT_SIZE) + 6, y, SMALL_SIZE, PLAIN,
                 d->theme->muted, FIGURES, bar->interval.text);
    if (bar->below.text[0])
        put_text(d, at, middle + 12, SMALL_SIZE, PLAIN, d->theme->muted, FIGURES, bar->below.text);
}

static void put_compared(struct drawing *d, const struct assay_chart_bar *bar, double middle)
{
    put_bar(d, at_ratio(d, bar->ratio.ratio), middle - BAR / 2.0, colour_of(d, bar, false));
    if (bar->ratio.ratio > d->most * (1 + 1e-9))
        put_break(d, middle);
    else
        put_whisker(d, &bar->ratio.ci, middle);
    put_figures(d, bar, middle, colour_of(d, bar, true));
}

static void put_trouble(struct drawing *d, const struct assay_chart_bar *bar, double middle)
{
    bool fine = assay_outcome_is_fine(bar->trouble->outcome);
    put_bar(d, at_ratio(d, 1), middle - BAR / 2.0, "url(#hatch)");
    put_figures(d, bar, middle, fine ? d->theme->muted : d->theme->failed);
}

/* A time without a comparison, and the one that all others are compared with. */
static void put_alone(struct drawing *d, const struct assay_chart_bar *bar, double middle)
{
    if (bar->baseline)
        put_bar(d, at_ratio(d, 1), middle - BAR / 2.0, d->theme->even);
    put_figures(d, bar, middle, d->theme->muted);
}

/* What is too long for the image is in the bar's title, which browsers show. */
static void put_title(struct drawing *d, const struct assay_chart_bar *bar)
{
    assay_text_add(&d->text, "<title>");
    add_text(&d->text, bar->name.text, 200);
    if (bar->trouble && bar->trouble->reason[0]) {
        assay_text_add(&d->text, ": ");
        add_text(&d->text, bar->trouble->reason, 300);
    }
    assay_text_add(&d->text, "</title>\n");
}

static void note_extent(struct drawing *d, const struct assay_chart_bar *bar)
{
    double label = width_of(bar->label.text, TEXT_SIZE);
    d->label = label > d->label ? label : d->label;
    if (!bar->compared)
        return;
    d->ratios[d->n_ratios++] = bar->ratio.ratio;
    /* A very wide interval must not make the bars small. */
    d->most_ratio = fmax(d->most_ratio, fmin(bar->ratio.ci.hi, 1.5 * bar->ratio.ratio));
}

static void put_row(struct drawing *d, const struct assay_chart_bar *bar)
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
             bar->label.text);
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

static void put_rows(struct drawing *d)
{
    struct assay_cell last = {""};
    struct assay_chart_walk walk = {0};
    struct assay_chart_bar bar;
    d->bars = 0;
    d->left_out = 0;
    while (assay_chart_next(d->bouts, &walk, &bar)) {
        if (strcmp(bar.heading.text, last.text) != 0)
            put_heading(d, bar.heading.text);
        last = bar.heading;
        put_row(d, &bar);
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
    x = put_swatch(d, x, y, d->theme->faster, d->kernels ? "kernel faster" : "faster");
    x = put_swatch(d, x, y, d->theme->slower, d->kernels ? "kernel slower" : "slower");
    x = put_swatch(d, x, y, d->theme->even, "no significant difference");
    put_swatch(d, x, y, "url(#hatch)", "no result");
    put_text(d, MARGIN, y + 20, SMALL_SIZE, PLAIN, d->theme->muted, WIDTH - 2 * MARGIN,
             d->kernels ? "Bars: the other's time over the kernel's, median over rounds in which "
                          "both ran; whiskers, [ ]: 95 % interval."
                        : "Bars: the baseline's time over a variant's, median over rounds in which "
                          "both ran; whiskers, [ ]: 95 % interval.");
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

/* Of `assay kernel` the repository; else the command up to its first option: "assay bench gelu". */
static struct assay_cell title_of(const struct assay_run_info *run)
{
    struct assay_cell cell = {""};
    const char *command = run->command, *slash = memchr(command, '/', strcspn(command, " "));
    for (; slash; slash = memchr(command, '/', strcspn(command, " ")))
        command = slash + 1; /* the program's own name */
    const char *option = strstr(command, " -");
    int length = option ? (int)(option - command) : (int)strlen(command);
    if (run->repository[0])
        assay_cell_add(&cell, "%s", run->repository);
    else
        assay_cell_add(&cell, "%.*s", length, command);
    if (!cell.text[0])
        assay_cell_add(&cell, "assay");
    return cell;
}

/* "NVIDIA H200 · 2385e44 · assay 0.1.0" */
static void put_head(struct drawing *d, const struct assay_run_info *run)
{
    char text[256];
    struct assay_cell what = {""}; /* of a kernel what was measured, else on how much */
    if (d->kernels)
        assay_cell_add(&what, "%s%s", run->kernel_commit[0] ? "commit " : "no commit",
                       run->kernel_commit[0] ? assay_bout_short_sha(run->kernel_commit).text : "");
    else if (run->threads > 0 && assay_run_on_host(run))
        assay_cell_add(&what, "%d thread%s", run->threads, run->threads == 1 ? "" : "s");
    snprintf(text, sizeof text, "%s · %s%sassay %s",
             run->device_name[0] ? run->device_name : run->device, what.text,
             what.text[0] ? " · " : "", run->version);
    put_text(d, MARGIN, 38, TITLE_SIZE, BOLD, d->theme->text, WIDTH - 2 * MARGIN,
             title_of(run).text);
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
    add_text(&name, title_of(run).text, 200);
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
    struct drawing d = {
        .bouts = &chart->bouts, .theme = theme, .kernels = assay_chart_is_kernels(&chart->bouts)};
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
