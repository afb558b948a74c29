/* compiled.c: what compiling a model gains: for each problem and recipe the time of the eager
 * executor and of the compiled one, one bar below the other. PyTorch's own pairs are among them. */
#include "base/alloc.h"
#include "report/chart/chart_rows.h"
#include "report/chart/chart_words.h"
#include "report/report_pairs.h"

#include <math.h>
#include <stdio.h>

enum side { EAGER, COMPILED, SIDES };

static enum assay_ink ink_of(enum side side) { return assay_draw_series_ink(side == EAGER); }

struct side_bar {
    double ns;
    struct assay_interval ci;
    bool timed, has_interval;
    enum assay_ink trouble; /* where it is not timed: of the hatched bar */
};

struct pair_bars {
    struct side_bar sides[SIDES];
    bool hatched; /* there is no significant difference */
};

struct compiled {
    struct assay_chart_rows rows;
    struct pair_bars pairs[ASSAY_CHART_MOST_ROWS];
    int64_t verdicts[ASSAY_VERDICTS], uncompared;
    bool failed;
    /* For drawing. */
    const struct assay_scale *scale;
    bool shares;
};

/* ---- which pairs ---------------------------------------------------------------------------- */

static const struct assay_measurement *figures(const struct assay_record *record,
                                               enum assay_cache_state state)
{
    bool timed = record->outcome == ASSAY_OUTCOME_OK && record->states[state].measured;
    return timed ? &record->states[state] : NULL;
}

static bool is_asked(const struct assay_chart_request *request, enum assay_cache_state state)
{
    return !request->has_state || request->state == state;
}

static bool is_shown(const struct assay_pair *pair, const struct assay_chart_request *request,
                     enum assay_cache_state state)
{
    return is_asked(request, state) &&
           (figures(pair->eager, state) || figures(pair->compiled, state));
}

static bool is_pair(const struct assay_pair *pair) { return pair->eager && pair->compiled; }

static int compiled_fits(const struct assay_book *book, const struct assay_chart_request *request,
                         char *why, size_t size)
{
    bool some = false, timed = false, lost = false;
    struct assay_book_view view = {0};
    if (!assay_chart_rows_suit(request, "time", why, size))
        return ASSAY_CHART_UNFIT;
    for (int64_t g = 0; g < book->n_groups && !timed && !lost; g++) {
        lost = !assay_book_open(book, g, &view);
        struct assay_pair pair = {0};
        while (assay_pair_next(view.records, view.n, ASSAY_PAIRS_AS_LISTED, &pair)) {
            some = some || is_pair(&pair);
            for (int s = 0; is_pair(&pair) && s < ASSAY_CACHE_STATES; s++)
                timed = timed || is_shown(&pair, request, (enum assay_cache_state)s);
        }
    }
    assay_book_view_fini(&view);
    if (timed)
        return ASSAY_CHART_GOOD + 10; /* who measures both wants to see them beside each other */
    snprintf(why, size, "%s",
             lost   ? ASSAY_CHART_NO_MEMORY
             : some ? "no model was timed, neither eager nor compiled"
                    : "no model was measured both eager and compiled");
    return ASSAY_CHART_UNFIT;
}

/* ---- their bars ----------------------------------------------------------------------------- */

static struct side_bar bar_of(const struct assay_record *record, enum assay_cache_state state)
{
    const struct assay_measurement *m = figures(record, state);
    struct side_bar bar = {.trouble = assay_chart_trouble_ink(record)};
    if (!m || !isfinite(m->time.median))
        return bar;
    return (struct side_bar){.ns = m->time.median,
                             .ci = m->time.median_ci,
                             .timed = true,
                             .has_interval = assay_cell_has_interval(&m->time)};
}

/* "1.31x faster [1.28 1.35]", "23.1 us eager, 17.6 us compiled". */
static void say(struct assay_chart_row *row, const struct assay_pair *pair,
                enum assay_cache_state state)
{
    const struct assay_measurement *eager = figures(pair->eager, state);
    const struct assay_measurement *compiled = figures(pair->compiled, state);
    const struct assay_record *trouble = assay_pair_trouble(pair);
    if (eager)
        assay_cell_add(&row->below, "%s eager", assay_cell_time(eager->time.median).text);
    if (compiled)
        assay_cell_add(&row->below, "%s%s compiled", eager ? ", " : "",
                       assay_cell_time(compiled->time.median).text);
    if (eager && compiled && compiled->has_eager_ratio) {
        assay_chart_row_ratio(row, &compiled->eager_ratio);
    } else if (trouble) {
        assay_cell_add(&row->figure, "%s ", trouble == pair->eager ? "eager" : "compiled");
        assay_chart_row_trouble(row, trouble);
    } else {
        assay_cell_add(&row->figure, "%s",
                       !eager      ? "eager not timed"
                       : !compiled ? "compiled not timed"
                                   : "not compared");
    }
}

static void count(struct compiled *c, const struct assay_pair *pair, enum assay_cache_state state)
{
    const struct assay_measurement *m = figures(pair->compiled, state);
    if (m && m->has_eager_ratio && figures(pair->eager, state))
        c->verdicts[assay_cell_verdict(&m->eager_ratio)]++;
    else
        c->uncompared++;
}

static void add(struct compiled *c, const struct assay_pair *pair, int64_t record,
                enum assay_cache_state state, const struct assay_cell *heading)
{
    count(c, pair, state);
    struct assay_chart_row *row = assay_chart_rows_add(&c->rows);
    if (!row)
        return;
    struct pair_bars *bars = &c->pairs[row - c->rows.rows];
    const struct assay_measurement *m = figures(pair->compiled, state);
    bars->sides[EAGER] = bar_of(pair->eager, state);
    bars->sides[COMPILED] = bar_of(pair->compiled, state);
    bars->hatched = m && m->has_eager_ratio && assay_cell_ratio_direction(&m->eager_ratio) == 0;
    row->heading = *heading;
    row->label = assay_pair_label(pair);
    if (!row->label.text[0])
        assay_cell_add(&row->label, "%s", assay_cell_subject(pair->eager));
    row->record = record;
    for (int s = 0; s < SIDES; s++)
        row->most = fmax(row->most, bars->sides[s].timed
                                        ? fmax(bars->sides[s].ns,
                                               fmin(bars->sides[s].ci.hi, 1.5 * bars->sides[s].ns))
                                        : 0);
    say(row, pair, state);
}

/* Hot, then cold; what was timed in neither comes once. */
static void add_group(struct compiled *c, const struct assay_book *book, int64_t group,
                      const struct assay_chart_request *request, const struct assay_book_view *view)
{
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        enum assay_cache_state state = (enum assay_cache_state)s;
        struct assay_cell heading = assay_chart_group_name(book, view);
        struct assay_pair pair = {0};
        if (view->run->info.hot == view->run->info.cold)
            assay_cell_add(&heading, " (%s)", assay_cache_state_name(state));
        while (assay_pair_next(view->records, view->n, ASSAY_PAIRS_AS_LISTED, &pair)) {
            if (!is_pair(&pair))
                continue;
            bool never = !is_shown(&pair, request, ASSAY_CACHE_HOT) &&
                         !is_shown(&pair, request, ASSAY_CACHE_COLD);
            bool first =
                is_asked(request, ASSAY_CACHE_HOT) ? s == ASSAY_CACHE_HOT : s == ASSAY_CACHE_COLD;
            if (is_shown(&pair, request, state) || (never && first))
                add(c, &pair, book->groups[group].first + (pair.compiled - view->records) + 1,
                    state, &heading);
        }
    }
}

static void find(struct compiled *c, const struct assay_book *book,
                 const struct assay_chart_request *request)
{
    struct assay_book_view view = {0};
    c->failed = book->failed;
    for (int64_t g = 0; g < book->n_groups && !c->failed; g++) {
        c->failed = !assay_book_open(book, g, &view);
        assay_chart_rows_group(&c->rows);
        if (!c->failed)
            add_group(c, book, g, request, &view);
        assay_chart_rows_group_end(&c->rows);
    }
    assay_book_view_fini(&view);
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void draw_side(struct assay_drawing *d, const struct compiled *c,
                      const struct assay_plot *plot, const struct side_bar *bar, double unit,
                      double top, enum assay_ink ink, bool hatched)
{
    double height = ASSAY_CHART_BAR - 1;
    if (!bar->timed) {
        assay_draw_hatched(d, plot->left, top + height / 4, plot->right - plot->left, height / 2,
                           bar->trouble);
        return;
    }
    double end = assay_scale_clamped(c->scale, bar->ns / unit);
    if (hatched)
        assay_draw_hatched(d, plot->left, top, end - plot->left, height, ink);
    else
        assay_draw_rect(d, plot->left, top, end - plot->left, height, ink);
    struct assay_interval ci = {bar->ci.lo / unit, bar->ci.hi / unit};
    if (bar->has_interval)
        assay_chart_whisker(d, c->scale, &ci, top + height / 2);
}

static void draw_pair(struct assay_drawing *d, const struct assay_plot *plot, int64_t row, double y,
                      const void *user)
{
    const struct compiled *c = user;
    const struct pair_bars *pair = &c->pairs[row];
    double unit = c->shares ? assay_chart_rows_unit(&c->rows, row) : 1;
    draw_side(d, c, plot, &pair->sides[EAGER], unit, y - ASSAY_CHART_BAR, ink_of(EAGER), false);
    draw_side(d, c, plot, &pair->sides[COMPILED], unit, y, ink_of(COMPILED), pair->hatched);
}

static int64_t make_legend(const struct compiled *c, struct assay_legend_entry entries[4])
{
    bool even = false, untimed = false;
    int64_t n = 0;
    for (int64_t i = 0; i < c->rows.n; i++) {
        even = even || c->pairs[i].hatched;
        untimed = untimed || !c->pairs[i].sides[EAGER].timed || !c->pairs[i].sides[COMPILED].timed;
    }
    entries[n++] = (struct assay_legend_entry){.ink = ink_of(EAGER), .text = "eager"};
    entries[n++] = (struct assay_legend_entry){.ink = ink_of(COMPILED), .text = "compiled"};
    if (even)
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_HATCHED,
                                                   .ink = ink_of(COMPILED),
                                                   .text = "compiled, no significant difference"};
    if (untimed)
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_HATCHED,
                                                   .ink = ASSAY_DRAW_FAILED,
                                                   .text = "all of the width: no time"};
    return n;
}

static void add_summary(const struct compiled *c, struct assay_text *out)
{
    assay_text_format(out,
                      "Compiled against eager models: %lld faster, %lld slower, %lld without a "
                      "significant difference, %lld unclear, %lld not compared.",
                      (long long)c->verdicts[ASSAY_VERDICT_FASTER],
                      (long long)c->verdicts[ASSAY_VERDICT_SLOWER],
                      (long long)c->verdicts[ASSAY_VERDICT_SAME],
                      (long long)c->verdicts[ASSAY_VERDICT_UNCLEAR], (long long)c->uncompared);
}

static void draw(struct compiled *c, const struct assay_book *book, struct assay_drawing *drawing)
{
    struct assay_cell title = assay_chart_subject(book), place = assay_chart_place(book);
    assay_cell_add(&title, ": compiled against eager");
    c->shares = assay_chart_rows_are_shares(&c->rows);
    struct assay_scale scale = assay_chart_rows_scale(&c->rows, c->shares);
    c->scale = &scale;
    struct assay_axis axis = {.scale = &scale,
                              .name = c->shares ? "time of a call, of the longest of its group"
                                                : "time of a call",
                              .label = c->shares ? assay_axis_share : assay_axis_time,
                              .grid = true};
    struct assay_legend_entry legend[4];
    struct assay_chart_rows_style style = {
        .title = title.text,
        .subtitle = place.text,
        .scale = &scale,
        .axis = &axis,
        .line = (double)NAN,
        .bar = draw_pair,
        .user = c,
        .legend = legend,
        .n_legend = make_legend(c, legend),
        .note = "Bars: the median time; whiskers: its 95% interval. Figures: the eager time over "
                "the compiled one, median over rounds in which both ran; [ ]: 95% interval."};
    add_summary(c, &drawing->summary);
    assay_chart_rows_draw(&c->rows, &style, drawing);
}

static void compiled_draw(const struct assay_book *book, const struct assay_chart_request *request,
                          struct assay_drawing *drawing)
{
    struct compiled *c = assay_calloc(1, sizeof *c);
    if (c) {
        find(c, book, request);
        draw(c, book, drawing);
    }
    drawing->body.failed |= !c || c->failed;
    assay_free(c);
}

const struct assay_chart assay_chart_compiled = {
    .name = "compiled",
    .summary = "times of eager and compiled models, side by side",
    .fits = compiled_fits,
    .draw = compiled_draw,
};
