#include "report/chart/chart_speedups.h"

#include "report/chart/chart_words.h"
#include "report/report_bouts.h"

#include <math.h>
#include <stdio.h>

struct finding {
    const struct assay_book *book;
    const struct assay_chart_request *request;
    const struct assay_book_view *view;
    int64_t first; /* how many records of the book come before the view's */
    struct assay_speedups *out;
};

/* What a bar is about, before it is known whether it is drawn. */
struct subject {
    struct assay_cell heading, label;
    const struct assay_record *record, *trouble;
    struct assay_ratio ratio;
    enum assay_speedup_kind kind;
    struct assay_cell figure, below; /* the figure where there is no ratio */
};

static bool is_number(const struct assay_ratio *ratio)
{
    return ratio->ratio > 0 && isfinite(ratio->ratio);
}

static void add(const struct finding *f, const struct subject *s)
{
    struct assay_speedups *out = f->out;
    if (s->kind == ASSAY_SPEEDUP_COMPARED)
        out->verdicts[assay_cell_verdict(&s->ratio)]++;
    out->troubles += s->kind == ASSAY_SPEEDUP_TROUBLE;
    struct assay_chart_row *row = assay_chart_rows_add(&out->rows);
    if (!row)
        return;
    struct assay_speedup_bar *bar = &out->bars[row - out->rows.rows];
    *bar = (struct assay_speedup_bar){.kind = s->kind, .ratio = s->ratio};
    row->heading = s->heading;
    row->label = s->label;
    row->figure = s->figure;
    row->below = s->below;
    row->record = f->first + (s->record - f->view->records) + 1;
    if (s->kind == ASSAY_SPEEDUP_COMPARED)
        assay_chart_row_ratio(row, &s->ratio);
    if (s->trouble) {
        assay_chart_row_trouble(row, s->trouble);
        bar->trouble = assay_chart_trouble_ink(s->trouble);
    }
}

/* ---- kernels of a repository --------------------------------------------------------------- */

static bool is_of_kernels(const struct assay_book_view *view)
{
    return view->run->info.repository[0] || assay_cell_is_workload(&view->records[0]);
}

/* Of several runs with the run's id. */
static struct assay_cell add_run(const struct finding *f)
{
    struct assay_cell cell = {""};
    if (f->book->n_runs > 1)
        assay_cell_add(&cell, "%.24s: ", f->view->run->info.id);
    return cell;
}

/* "SiluWorkloads"; of an op each group has its own: "layernorm f32 4x512, this kernel 1.23 ms". */
static struct assay_cell bout_heading(const struct finding *f, const struct assay_bout *bout)
{
    struct assay_cell cell = add_run(f);
    assay_cell_add(&cell, "%s", assay_bout_benchmark(bout->kernel).text);
    if (assay_cell_is_workload(bout->kernel))
        return cell;
    assay_cell_add(&cell, " %s", assay_bout_workload(bout).text);
    if (bout->m)
        assay_cell_add(&cell, ": this kernel %s", assay_cell_time(bout->m->time.median).text);
    return cell;
}

static struct assay_cell bout_label(const struct assay_bout *bout, const struct assay_record *rival)
{
    struct assay_cell cell = {"this kernel"};
    if (assay_cell_is_workload(bout->kernel))
        return assay_bout_workload(bout);
    if (rival && bout->kernel->outcome == ASSAY_OUTCOME_OK)
        snprintf(cell.text, sizeof cell.text, "vs %s", assay_bout_rival_name(bout, rival));
    return cell;
}

/* "6.52 ms vs 11.2 ms"; of an op, where the heading has the kernel's, the rival's alone. */
static struct assay_cell bout_times(const struct assay_bout *bout, const struct assay_record *rival)
{
    const struct assay_measurement *its = assay_bout_figures(bout, rival);
    struct assay_cell cell = {""};
    if (bout->m && assay_cell_is_workload(bout->kernel))
        assay_cell_add(&cell, "%s", assay_cell_time(bout->m->time.median).text);
    if (its)
        assay_cell_add(&cell, "%s%s", cell.text[0] ? " vs " : "",
                       assay_cell_time(its->time.median).text);
    return cell;
}

static void say_alone(struct subject *s, const struct assay_bout *bout,
                      const struct assay_record *rival)
{
    assay_cell_add(&s->figure, "%s", bout->m ? bout_times(bout, rival).text : "not timed");
    if (!s->figure.text[0])
        assay_cell_add(&s->figure, "not compared");
    assay_cell_add(&s->below, "%s", rival ? "not compared" : "no reference");
}

static void add_bout(const struct finding *f, const struct assay_bout *bout,
                     const struct assay_record *rival)
{
    bool is_workload = assay_cell_is_workload(bout->kernel);
    struct subject s = {.heading = bout_heading(f, bout),
                        .label = bout_label(bout, rival),
                        .record = rival && !is_workload ? rival : bout->kernel};
    if (bout->kernel->outcome != ASSAY_OUTCOME_OK)
        s.trouble = bout->kernel;
    else if (rival && rival->outcome != ASSAY_OUTCOME_OK)
        s.trouble = rival;
    if (s.trouble) {
        s.kind = ASSAY_SPEEDUP_TROUBLE;
        assay_cell_add(&s.figure, "%s", s.trouble == rival && is_workload ? "reference " : "");
        s.below = bout->m ? bout_times(bout, rival) : s.below;
    } else if (rival && assay_bout_ratio(bout, rival, &s.ratio)) {
        s.kind = ASSAY_SPEEDUP_COMPARED;
        s.below = bout_times(bout, rival);
    } else {
        say_alone(&s, bout, rival);
    }
    add(f, &s);
}

/* A workload, and a kernel without figures, has one bar; an op's has one for each rival. */
static void add_bouts(const struct finding *f)
{
    struct assay_bout_group group = {f->view->records, f->view->n};
    struct assay_bouts bouts = {.run = f->view->run->info, .groups = &group, .n = 1};
    struct assay_bout bout = {0};
    while (assay_bouts_next(&bouts, &bout)) {
        if (bout.m && f->request->has_state && bout.state != f->request->state)
            continue;
        bool one = bout.kernel->outcome != ASSAY_OUTCOME_OK || assay_cell_is_workload(bout.kernel);
        const struct assay_record *rival = assay_bout_rival(&bouts, &bout, NULL);
        do
            add_bout(f, &bout, rival);
        while (!one && rival && (rival = assay_bout_rival(&bouts, &bout, rival)));
    }
}

/* ---- variants of a problem ----------------------------------------------------------------- */

bool assay_speedups_timed(const struct assay_record *record,
                          const struct assay_chart_request *request, enum assay_cache_state state)
{
    return record->outcome == ASSAY_OUTCOME_OK && record->states[state].measured &&
           (!request->has_state || request->state == state);
}

static bool is_timed_at_all(const struct finding *f, const struct assay_record *record)
{
    return assay_speedups_timed(record, f->request, ASSAY_CACHE_HOT) ||
           assay_speedups_timed(record, f->request, ASSAY_CACHE_COLD);
}

static bool some_are_timed(const struct finding *f, enum assay_cache_state state)
{
    for (int64_t i = 0; i < f->view->n; i++)
        if (assay_speedups_timed(&f->view->records[i], f->request, state))
            return true;
    return false;
}

/* The one that all others are compared with; NULL where there are several: each executor of a model
 * has its own. */
static const struct assay_record *only_baseline(const struct finding *f,
                                                enum assay_cache_state state)
{
    const struct assay_record *found = NULL;
    for (int64_t i = 0; i < f->view->n; i++) {
        const struct assay_record *r = &f->view->records[i];
        if (!assay_speedups_timed(r, f->request, state) || !assay_cell_is_baseline(r))
            continue;
        if (found)
            return NULL;
        found = r;
    }
    return found;
}

/* "linear bias+gelu bf16 1x4096x4096 (cold), baseline onednn 85.5 us" */
static struct assay_cell group_heading(const struct finding *f, enum assay_cache_state state)
{
    const struct assay_book_view *view = f->view;
    const struct assay_record *baseline = only_baseline(f, state);
    struct assay_cell cell = assay_chart_group_name(f->book, view);
    if (view->run->info.hot == view->run->info.cold && some_are_timed(f, state))
        assay_cell_add(&cell, " (%s)", assay_cache_state_name(state));
    if (baseline)
        assay_cell_add(&cell, ", baseline %s %s",
                       assay_cell_variant(baseline, view->records, view->n),
                       assay_cell_time(baseline->states[state].time.median).text);
    return cell;
}

static void add_variant(const struct finding *f, const struct assay_record *record,
                        enum assay_cache_state state, const struct assay_cell *heading)
{
    const struct assay_measurement *m = &record->states[state];
    struct subject s = {.heading = *heading,
                        .label = assay_chart_variant(record, f->view->records, f->view->n),
                        .record = record};
    if (record->outcome != ASSAY_OUTCOME_OK) {
        s.kind = ASSAY_SPEEDUP_TROUBLE;
        s.trouble = record;
    } else if (!assay_speedups_timed(record, f->request, state)) {
        assay_cell_add(&s.figure, "not timed");
    } else if (assay_cell_is_baseline(record)) {
        s.kind = ASSAY_SPEEDUP_BASELINE;
        assay_cell_add(&s.figure, "baseline");
    } else if (m->has_ratio && is_number(&m->ratio)) {
        s.kind = ASSAY_SPEEDUP_COMPARED;
        s.ratio = m->ratio;
    } else {
        assay_cell_add(&s.figure, "not compared");
    }
    if (assay_speedups_timed(record, f->request, state))
        s.below = assay_cell_time(m->time.median);
    add(f, &s);
}

/* Those that are timed in this state; `others`: and those that are timed in none. */
static void add_state(const struct finding *f, enum assay_cache_state state, bool others)
{
    struct assay_cell heading = group_heading(f, state);
    for (int64_t i = 0; i < f->view->n; i++) {
        const struct assay_record *record = &f->view->records[i];
        if (assay_speedups_timed(record, f->request, state) ||
            (others && !is_timed_at_all(f, record)))
            add_variant(f, record, state, &heading);
    }
}

static void add_variants(const struct finding *f)
{
    bool hot = some_are_timed(f, ASSAY_CACHE_HOT), cold = some_are_timed(f, ASSAY_CACHE_COLD);
    if (hot || !cold)
        add_state(f, ASSAY_CACHE_HOT, true);
    if (cold)
        add_state(f, ASSAY_CACHE_COLD, !hot);
}

void assay_speedups_find(const struct assay_book *book, const struct assay_chart_request *request,
                         struct assay_speedups *out)
{
    struct assay_book_view view = {0};
    for (int64_t g = 0; g < book->n_groups && assay_book_open(book, g, &view); g++) {
        struct finding f = {book, request, &view, book->groups[g].first, out};
        bool kernels = is_of_kernels(&view);
        assay_chart_rows_group(&out->rows);
        if (kernels)
            add_bouts(&f);
        else
            add_variants(&f);
        assay_chart_rows_group_end(&out->rows);
        out->kernels = out->kernels || kernels;
        out->variants = out->variants || !kernels;
    }
    assay_book_view_fini(&view);
}
