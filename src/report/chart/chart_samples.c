#include "report/chart/chart_samples.h"

#include "report/chart/chart_points.h"
#include "report/chart/chart_words.h"
#include "report/draw/draw_axis.h"

#include <stdio.h>

const struct assay_measurement *assay_chart_row_samples(const struct assay_chart_request *request,
                                                        const struct assay_record *record,
                                                        enum assay_cache_state state)
{
    const struct assay_measurement *m = &record->states[state];
    bool asked = !request->has_state || request->state == state;
    return asked && m->measured && m->samples.n > 0 ? m : NULL;
}

void assay_chart_row_fini(struct assay_chart_row *row) { assay_book_view_fini(&row->view); }

/* ---- which row ------------------------------------------------------------------------------ */

/* 0: it has no samples. */
static int interest_of(const struct assay_chart_request *request, const struct assay_record *record)
{
    int most = 0;
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        const struct assay_measurement *m =
            assay_chart_row_samples(request, record, (enum assay_cache_state)s);
        int its = !m ? 0 : assay_cell_disturbed(m) ? 3 : m->fastest ? 2 : 1;
        most = its > most ? its : most;
    }
    return most;
}

/* The most interesting row so far is in `best`, its interest in `most`. */
static void look_at_group(const struct assay_book *book, const struct assay_chart_request *request,
                          int64_t g, const struct assay_book_view *view,
                          struct assay_chart_row *best, int *most)
{
    for (int64_t i = 0; i < view->n; i++) {
        int interest = interest_of(request, &view->records[i]);
        if (interest <= *most)
            continue;
        *most = interest;
        best->group = g;
        best->index = i;
        best->number = book->groups[g].first + i + 1;
    }
}

static bool find_asked(const struct assay_book *book, int64_t number, struct assay_chart_row *row)
{
    for (int64_t g = 0; g < book->n_groups; g++) {
        int64_t index = number - 1 - book->groups[g].first;
        if (index < 0 || index >= book->groups[g].n)
            continue;
        row->group = g;
        row->index = index;
        row->number = number;
        return true;
    }
    return false;
}

static bool find_any(const struct assay_book *book, const struct assay_chart_request *request,
                     struct assay_chart_row *row, bool *lost)
{
    enum { MOST_INTERESTING = 3 };
    int most = 0;
    for (int64_t g = 0; g < book->n_groups && most < MOST_INTERESTING && !*lost; g++) {
        *lost = !assay_book_open(book, g, &row->view);
        look_at_group(book, request, g, &row->view, row, &most);
    }
    return most > 0 && !*lost;
}

bool assay_chart_row_find(const struct assay_book *book, const struct assay_chart_request *request,
                          struct assay_chart_row *row, char *why, size_t size)
{
    bool asked = request->row > 0, lost = false;
    if (!assay_chart_takes_no_axes(request, why, size))
        return false;
    bool found = asked ? find_asked(book, request->row, row) : find_any(book, request, row, &lost);
    if (!found && asked) {
        snprintf(why, size, "there is no row %lld: there are %lld", (long long)request->row,
                 (long long)book->n_records);
        return false;
    }
    if (!found && !lost) {
        snprintf(why, size, "no row has samples%s%s", request->has_state ? " that are " : "",
                 request->has_state ? assay_cache_state_name(request->state) : "");
        return false;
    }
    if (lost || !assay_book_open(book, row->group, &row->view)) {
        snprintf(why, size, ASSAY_CHART_NO_MEMORY);
        return false;
    }
    const struct assay_record *r = &row->view.records[row->index];
    if (interest_of(request, r) > 0)
        return true;
    snprintf(why, size, "row %lld has no samples%s%s", (long long)row->number,
             r->outcome == ASSAY_OUTCOME_OK ? "" : ": ",
             r->outcome == ASSAY_OUTCOME_OK ? "" : assay_cell_outcome(r->outcome).text);
    return false;
}

/* ---- words ---------------------------------------------------------------------------------- */

double assay_chart_row_head(struct assay_drawing *d, const struct assay_book *book,
                            const struct assay_chart_row *row, bool with_name)
{
    struct assay_text title = {0};
    const struct assay_record *r = &row->view.records[row->index];
    assay_text_add(&title, assay_chart_group_name(book, &row->view).text);
    if (with_name)
        assay_text_format(&title, " · %s", assay_cell_name(r, row->view.records, row->view.n).text);
    double y = assay_draw_head(d, title.failed ? "" : title.data, assay_chart_place(book).text);
    d->body.failed |= title.failed;
    assay_text_fini(&title);
    return y;
}

void assay_chart_samples_words(const struct assay_measurement *m,
                               const struct assay_samples_span *span, struct assay_text *out)
{
    const struct assay_summary *t = &m->time;
    int64_t disturbed = assay_samples_count_disturbed(&m->samples);
    assay_text_format(out, "median %s", assay_cell_time(t->median).text);
    if (assay_cell_has_interval(t))
        assay_text_format(out, " [%s … %s]", assay_cell_time(t->median_ci.lo).text,
                          assay_cell_time(t->median_ci.hi).text);
    assay_text_format(out, " · %d sample%s", m->samples.n, m->samples.n == 1 ? "" : "s");
    if (m->samples.every > 1)
        assay_text_format(out, " · 1 of each %d", m->samples.every);
    if (disturbed)
        assay_text_format(out, " · %lld disturbed", (long long)disturbed);
    if (span && span->below)
        assay_text_format(out, " · %lld faster, down to %s", (long long)span->below,
                          assay_cell_time(span->least).text);
    if (span && span->above)
        assay_text_format(out, " · %lld slower, up to %s", (long long)span->above,
                          assay_cell_time(span->most).text);
}

/* ---- marks ---------------------------------------------------------------------------------- */

void assay_chart_sample_mark(struct assay_drawing *d, double x, double y, double size,
                             bool disturbed)
{
    assay_draw_marker(
        d, x, y, disturbed ? size + 2 : size, disturbed ? ASSAY_DRAW_CROSS : ASSAY_DRAW_DISC,
        (enum assay_ink)(disturbed ? ASSAY_CHART_DISTURBED : ASSAY_CHART_SAMPLES), false);
}

double assay_chart_state_heading(struct assay_drawing *d, double y, const char *state,
                                 const char *words)
{
    enum { SIZE = ASSAY_DRAW_TEXT_SIZE, LINE = 18, GAP = 10 };
    double width = assay_draw_text(
        d, ASSAY_DRAW_MARGIN, y + SIZE, 0,
        (struct assay_draw_font){.size = SIZE, .bold = true, .ink = ASSAY_DRAW_TEXT}, state);
    assay_draw_text(
        d, ASSAY_DRAW_MARGIN + width + GAP, y + SIZE,
        d->width - 2 * ASSAY_DRAW_MARGIN - width - GAP,
        (struct assay_draw_font){.size = ASSAY_DRAW_SMALL_SIZE, .ink = ASSAY_DRAW_MUTED}, words);
    return y + LINE;
}
