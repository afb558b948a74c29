/* outcome.c: how the rows of each implementation ended, as stacked bars of counts: what a run shows
 * in which nothing, or little, was timed. */
#include "base/alloc.h"
#include "report/chart/chart_rows.h"
#include "report/chart/chart_words.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* An outcome, or timed: of those that are ok. */
enum { TIMED = ASSAY_OUTCOME_COUNT, ENDS };

static const struct end {
    enum assay_ink ink;
    bool hatched;
    const char *name; /* NULL: the outcome's */
} ends[ENDS] = {
    [TIMED] = {ASSAY_DRAW_FASTER, false, "timed"},
    [ASSAY_OUTCOME_OK] = {ASSAY_DRAW_FASTER, true, "ok but not timed"},
    [ASSAY_OUTCOME_SKIPPED] = {ASSAY_DRAW_EVEN, false, NULL},
    [ASSAY_OUTCOME_UNSUPPORTED] = {ASSAY_DRAW_EVEN, true, NULL},
    [ASSAY_OUTCOME_MISMATCH] = {ASSAY_DRAW_FAILED, false, NULL},
    [ASSAY_OUTCOME_CRASHED] = {ASSAY_DRAW_FAILED, true, NULL},
    [ASSAY_OUTCOME_IMPOSSIBLE] = {ASSAY_DRAW_SERIES + 3, false, NULL},
    [ASSAY_OUTCOME_MISTRUSTED] = {ASSAY_DRAW_SERIES + 3, true, NULL},
    [ASSAY_OUTCOME_TIMEOUT] = {ASSAY_DRAW_SLOWER, false, NULL},
    [ASSAY_OUTCOME_KILLED] = {ASSAY_DRAW_SLOWER, true, NULL},
    [ASSAY_OUTCOME_OUT_OF_MEMORY] = {ASSAY_DRAW_SERIES + 7, false, NULL},
    [ASSAY_OUTCOME_FAILED] = {ASSAY_DRAW_SERIES + 7, true, NULL},
};

/* As they are stacked: what is fine, then what is not. */
static const int order[] = {TIMED,
                            ASSAY_OUTCOME_OK,
                            ASSAY_OUTCOME_SKIPPED,
                            ASSAY_OUTCOME_UNSUPPORTED,
                            ASSAY_OUTCOME_MISMATCH,
                            ASSAY_OUTCOME_CRASHED,
                            ASSAY_OUTCOME_IMPOSSIBLE,
                            ASSAY_OUTCOME_MISTRUSTED,
                            ASSAY_OUTCOME_TIMEOUT,
                            ASSAY_OUTCOME_KILLED,
                            ASSAY_OUTCOME_OUT_OF_MEMORY,
                            ASSAY_OUTCOME_FAILED};
static_assert(sizeof order / sizeof order[0] == ENDS, "each end has its turn");

struct tally {
    char implementation[32];
    int64_t counts[ENDS], n;
    struct assay_cell reason; /* the first, of a row that is not ok */
};

struct outcomes {
    struct assay_chart_rows rows;
    struct tally *tallies; /* of the rows, and of what is left out */
    int64_t n, capacity;
    int64_t counts[ENDS];
    bool failed;
    const struct assay_scale *scale;
};

/* ---- counting ------------------------------------------------------------------------------- */

static struct assay_cell name_of(int end)
{
    struct assay_cell cell = {""};
    if (ends[end].name)
        assay_cell_add(&cell, "%s", ends[end].name);
    else
        cell = assay_cell_outcome((enum assay_outcome)end);
    return cell;
}

static bool is_timed(const struct assay_record *r, const struct assay_chart_request *request)
{
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (r->states[s].measured && (!request->has_state || (int)request->state == s))
            return true;
    return false;
}

static struct tally *tally_of(struct outcomes *o, const char *implementation)
{
    for (int64_t i = 0; i < o->n; i++)
        if (strcmp(o->tallies[i].implementation, implementation) == 0)
            return &o->tallies[i];
    if (o->n == o->capacity) {
        int64_t capacity = o->capacity ? 2 * o->capacity : 16;
        struct tally *moved = assay_realloc(o->tallies, (size_t)capacity, sizeof *moved);
        if (!moved)
            return NULL;
        o->tallies = moved;
        o->capacity = capacity;
    }
    struct tally *tally = &o->tallies[o->n++];
    *tally = (struct tally){0};
    snprintf(tally->implementation, sizeof tally->implementation, "%s", implementation);
    return tally;
}

static void count(struct outcomes *o, const struct assay_record *r,
                  const struct assay_chart_request *request)
{
    bool ok = r->outcome == ASSAY_OUTCOME_OK;
    int end = ok && is_timed(r, request) ? TIMED : (int)r->outcome;
    struct tally *tally = tally_of(o, r->implementation);
    o->failed = o->failed || !tally;
    if (!tally)
        return;
    tally->counts[end]++;
    tally->n++;
    o->counts[end]++;
    if (!ok && !tally->reason.text[0])
        assay_cell_add(&tally->reason, "%s", r->reason);
}

/* "3 mismatch, 2 crashed": of all but those that were timed. */
static void add_others(const int64_t counts[ENDS], struct assay_text *out)
{
    bool any = false;
    for (int i = 0; i < ENDS; i++) {
        int end = order[i];
        if (end == TIMED || !counts[end])
            continue;
        assay_text_format(out, "%s%lld %s", any ? ", " : "", (long long)counts[end],
                          name_of(end).text);
        any = true;
    }
}

static void add(struct outcomes *o, const struct tally *tally)
{
    struct assay_text more = {0};
    struct assay_chart_row *row = assay_chart_rows_add(&o->rows);
    if (!row)
        return;
    assay_cell_add(&row->label, "%s",
                   tally->implementation[0] ? tally->implementation : "all variants");
    assay_cell_add(&row->figure, "%lld of %lld timed", (long long)tally->counts[TIMED],
                   (long long)tally->n);
    row->ink = tally->counts[TIMED] == tally->n ? ASSAY_DRAW_TEXT : ASSAY_DRAW_MUTED;
    row->most = (double)tally->n;
    add_others(tally->counts, &more);
    assay_cell_add(&row->below, "%s", more.length ? more.data : "");
    if (tally->reason.text[0])
        assay_text_format(&more, ": %s", tally->reason.text);
    snprintf(row->more, sizeof row->more, "%s", more.length ? more.data : "");
    o->failed = o->failed || more.failed;
    assay_text_fini(&more);
}

static void find(struct outcomes *o, const struct assay_book *book,
                 const struct assay_chart_request *request)
{
    struct assay_book_view view = {0};
    o->failed = book->failed;
    for (int64_t g = 0; g < book->n_groups && !o->failed; g++) {
        o->failed = !assay_book_open(book, g, &view);
        for (int64_t i = 0; i < view.n; i++)
            count(o, &view.records[i], request);
    }
    assay_book_view_fini(&view);
    assay_chart_rows_group(&o->rows);
    for (int64_t i = 0; i < o->n; i++)
        add(o, &o->tallies[i]);
    assay_chart_rows_group_end(&o->rows);
}

static int outcome_fits(const struct assay_book *book, const struct assay_chart_request *request,
                        char *why, size_t size)
{
    if (!assay_chart_rows_suit(request, "outcome", why, size))
        return ASSAY_CHART_UNFIT;
    if (book->n_records > 0)
        return ASSAY_CHART_POSSIBLE;
    snprintf(why, size, "there are no rows");
    return ASSAY_CHART_UNFIT;
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void draw_part(struct assay_drawing *d, double left, double right, double y,
                      const struct end *end)
{
    double top = y - ASSAY_CHART_BAR / 2.0;
    if (end->hatched)
        assay_draw_hatched(d, left, top, right - left, ASSAY_CHART_BAR, end->ink);
    else
        assay_draw_rect(d, left, top, right - left, ASSAY_CHART_BAR, end->ink);
}

static void draw_bar(struct assay_drawing *d, const struct assay_plot *plot, int64_t row, double y,
                     const void *user)
{
    const struct outcomes *o = user;
    const struct tally *tally = &o->tallies[row];
    double left = plot->left;
    int64_t sum = 0;
    for (int i = 0; i < ENDS; i++) {
        int64_t n = tally->counts[order[i]];
        sum += n;
        double right = assay_scale_at(o->scale, (double)sum);
        if (n > 0)
            draw_part(d, left, right, y, &ends[order[i]]);
        left = right;
    }
}

/* Rows are counted in whole numbers. */
static void label_count(const void *user, double value, char *text, size_t size)
{
    if (fabs(value - round(value)) < 1e-9)
        assay_axis_number(user, value, text, size);
    else if (size)
        text[0] = '\0';
}

static int64_t make_legend(const struct outcomes *o, struct assay_legend_entry entries[ENDS],
                           struct assay_cell names[ENDS])
{
    int64_t n = 0;
    for (int i = 0; i < ENDS; i++) {
        const struct end *end = &ends[order[i]];
        if (!o->counts[order[i]])
            continue;
        names[n] = name_of(order[i]);
        entries[n] = (struct assay_legend_entry){.shape = end->hatched ? ASSAY_LEGEND_HATCHED
                                                                       : ASSAY_LEGEND_BOX,
                                                 .ink = end->ink,
                                                 .text = names[n].text};
        n++;
    }
    return n;
}

static void draw(struct outcomes *o, const struct assay_book *book, struct assay_drawing *drawing)
{
    struct assay_cell title = assay_chart_subject(book), place = assay_chart_place(book);
    struct assay_cell names[ENDS];
    struct assay_legend_entry legend[ENDS];
    struct assay_scale scale = assay_chart_rows_scale(&o->rows, false);
    assay_cell_add(&title, ": outcomes");
    o->scale = &scale;
    struct assay_axis axis = {.scale = &scale, .name = "rows", .label = label_count, .grid = true};
    struct assay_chart_rows_style style = {.title = title.text,
                                           .subtitle = place.text,
                                           .scale = &scale,
                                           .axis = &axis,
                                           .line = (double)NAN,
                                           .bar = draw_bar,
                                           .user = o,
                                           .legend = legend,
                                           .n_legend = make_legend(o, legend, names),
                                           .note = "Rows of each implementation, by how they "
                                                   "ended."};
    assay_text_format(&drawing->summary, "%lld of %lld rows were timed%s",
                      (long long)o->counts[TIMED], (long long)book->n_records,
                      o->counts[TIMED] < book->n_records ? "; " : "");
    add_others(o->counts, &drawing->summary);
    assay_text_add(&drawing->summary, ".");
    assay_chart_rows_draw(&o->rows, &style, drawing);
}

static void outcome_draw(const struct assay_book *book, const struct assay_chart_request *request,
                         struct assay_drawing *drawing)
{
    struct outcomes *o = assay_calloc(1, sizeof *o);
    if (o) {
        find(o, book, request);
        draw(o, book, drawing);
        assay_free(o->tallies);
    }
    drawing->body.failed |= !o || o->failed;
    assay_free(o);
}

const struct assay_chart assay_chart_outcome = {
    .name = "outcome",
    .summary = "how many rows of each implementation were timed, wrong, or failed",
    .fits = outcome_fits,
    .draw = outcome_draw,
};
