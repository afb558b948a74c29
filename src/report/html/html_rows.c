/* html_rows.c: groups as tables, lean enough that ten thousand rows are a page. End tags that HTML
 * can do without are left out, and everything about a row that is not a figure for comparing is in
 * the page's data, from where its script shows it. */
#include "report/html/html_rows.h"

#include "base/alloc.h"
#include "report/draw/draw.h"
#include "report/html/html_order.h"
#include "report/report_cells.h"
#include "report/report_detail.h"
#include "report/report_sink.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SPEEDUP_WIDTH = 40 };

/* Which columns the tables of an op have. */
struct layout {
    bool states[ASSAY_CACHE_STATES], eager[ASSAY_CACHE_STATES];
    bool runs, recipe, host, weights, level, prepare, activation;
    int columns;
};

struct row {
    const struct assay_record *record;
    int64_t number, run; /* in the book, from 1 */
    const struct assay_record *group;
    int64_t n; /* of its group in its run */
};

struct rows {
    struct assay_html_out *out;
    const struct assay_book *book;
    const struct assay_html_place *places;
    struct layout layout;
    struct assay_book_view *views; /* of a table: one for each run */
    struct row *rows;
    int64_t n, capacity;
    bool details;
};

static void put(struct rows *r, const char *markup) { assay_html_put(r->out, markup); }

static void put_escaped(struct rows *r, const char *text)
{
    assay_draw_escape(&r->out->text, text);
}

/* ---- columns -------------------------------------------------------------------------------- */

static void put_cell(struct rows *r, const char *css, const char *text)
{
    put(r, css[0] ? "<td class=" : "<td>");
    put(r, css);
    put(r, css[0] ? ">" : "");
    if (strcmp(text, "-") != 0)
        put_escaped(r, text);
}

static void put_speedup(struct rows *r, const struct assay_record *record,
                        const struct assay_ratio *ratio, const char *text)
{
    static const char *const css[] = {[ASSAY_VERDICT_FASTER] = "f",
                                      [ASSAY_VERDICT_SLOWER] = "s",
                                      [ASSAY_VERDICT_SAME] = "e",
                                      [ASSAY_VERDICT_UNCLEAR] = "u"};
    if (ratio)
        put_cell(r, css[assay_cell_verdict(ratio)], text);
    else
        put_cell(r, assay_cell_is_baseline(record) ? "b" : "", text);
}

static const char *mark_of(const struct assay_measurement *m)
{
    return !m->precise ? "!" : assay_cell_disturbed(m) ? "~" : "";
}

static void put_state(struct rows *r, const struct assay_record *record, int state)
{
    const struct assay_measurement *m = &record->states[state];
    char text[160];
    if (!m->measured) {
        for (int i = 0; i < 5 + r->layout.eager[state]; i++)
            put(r, "<td>");
        return;
    }
    snprintf(text, sizeof text, "%s%s", m->fastest ? "▸" : "",
             assay_cell_time(m->time.median).text);
    put_cell(r, m->fastest ? "w" : "", text);
    snprintf(text, sizeof text, "%s%s", assay_cell_spread(m).text, mark_of(m));
    put_cell(r, mark_of(m)[0] ? "i" : "", text);
    bool compared = m->has_ratio && !assay_cell_is_baseline(record);
    put_speedup(r, record, compared ? &m->ratio : NULL,
                assay_cell_speedup(record, m, SPEEDUP_WIDTH, false).text);
    if (r->layout.eager[state])
        put_speedup(r, record, m->has_eager_ratio ? &m->eager_ratio : NULL,
                    m->has_eager_ratio
                        ? assay_cell_interval(&m->eager_ratio, SPEEDUP_WIDTH, false).text
                        : "");
    put_cell(r, "",
             r->layout.weights ? assay_cell_weight_rate(record, m).text
                               : assay_cell_rate(m, true).text);
    struct assay_cell ceiling = assay_cell_efficiency(m);
    if (m->ceiling_ns > 0 && m->bound[0])
        assay_cell_add(&ceiling, " of %s", m->bound);
    put_cell(r, "", ceiling.text);
}

static const struct assay_measurement *any_state(const struct assay_record *record)
{
    const struct assay_measurement *hot = &record->states[ASSAY_CACHE_HOT];
    return hot->measured ? hot : &record->states[ASSAY_CACHE_COLD];
}

static void put_figures(struct rows *r, const struct assay_record *record)
{
    const struct layout *l = &r->layout;
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (l->states[s])
            put_state(r, record, s);
    if (l->host)
        put_cell(r, "",
                 any_state(record)->host_ns > 0 ? assay_cell_time(any_state(record)->host_ns).text
                                                : "");
    if (l->weights)
        put_cell(r, "", assay_cell_megabytes(record->weight_bytes).text);
    if (l->level)
        put_cell(r, "", assay_cell_level(record->accuracy_db).text);
    if (l->prepare)
        put_cell(r, "", record->prepare_ns > 0 ? assay_cell_time(record->prepare_ns).text : "");
    if (l->activation)
        put_cell(r, "", assay_cell_share(record->activation_share).text);
    put(r, record->verification.done ? "<td>✓" : "<td>not checked");
}

static void put_heading(struct rows *r, const char *css, const char *state, const char *text)
{
    assay_text_format(&r->out->text, "<th scope=col%s%s>%s%s%s", css[0] ? " class=" : "", css,
                      state, state[0] && text[0] ? " " : "", text);
    r->layout.columns++;
}

static void put_state_headings(struct rows *r, int state)
{
    bool both = r->layout.states[ASSAY_CACHE_HOT] && r->layout.states[ASSAY_CACHE_COLD];
    const char *name = both ? assay_cache_state_name((enum assay_cache_state)state) : "";
    put_heading(r, state == ASSAY_CACHE_HOT ? "" : "d", name, both ? "" : "time");
    put_heading(r, "p", name, "±");
    put_heading(r, "x", name, "speedup");
    if (r->layout.eager[state])
        put_heading(r, "x", name, "vs eager");
    put_heading(r, "", name, "rate");
    put_heading(r, "c", name, "ceiling");
}

static void put_headings(struct rows *r)
{
    struct layout *l = &r->layout;
    l->columns = 0;
    put(r, "<thead><tr>");
    put_heading(r, "v", "", "variant");
    if (l->runs)
        put_heading(r, "p", "", "run");
    if (l->recipe)
        put_heading(r, "k", "", "recipe");
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (l->states[s])
            put_state_headings(r, s);
    if (l->host)
        put_heading(r, "", "", "host");
    if (l->weights)
        put_heading(r, "", "", "weights MB");
    if (l->level)
        put_heading(r, "", "", "SQNR dB");
    if (l->prepare)
        put_heading(r, "", "", "quantise");
    if (l->activation)
        put_heading(r, "p", "", "act");
    put_heading(r, "", "", "check");
    put(r, "\n<tbody>\n");
}

static void see_record(struct layout *l, const struct assay_record *record)
{
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        const struct assay_measurement *m = &record->states[s];
        l->states[s] |= m->measured;
        l->eager[s] |= m->measured && m->has_eager_ratio;
        l->host |= m->measured && m->host_ns > 0 && record->caller[0];
    }
    l->recipe |= record->recipe[0] != '\0';
    l->weights |= record->weight_bytes > 0;
    l->level |= !isnan(record->accuracy_db);
    l->prepare |= record->prepare_ns > 0;
    l->activation |= !isnan(record->activation_share);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Why there are no figures, or that there are to be none. */
static void put_reason(struct rows *r, const struct assay_record *record, int before)
{
    bool ok = record->outcome == ASSAY_OUTCOME_OK, fine = assay_outcome_is_fine(record->outcome);
    assay_text_format(&r->out->text, "<td colspan=%d class=%s>", r->layout.columns - before,
                      fine ? "z" : "y");
    if (ok) {
        put(r, record->verification.done ? "✓ right, not timed" : "not timed");
        return;
    }
    put(r, fine ? "" : "✗ ");
    put_escaped(r, assay_cell_outcome(record->outcome).text);
    put(r, record->reason[0] ? ": " : "");
    put_escaped(r, record->reason);
}

static void put_row(struct rows *r, const struct row *row)
{
    const struct assay_record *record = row->record;
    bool timed = record->outcome == ASSAY_OUTCOME_OK &&
                 (record->states[0].measured || record->states[1].measured);
    assay_text_format(&r->out->text, "<tr id=r%lld><th scope=row>", (long long)row->number);
    put_escaped(r, assay_cell_variant(record, row->group, row->n));
    if (r->layout.runs)
        assay_text_format(&r->out->text, "<td>%lld", (long long)row->run);
    if (r->layout.recipe) {
        put_cell(r, "l", record->recipe);
        put(r, record->pareto ? " *" : "");
    }
    if (timed)
        put_figures(r, record);
    else
        put_reason(r, record, 1 + r->layout.runs + r->layout.recipe);
    put(r, record->interrupted ? " interrupted\n" : "\n");
}

/* "100.7 MB · 2 threads" */
static void put_caption(struct rows *r, const struct assay_record *record)
{
    char bytes[32];
    const char *const more[] = {record->entry, record->compile};
    put(r, "<caption>");
    put_escaped(r, assay_cell_problem(record).text);
    put(r, " <small>");
    put_escaped(r, assay_cell_axes(record).text);
    if (record->memory_bytes > 0) {
        assay_text_bytes(record->memory_bytes, bytes, sizeof bytes);
        assay_text_format(&r->out->text, " · %s", bytes);
    }
    if (record->threads > 0 && assay_record_on_host(record))
        assay_text_format(&r->out->text, " · %d thread%s", record->threads,
                          record->threads == 1 ? "" : "s");
    for (int i = 0; i < 2; i++)
        if (more[i][0]) {
            put(r, " · ");
            put_escaped(r, more[i]);
        }
    put(r, "</small></caption>");
}

/* ---- details, for where there are no scripts ------------------------------------------------ */

static void write_escaped(void *user, const char *bytes, size_t length)
{
    struct assay_text line = {0};
    assay_text_append(&line, bytes, length);
    ((struct assay_text *)user)->failed |= line.failed;
    if (line.data)
        assay_draw_escape(user, line.data);
    assay_text_fini(&line);
}

static void put_details(struct rows *r)
{
    enum { WIDTH = 100 };
    struct assay_sink sink = {.user = &r->out->text, .write = write_escaped};
    struct assay_report_style style = {.width = WIDTH};
    struct assay_line line;
    put(r, "<details class=more><summary>Details</summary><pre>");
    for (int64_t i = 0; i < r->n; i++) {
        const struct row *row = &r->rows[i];
        put_escaped(r, assay_cell_variant(row->record, row->group, row->n));
        put(r, row->record->recipe[0] ? " " : "");
        put_escaped(r, row->record->recipe);
        if (r->layout.runs)
            assay_text_format(&r->out->text, ", run %lld", (long long)row->run);
        put(r, "\n");
        assay_line_init(&line, &style);
        assay_detail_write(row->record, &line, &sink, WIDTH);
    }
    put(r, "</pre></details>");
}

/* ---- tables --------------------------------------------------------------------------------- */

static bool make_room(struct rows *r, int64_t n)
{
    if (n <= r->capacity)
        return true;
    struct row *moved = assay_realloc(r->rows, (size_t)(2 * n), sizeof *moved);
    if (!moved)
        return false;
    r->rows = moved;
    r->capacity = 2 * n;
    return true;
}

static bool is_same_variant(const struct assay_record *a, const struct assay_record *b)
{
    return strcmp(a->implementation, b->implementation) == 0 && strcmp(a->recipe, b->recipe) == 0 &&
           strcmp(a->kernel, b->kernel) == 0;
}

/* Behind the last row of its variant, or at the end. */
static void insert(struct rows *r, struct row row)
{
    int64_t at = r->n;
    for (int64_t i = 0; i < r->n; i++)
        if (r->rows[i].run != row.run && is_same_variant(r->rows[i].record, row.record))
            at = i + 1;
    memmove(&r->rows[at + 1], &r->rows[at], (size_t)(r->n - at) * sizeof row);
    r->rows[at] = row;
    r->n++;
}

/* The rows of places `from` to `to`, which are one group. */
static bool gather(struct rows *r, int64_t from, int64_t to)
{
    r->n = 0;
    for (int64_t p = from; p < to; p++) {
        const struct assay_book_group *group = &r->book->groups[r->places[p].group];
        struct assay_book_view *view = &r->views[p - from];
        if (!assay_book_open(r->book, r->places[p].group, view) || !make_room(r, r->n + view->n))
            return false;
        for (int64_t i = 0; i < view->n; i++)
            insert(r, (struct row){.record = &view->records[i],
                                   .number = group->first + i + 1,
                                   .run = group->run + 1,
                                   .group = view->records,
                                   .n = view->n});
    }
    return true;
}

static void put_table(struct rows *r)
{
    put(r, "<div class=g><div class=scroll><table>");
    put_caption(r, r->rows[0].record);
    put_headings(r);
    for (int64_t i = 0; i < r->n; i++)
        put_row(r, &r->rows[i]);
    put(r, "</table></div>");
    if (r->details)
        put_details(r);
    put(r, "</div>\n");
}

/* ---- ops ------------------------------------------------------------------------------------ */

static bool find_layout(struct rows *r, int64_t from, int64_t to)
{
    r->layout = (struct layout){.runs = r->book->n_runs > 1};
    for (int64_t p = from; p < to; p++) {
        if (!assay_book_open(r->book, r->places[p].group, r->views))
            return false;
        for (int64_t i = 0; i < r->views->n; i++)
            see_record(&r->layout, &r->views->records[i]);
    }
    return true;
}

static void open_section(struct rows *r, int64_t from, int64_t to)
{
    const struct assay_record *first = r->rows[0].record;
    int64_t groups = 1;
    for (int64_t p = from + 1; p < to; p++)
        groups += r->places[p].table != r->places[p - 1].table;
    assay_text_format(&r->out->text, "<section class=op id=op%lld><h3>",
                      (long long)r->places[from].op + 1);
    put_escaped(r, first->title[0] ? first->title : assay_cell_subject(first));
    put(r, first->mode[0] ? " " : "");
    put_escaped(r, first->mode);
    assay_text_format(&r->out->text, " <small>%lld group%s</small></h3>\n", (long long)groups,
                      groups == 1 ? "" : "s");
}

/* Where the places that share `what` end. */
static int64_t end_of_op(const struct rows *r, int64_t from)
{
    int64_t to = from;
    while (to < r->book->n_groups && r->places[to].op == r->places[from].op)
        to++;
    return to;
}

static int64_t end_of_table(const struct rows *r, int64_t from, int64_t end)
{
    int64_t to = from;
    while (to < end && r->places[to].table == r->places[from].table)
        to++;
    return to;
}

static bool put_op(struct rows *r, int64_t from, int64_t to)
{
    if (!find_layout(r, from, to))
        return false;
    for (int64_t at = from; at < to;) {
        int64_t next = end_of_table(r, at, to);
        if (!gather(r, at, next))
            return false;
        if (at == from)
            open_section(r, from, to);
        put_table(r);
        assay_html_flush_much(r->out);
        at = next;
    }
    put(r, "</section>\n");
    return true;
}

void assay_html_put_groups(struct assay_html_out *out, const struct assay_book *book)
{
    struct rows r = {.out = out,
                     .book = book,
                     .places = assay_html_order_create(book),
                     .views = assay_calloc((size_t)book->n_runs + 1, sizeof *r.views),
                     .details = book->n_records <= ASSAY_HTML_MOST_DETAILS};
    bool fine = r.places && r.views;
    for (int64_t from = 0; fine && from < book->n_groups;) {
        int64_t to = end_of_op(&r, from);
        fine = put_op(&r, from, to);
        from = to;
    }
    if (!fine && book->n_groups)
        out->text.failed = true;
    for (int64_t i = 0; r.views && i <= book->n_runs; i++)
        assay_book_view_fini(&r.views[i]);
    assay_free(r.views);
    assay_free(r.rows);
    assay_free((void *)(uintptr_t)r.places);
}

void assay_html_put_legend(struct assay_html_out *out)
{
    static const char *const marks[][2] = {
        {"▸", "no other variant of the group is significantly faster"},
        {"1.62x [1.58 1.66]", "how many times as fast as the baseline, with its 95% interval"},
        {"same within 0.7%",
         "no significant difference; one larger than this would have been seen"},
        {"unclear (n=8)", "no significant difference, and too few rounds to see one of 10%"},
        {"±", "half of the 95% interval of the median time"},
        {"!", "less precise than asked"},
        {"~", "more than one sample in twenty was disturbed"},
        {"ceiling", "share of what the machine was seen to reach beside it, and what binds"},
        {"*", "no other of its group is better in time, size of weights and accuracy"},
        {"✓", "the output was verified"},
        {"✗", "no figure: it is wrong, or it failed"},
    };
    assay_html_put(out, "<details class=legend><summary>What the marks mean</summary><dl>\n");
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        assay_html_element(out, "dt", marks[i][0]);
        assay_html_element(out, "dd", marks[i][1]);
    }
    assay_html_put(out, "</dl></details>\n");
}
