#include "report/plot/plot_bars.h"

#include "report/chart/chart_words.h"
#include "report/draw/draw_axis.h"
#include "report/plot/plot_cells.h"
#include "report/report_sink.h"
#include "report/report_totals.h"

#include <math.h>
#include <string.h>

enum {
    MOST_ROWS = 60,
    NAME_AT = 2,     /* behind the mark ▸ */
    STATE = 5,       /* "cold " */
    TIME = 9,        /* " 1.23 ms " */
    TIMES_FROM = 90, /* columns from which there is room for them beside speedups */
    SPEEDUP = 26,    /* "17.3x slower [14.4 17.8]" */
    SHORT_SPEEDUP = 14,
    WIDE = 72, /* columns from which intervals are written out */
};

/* A far end of an interval makes the scale longer by this factor at the most. */
static const double REACH = 10;

struct bar {
    struct assay_cell name; /* "" where it is that of the bar above */
    const char *state;      /* "hot"; NULL: it does not matter */
    bool fastest, shown;    /* without a figure it is not shown: `words` say why */
    double value, lo, hi;
    enum assay_verdict verdict; /* of a ratio */
    struct assay_cell time, words;
    enum assay_line_ink ink;
};

struct bars {
    const struct assay_book *book;
    struct assay_page *page;
    bool times;               /* nothing is compared with anything */
    bool on;                  /* false: only measure */
    struct assay_scale scale; /* in columns */
    int name, state, time, words, left;
    int64_t rows, groups; /* so far */
};

/* ---- layout --------------------------------------------------------------------------------- */

static void see(struct bars *b, const struct bar *bar)
{
    int name = assay_line_columns_of(bar->name.text, b->page->line.ascii);
    b->name = name > b->name ? name : b->name;
    if (!bar->shown)
        return;
    assay_scale_see(&b->scale, bar->value);
    assay_scale_see(&b->scale, fmax(bar->lo, bar->value / REACH));
    assay_scale_see(&b->scale, fmin(bar->hi, bar->value * REACH));
}

/* Once all bars were seen. */
static void lay_out(struct bars *b)
{
    int width = b->page->width, most = width / 4;
    b->name = b->name > most ? most : b->name;
    b->time = !b->times && width >= TIMES_FROM ? TIME : 0;
    b->words = b->times ? TIME + 3 : width >= WIDE ? SPEEDUP : SHORT_SPEEDUP;
    b->left = NAME_AT + b->name + 1 + b->state + b->time;
    if (!b->times)
        assay_scale_see(&b->scale, 1);
    b->scale.twos = false;
    assay_scale_round(&b->scale);
    b->scale.from = 0;
    b->scale.to = width - b->left - b->words - 2; /* a blank before the words */
    b->on = true;
}

/* ---- bars ----------------------------------------------------------------------------------- */

static const char *block_of(const struct bar *bar)
{
    static const char *const blocks[ASSAY_VERDICTS] = {
        [ASSAY_VERDICT_FASTER] = "█",
        [ASSAY_VERDICT_SLOWER] = "█",
        [ASSAY_VERDICT_SAME] = "▒",
        [ASSAY_VERDICT_UNCLEAR] = "░",
    };
    return blocks[bar->verdict];
}

static void fill(struct assay_plot_cells *cells, int from, int to, const char *glyph,
                 enum assay_line_ink ink)
{
    for (int i = from < to ? from : to; i <= (from < to ? to : from); i++) {
        cells->glyphs[i] = glyph;
        cells->inks[i] = ink;
    }
}

static void put_interval(struct assay_plot_cells *cells, int lo, int value, int hi)
{
    if (lo >= hi)
        return;
    fill(cells, lo, hi, "─", ASSAY_INK_PLAIN);
    cells->glyphs[value] = "┼";
    cells->glyphs[lo] = "├";
    cells->glyphs[hi] = "┤";
}

static void put_bar(const struct bars *b, const struct bar *bar)
{
    struct assay_plot_cells cells = {.n = (int)b->scale.to + 1};
    int base = b->times ? -1 : assay_plot_column(&b->scale, 1);
    int value = bar->shown ? assay_plot_column(&b->scale, bar->value) : -1;
    bool interval = bar->shown && bar->lo > 0 && bar->hi >= bar->lo;
    if (value >= 0)
        fill(&cells, base < 0 ? value : base, value,
             b->times ? (b->page->line.ascii ? "*" : "●") : block_of(bar), bar->ink);
    if (interval)
        put_interval(&cells, assay_plot_column(&b->scale, bar->lo), value,
                     assay_plot_column(&b->scale, bar->hi));
    if (base >= 0 && value != base)
        fill(&cells, base, base, "│", ASSAY_INK_DIM);
    else if (base >= 0 && (!interval || !cells.glyphs[base]))
        fill(&cells, base, base, "│", bar->ink);
    assay_plot_cells_put(&cells, &b->page->line);
}

/* Why there is no figure takes the room of the bar, too. */
static void put_words_alone(const struct bars *b, const struct bar *bar)
{
    struct assay_line *line = &b->page->line;
    int base = b->left + (b->times ? 0 : assay_plot_column(&b->scale, 1));
    int width = assay_line_columns_of(bar->words.text, line->ascii);
    bool fits = base + 2 + width <= b->page->width;
    if (fits && !b->times) {
        assay_line_to(line, base);
        assay_line_put(line, "│", 1, ASSAY_INK_DIM);
    }
    assay_line_to(line, fits && !b->times ? base + 2 : b->left);
    assay_line_put(line, bar->words.text, b->page->width - line->columns, bar->ink);
}

static void draw(struct bars *b, const struct bar *bar)
{
    struct assay_line *line = &b->page->line;
    if (bar->fastest)
        assay_line_put(line, "▸", 1, ASSAY_INK_BEST);
    assay_line_to(line, NAME_AT);
    assay_line_left(line, bar->name.text, b->name, ASSAY_INK_PLAIN);
    assay_line_to(line, NAME_AT + b->name + 1);
    if (b->state && bar->state)
        assay_line_put(line, bar->state, STATE, ASSAY_INK_DIM);
    assay_line_to(line, b->left - b->time);
    if (b->time) {
        assay_line_right(line, bar->time.text, b->time - 1, ASSAY_INK_PLAIN);
        assay_line_to(line, b->left);
    }
    if (bar->shown) {
        put_bar(b, bar);
        assay_line_to(line, line->columns + 1);
        assay_line_put(line, bar->words.text, b->words, bar->ink);
    } else {
        put_words_alone(b, bar);
    }
    assay_page_flush(b->page);
}

static void take(struct bars *b, const struct bar *bar)
{
    b->rows++;
    if (b->on)
        draw(b, bar);
    else
        see(b, bar);
}

static void put_heading(struct bars *b, const char *text)
{
    if (!b->on)
        return;
    if (b->groups++ > 0)
        assay_page_flush(b->page);
    assay_line_put(&b->page->line, text, b->page->width, ASSAY_INK_BOLD);
    assay_page_flush(b->page);
}

static enum assay_line_ink ink_of(enum assay_verdict verdict)
{
    return verdict == ASSAY_VERDICT_FASTER   ? ASSAY_INK_GOOD
           : verdict == ASSAY_VERDICT_SLOWER ? ASSAY_INK_WARN
                                             : ASSAY_INK_DIM;
}

static void set_ratio(struct bar *bar, const struct assay_ratio *ratio)
{
    bar->verdict = assay_cell_verdict(ratio);
    bar->ink = ink_of(bar->verdict);
    bar->value = ratio->ratio;
    bar->lo = ratio->ci.lo;
    bar->hi = ratio->ci.hi;
    bar->shown = ratio->ratio > 0 && isfinite(ratio->ratio);
}

/* ---- rows of groups ------------------------------------------------------------------------- */

static void take_trouble(struct bars *b, const struct assay_record *r, struct bar bar)
{
    bool fine = assay_outcome_is_fine(r->outcome);
    bar.ink = fine ? ASSAY_INK_DIM : ASSAY_INK_BAD;
    if (r->outcome == ASSAY_OUTCOME_OK)
        assay_cell_add(&bar.words, "not timed");
    else
        assay_cell_add(&bar.words, "%s%s%s%.90s", fine ? "" : "✗ ",
                       assay_cell_outcome(r->outcome).text, r->reason[0] ? ": " : "", r->reason);
    take(b, &bar);
}

static void take_state(struct bars *b, const struct assay_record *r,
                       const struct assay_measurement *m, struct bar bar)
{
    bar.time = assay_cell_time(m->time.median);
    bar.fastest = m->fastest;
    if (b->times) {
        bool interval = assay_cell_has_interval(&m->time);
        bar.value = m->time.median;
        bar.lo = interval ? m->time.median_ci.lo : bar.value;
        bar.hi = interval ? m->time.median_ci.hi : bar.value;
        bar.shown = bar.value > 0 && isfinite(bar.value);
        bar.ink = ASSAY_INK_SERIES;
        bar.words = bar.time;
    } else {
        bar.ink = ASSAY_INK_DIM;
        if (m->has_ratio && !assay_cell_is_baseline(r))
            set_ratio(&bar, &m->ratio);
        bar.words = assay_cell_speedup(r, m, b->words, b->page->line.ascii);
        if (!m->has_ratio && !assay_cell_is_baseline(r))
            bar.words = (struct assay_cell){"not compared"};
    }
    take(b, &bar);
}

static void take_record(struct bars *b, const struct assay_record *r,
                        const struct assay_record *records, int64_t n)
{
    struct bar bar = {.name = assay_cell_name(r, records, n)};
    bool any = false;
    for (int s = 0; s < ASSAY_CACHE_STATES && r->outcome == ASSAY_OUTCOME_OK; s++) {
        if (!r->states[s].measured)
            continue;
        bar.state = assay_cache_state_name((enum assay_cache_state)s);
        take_state(b, r, &r->states[s], bar);
        bar.name.text[0] = '\0';
        any = true;
    }
    if (!any)
        take_trouble(b, r, bar);
}

/* The first groups, up to `groups`; how many have room. */
static int64_t take_groups(struct bars *b, int64_t groups)
{
    struct assay_book_view view = {0};
    int64_t g = 0;
    for (b->rows = 0; g < groups; g++) {
        if (!assay_book_open(b->book, g, &view)) {
            assay_sink_fail(&b->page->sink);
            break;
        }
        if (view.n == 0)
            continue;
        put_heading(b, assay_chart_group_name(b->book, &view).text);
        for (int64_t i = 0; i < view.n; i++)
            take_record(b, &view.records[i], view.records, view.n);
        if (b->rows > MOST_ROWS && g > 0 && !b->on)
            break;
    }
    assay_book_view_fini(&view);
    return g;
}

/* ---- means across groups -------------------------------------------------------------------- */

static void take_total(struct bars *b, const struct assay_total *t)
{
    struct bar bar = {.name = assay_total_name(t), .state = assay_cache_state_name(t->state)};
    struct assay_ratio mean = assay_total_mean(t);
    bar.ink = ASSAY_INK_DIM;
    if (mean.n)
        set_ratio(&bar, &mean);
    bar.words = assay_total_speedup(t, b->words, b->page->line.ascii);
    take(b, &bar);
}

/* False where there is nothing to sum up. */
static bool take_totals(struct bars *b, const struct assay_totals *totals)
{
    const struct assay_total_op *op;
    bool any = false;
    for (int64_t i = 0; (op = assay_totals_section(totals, i, MOST_ROWS)); i++) {
        put_heading(b, assay_total_heading(totals, op).text);
        for (int64_t k = 0; k < op->n; k++)
            if (assay_total_shown(&op->totals[k])) {
                take_total(b, &op->totals[k]);
                any = true;
            }
    }
    return any;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Are there ratios; are both cache states measured? */
static void look(struct bars *b)
{
    struct assay_book_view view = {0};
    bool measured[ASSAY_CACHE_STATES] = {false};
    b->times = true;
    for (int64_t g = 0; g < b->book->n_groups && assay_book_open(b->book, g, &view); g++)
        for (int64_t i = 0; i < view.n; i++)
            for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
                const struct assay_measurement *m = &view.records[i].states[s];
                bool timed = m->measured && view.records[i].outcome == ASSAY_OUTCOME_OK;
                measured[s] |= timed;
                b->times = b->times && !(timed && m->has_ratio);
            }
    b->state = measured[ASSAY_CACHE_HOT] && measured[ASSAY_CACHE_COLD] ? STATE : 0;
    assay_book_view_fini(&view);
}

static void put_foot(struct bars *b, int64_t groups, bool means)
{
    struct assay_flow flow = assay_page_flow(b->page, 0, b->page->width, ASSAY_INK_DIM);
    if (!assay_scale_is_empty(&b->scale) && b->rows > 0)
        assay_plot_axis_below(b->page, &b->scale, b->left,
                              b->times ? assay_axis_time : assay_axis_ratio);
    assay_flow_item(&flow, "%s",
                    b->times ? "time of a call, with its 95% interval"
                    : means  ? "mean speedup across groups, with its 95% interval"
                             : "speedup against the baseline, with its 95% interval");
    if (!b->times)
        assay_flow_item(&flow, "▒ same · ░ unclear");
    if (groups < b->book->n_groups && !means)
        assay_flow_item(&flow, "the first %lld of %lld groups", (long long)groups,
                        (long long)b->book->n_groups);
    assay_page_flush(b->page);
}

void assay_plot_bars(const struct assay_book *book, struct assay_page *page)
{
    struct bars b = {.book = book, .page = page}, measured;
    struct assay_totals totals = {0};
    assay_scale_init(&b.scale, ASSAY_SCALE_LOG);
    look(&b);
    measured = b;
    int64_t groups = take_groups(&measured, book->n_groups);
    bool means = false;
    if (groups < book->n_groups) {
        struct bars summed = b;
        assay_totals_add_book(&totals, book, -1);
        means = assay_totals_worth(&totals) && take_totals(&summed, &totals);
        measured = means ? summed : measured;
    }
    b = measured;
    lay_out(&b);
    if (means)
        take_totals(&b, &totals);
    else
        take_groups(&b, groups);
    put_foot(&b, groups, means);
    assay_totals_fini(&totals);
}
