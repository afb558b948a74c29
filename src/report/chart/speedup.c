/* speedup.c: speedups as bars, from the line at 1x to the right where faster, to the left where
 * slower, on a logarithmic axis: twice as fast is as long as half as fast. */
#include "base/alloc.h"
#include "report/chart/chart_speedups.h"
#include "report/chart/chart_words.h"

#include <math.h>
#include <stdio.h>

/* ---- does it fit? --------------------------------------------------------------------------- */

struct seen {
    bool rows, timed, compared;
    bool other; /* timed in the state that is not asked for */
    bool lost;  /* there was no memory to look at all of them */
};

static void see(const struct assay_record *record, const struct assay_chart_request *request,
                struct seen *seen)
{
    seen->rows = true;
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        enum assay_cache_state state = (enum assay_cache_state)s;
        if (assay_speedups_timed(record, request, state)) {
            seen->timed = true;
            seen->compared = seen->compared || record->states[state].has_ratio;
        } else if (record->states[state].measured && record->outcome == ASSAY_OUTCOME_OK) {
            seen->other = true;
        }
    }
}

static struct seen look_through(const struct assay_book *book,
                                const struct assay_chart_request *request)
{
    struct seen seen = {0};
    struct assay_book_view view = {0};
    for (int64_t g = 0; g < book->n_groups && !seen.compared && !seen.lost; g++) {
        seen.lost = !assay_book_open(book, g, &view);
        for (int64_t i = 0; i < view.n; i++)
            see(&view.records[i], request, &seen);
    }
    assay_book_view_fini(&view);
    return seen;
}

static int speedup_fits(const struct assay_book *book, const struct assay_chart_request *request,
                        char *why, size_t size)
{
    if (!assay_chart_rows_suit(request, "speedup", why, size))
        return ASSAY_CHART_UNFIT;
    struct seen seen = look_through(book, request);
    if (seen.lost)
        snprintf(why, size, ASSAY_CHART_NO_MEMORY);
    if (seen.lost)
        return ASSAY_CHART_UNFIT;
    if (seen.compared)
        return ASSAY_CHART_GOOD;
    if (seen.timed)
        return ASSAY_CHART_POSSIBLE;
    if (seen.rows && !seen.other)
        return ASSAY_CHART_POSSIBLE / 2; /* outcomes alone: another chart counts them */
    if (seen.rows)
        snprintf(why, size, "no row was timed %s", assay_cache_state_name(request->state));
    else
        snprintf(why, size, "there are no rows");
    return ASSAY_CHART_UNFIT;
}

/* ---- the bars ------------------------------------------------------------------------------- */

struct bars {
    const struct assay_speedups *speedups;
    const struct assay_scale *scale;
};

static enum assay_ink ink_of(enum assay_verdict verdict)
{
    return verdict == ASSAY_VERDICT_FASTER   ? ASSAY_DRAW_FASTER
           : verdict == ASSAY_VERDICT_SLOWER ? ASSAY_DRAW_SLOWER
                                             : ASSAY_DRAW_EVEN;
}

/* With too few samples there is no 95 % interval. */
static void draw_compared(struct assay_drawing *d, const struct assay_scale *scale,
                          const struct assay_ratio *ratio, double y)
{
    enum assay_verdict verdict = assay_cell_verdict(ratio);
    double one = assay_scale_at(scale, 1), end = assay_scale_clamped(scale, ratio->ratio);
    double top = y - ASSAY_CHART_BAR / 2.0;
    if (verdict == ASSAY_VERDICT_FASTER || verdict == ASSAY_VERDICT_SLOWER)
        assay_draw_rect(d, one, top, end - one, ASSAY_CHART_BAR, ink_of(verdict));
    else
        assay_draw_hatched(d, one, top, end - one, ASSAY_CHART_BAR, ASSAY_DRAW_EVEN);
    if (ratio->n >= ASSAY_STATS_FEWEST_SAMPLES)
        assay_chart_whisker(d, scale, &ratio->ci, y);
}

static void draw_bar(struct assay_drawing *d, const struct assay_plot *plot, int64_t row, double y,
                     const void *user)
{
    const struct bars *bars = user;
    const struct assay_speedup_bar *bar = &bars->speedups->bars[row];
    double one = assay_scale_at(bars->scale, 1), top = y - ASSAY_CHART_BAR / 2.0;
    switch (bar->kind) {
    case ASSAY_SPEEDUP_COMPARED:
        draw_compared(d, bars->scale, &bar->ratio, y);
        break;
    case ASSAY_SPEEDUP_BASELINE:
        assay_draw_rect(d, one - 2, top, 4, ASSAY_CHART_BAR, ASSAY_DRAW_EVEN);
        break;
    case ASSAY_SPEEDUP_TROUBLE: /* all of the width, which no figure has */
        assay_draw_hatched(d, plot->left, y - ASSAY_CHART_BAR / 4.0, plot->right - plot->left,
                           ASSAY_CHART_BAR / 2.0, bar->trouble);
        break;
    case ASSAY_SPEEDUP_ALONE:
        break;
    }
}

/* A very wide interval must not make the bars small. */
static struct assay_scale scale_of(const struct assay_speedups *speedups)
{
    struct assay_scale scale;
    assay_scale_init(&scale, ASSAY_SCALE_LOG);
    assay_scale_see(&scale, 0.8);
    assay_scale_see(&scale, 1.25);
    for (int64_t i = 0; i < speedups->rows.n; i++) {
        const struct assay_ratio *ratio = &speedups->bars[i].ratio;
        if (speedups->bars[i].kind != ASSAY_SPEEDUP_COMPARED)
            continue;
        assay_scale_see(&scale, ratio->ratio);
        assay_scale_see(&scale, fmax(ratio->ci.lo, ratio->ratio / 1.5));
        assay_scale_see(&scale, fmin(ratio->ci.hi, ratio->ratio * 1.5));
    }
    assay_scale_round(&scale);
    return scale;
}

/* ---- around them ---------------------------------------------------------------------------- */

static int64_t make_legend(const struct assay_speedups *s, struct assay_legend_entry entries[5])
{
    const char *whose = s->kernels && !s->variants ? "kernel " : "";
    bool seen[ASSAY_VERDICTS] = {false}, fine = false, failed = false;
    int64_t n = 0;
    for (int64_t i = 0; i < s->rows.n; i++) {
        const struct assay_speedup_bar *bar = &s->bars[i];
        if (bar->kind == ASSAY_SPEEDUP_COMPARED)
            seen[assay_cell_verdict(&bar->ratio)] = true;
        fine = fine || (bar->kind == ASSAY_SPEEDUP_TROUBLE && bar->trouble == ASSAY_DRAW_EVEN);
        failed = failed || (bar->kind == ASSAY_SPEEDUP_TROUBLE && bar->trouble != ASSAY_DRAW_EVEN);
    }
    if (seen[ASSAY_VERDICT_FASTER])
        entries[n++] = (struct assay_legend_entry){.ink = ASSAY_DRAW_FASTER,
                                                   .text = whose[0] ? "kernel faster" : "faster"};
    if (seen[ASSAY_VERDICT_SLOWER])
        entries[n++] = (struct assay_legend_entry){.ink = ASSAY_DRAW_SLOWER,
                                                   .text = whose[0] ? "kernel slower" : "slower"};
    if (seen[ASSAY_VERDICT_SAME] || seen[ASSAY_VERDICT_UNCLEAR])
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_HATCHED,
                                                   .ink = ASSAY_DRAW_EVEN,
                                                   .text = "no significant difference"};
    if (fine)
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_HATCHED,
                                                   .ink = ASSAY_DRAW_EVEN,
                                                   .text = "all of the width: not measured"};
    if (failed)
        entries[n++] = (struct assay_legend_entry){
            .shape = ASSAY_LEGEND_HATCHED, .ink = ASSAY_DRAW_FAILED, .text = "failed"};
    return n;
}

/* "5 faster, 1 slower, 2 with no significant difference, 1 unclear, 3 without a figure." */
static void add_summary(const struct assay_speedups *s, struct assay_text *out)
{
    static const char *const words[ASSAY_VERDICTS] = {[ASSAY_VERDICT_FASTER] = "faster",
                                                      [ASSAY_VERDICT_SLOWER] = "slower",
                                                      [ASSAY_VERDICT_SAME] =
                                                          "without a significant difference",
                                                      [ASSAY_VERDICT_UNCLEAR] = "unclear"};
    bool any = false;
    for (int v = 0; v < ASSAY_VERDICTS; v++) {
        if (!s->verdicts[v])
            continue;
        assay_text_format(out, "%s%lld %s", any ? ", " : "", (long long)s->verdicts[v], words[v]);
        any = true;
    }
    if (s->troubles)
        assay_text_format(out, "%s%lld without a result", any ? ", " : "", (long long)s->troubles);
    else if (!any)
        assay_text_add(out, "nothing was compared");
    assay_text_add(out, ".");
}

static const char *note_of(const struct assay_speedups *s)
{
    return s->kernels && !s->variants
               ? "Bars: the other's time over the kernel's, median over rounds in which both ran; "
                 "whiskers, [ ]: 95% interval."
               : "Bars: the baseline's time over a variant's, median over rounds in which both "
                 "ran; whiskers, [ ]: 95% interval.";
}

static void draw(const struct assay_book *book, const struct assay_speedups *speedups,
                 struct assay_drawing *drawing)
{
    struct assay_cell subject = assay_chart_subject(book), place = assay_chart_place(book);
    struct assay_scale scale = scale_of(speedups);
    struct bars bars = {speedups, &scale};
    struct assay_axis axis = {.scale = &scale, .label = assay_axis_ratio, .grid = true};
    struct assay_legend_entry legend[5];
    assay_cell_add(&subject, ": speedup");
    axis.name = speedups->kernels && !speedups->variants ? "times as fast as the other"
                                                         : "times as fast as the baseline";
    struct assay_chart_rows_style style = {.title = subject.text,
                                           .subtitle = place.text,
                                           .scale = &scale,
                                           .axis = &axis,
                                           .line = 1,
                                           .bar = draw_bar,
                                           .user = &bars,
                                           .legend = legend,
                                           .n_legend = make_legend(speedups, legend),
                                           .note = note_of(speedups)};
    add_summary(speedups, &drawing->summary);
    assay_chart_rows_draw(&speedups->rows, &style, drawing);
}

static void speedup_draw(const struct assay_book *book, const struct assay_chart_request *request,
                         struct assay_drawing *drawing)
{
    struct assay_speedups *speedups = assay_calloc(1, sizeof *speedups);
    if (!speedups || book->failed) {
        drawing->body.failed = true;
        assay_free(speedups);
        return;
    }
    assay_speedups_find(book, request, speedups);
    draw(book, speedups, drawing);
    assay_free(speedups);
}

const struct assay_chart assay_chart_speedup = {
    .name = "speedup",
    .summary = "bars of how many times as fast as the baseline, with intervals",
    .fits = speedup_fits,
    .draw = speedup_draw,
};
