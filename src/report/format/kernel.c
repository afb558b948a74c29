/* kernel.c: what `assay kernel` shows: the columns of `kernels benchmark`, for a terminal.
 *
 * One row for each workload, and one more where it was also measured cold; under the table one line
 * for each workload and each rival, with the interval, whether the difference is significant, and
 * the share of the ceiling; last, what was measured. Mean(ms) and Ref(ms) are means over all
 * samples, as there; speedups are medians of the rounds' ratios, so medians stand beside both, and
 * in the lines with their intervals.
 * Widths depend on all rows, and so does whether there are references at all: rows are kept until
 * the end. On a narrow terminal the least important columns are dropped. */
#include "report/report_bouts.h"
#include "report/report_detail.h"
#include "report/report_grid.h"
#include "report/report_sink.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum column {
    BENCHMARK,
    WORKLOAD,
    N,
    SPEEDUP,
    MEAN,
    MEDIAN,
    STD,
    MIN,
    MAX,
    IQR,
    OUTLIERS,
    REF,
    REF_MEDIAN,
    MATCH,
    COLUMNS
};

enum {
    HEADING_EXTRA = 2,   /* blanks beside a heading, where the table fits all the same */
    USUAL_NAME = 24,     /* names longer than this are cut before figures go */
    LEAST_NAME = 8,      /* … and down to this after */
    CONTINUED_AT = 6,    /* lines that did not fit into one */
    MACHINE_LABEL = 9,   /* "GPU      " */
    FASTER_SPEEDUP = 17, /* "1.62x [1.58 1.66]" */
    SHORT_SPEEDUP = 12,  /* "1.31x slower": the interval is in the line below too */
};

struct state {
    struct assay_page page;
    struct assay_grid grid;
    struct assay_bouts bouts;
    int decimals; /* the most that any row has: points stand under points */
    bool has_references, saw_figures, saw_ratio;
};

static void flush(struct state *s) { assay_page_flush(&s->page); }

/* "·": in ASCII that is spelt "|", which looks like a line of the box. */
static const char *dot(const struct state *s) { return s->page.style.ascii ? "-" : "·"; }

/* ---- the beginning ------------------------------------------------------------------------- */

static void write_machine(struct state *s, const char *label, const char *text)
{
    if (!text[0])
        return;
    assay_line_to(&s->page.line, 2);
    assay_line_left(&s->page.line, label, MACHINE_LABEL, ASSAY_INK_DIM);
    assay_line_put(&s->page.line, text, s->page.width - s->page.line.columns, ASSAY_INK_PLAIN);
    flush(s);
}

/* "  Running owner/name@v1 on cpu, 2 threads"; the name is cut where the line is too narrow. */
static void write_subject(struct state *s, const struct assay_run_info *run)
{
    struct assay_cell where = {""};
    assay_cell_add(&where, "on %s", run->device);
    if (run->threads > 0 && assay_run_on_host(run))
        assay_cell_add(&where, ", %d thread%s", run->threads, run->threads == 1 ? "" : "s");
    int width = s->page.width - assay_line_columns_of(where.text, s->page.style.ascii);
    assay_line_put(&s->page.line, "  Running ", width, ASSAY_INK_BOLD);
    assay_line_put(&s->page.line, run->repository, width - s->page.line.columns - 1,
                   ASSAY_INK_BOLD);
    assay_line_to(&s->page.line, s->page.line.columns + (run->repository[0] ? 1 : 0));
    assay_line_put(&s->page.line, where.text, width, ASSAY_INK_BOLD);
    flush(s);
    flush(s);
}

static void kernel_begin(void *state, const struct assay_sink *sink,
                         const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct state *s = state;
    char gpu[96];
    assay_page_begin(&s->page, sink, style);
    assay_bouts_begin(&s->bouts, run);
    snprintf(gpu, sizeof gpu, "%s", run->gpu_name);
    if (run->gpu_name[0] && run->gpu_cores > 0)
        snprintf(gpu, sizeof gpu, "%s (%d cores)", run->gpu_name, run->gpu_cores);
    write_machine(s, "GPU", gpu);
    write_machine(s, "CPU", run->cpu_name);
    write_machine(s, "OS", run->host_os);
    write_machine(s, "PyTorch", run->pytorch);
    flush(s);
    write_subject(s, run);
}

static void kernel_group(void *state, const struct assay_record *records, int64_t n)
{
    assay_bouts_add(&((struct state *)state)->bouts, records, n);
}

/* ---- columns ------------------------------------------------------------------------------- */

static struct assay_figure benchmark_cell(const struct assay_cell_request *q)
{
    return assay_figure_plain(assay_bout_benchmark(q->bout->kernel));
}

static struct assay_figure workload_cell(const struct assay_cell_request *q)
{
    return assay_figure_plain(assay_bout_workload(q->row));
}

static struct assay_figure count_cell(const struct assay_cell_request *q)
{
    struct assay_figure f = {0};
    if (q->bout->m)
        assay_cell_add(&f.cell, "%lld",
                       (long long)(q->of == N ? q->bout->m->time.n : q->bout->m->time.outliers));
    return f;
}

/* A time with the point under the others', as precise as the bout's mean. */
static struct assay_figure aligned(const struct assay_cell_request *q, double ns)
{
    const struct state *s = q->table;
    int decimals = assay_bout_decimals(q->bout->m->time.mean);
    struct assay_cell cell = assay_bout_ms(ns, decimals);
    if (s->decimals > decimals)
        assay_cell_add(&cell, "%*s", s->decimals - decimals, "");
    return assay_figure_plain(cell);
}

/* `of` is the offset of a member of struct assay_summary. */
static struct assay_figure time_cell(const struct assay_cell_request *q)
{
    if (!q->bout->m)
        return (struct assay_figure){0};
    return aligned(q, *(const double *)(const void *)((const char *)&q->bout->m->time + q->of));
}

static const struct assay_record *reference_of(const struct assay_cell_request *q)
{
    return assay_bout_reference(&((const struct state *)q->table)->bouts, q->bout);
}

static struct assay_figure reference_cell(const struct assay_cell_request *q)
{
    const struct assay_record *reference = reference_of(q);
    if (!reference)
        return (struct assay_figure){0};
    const struct assay_summary *time = &assay_bout_figures(q->bout, reference)->time;
    return aligned(q, q->of == REF_MEDIAN ? time->median : time->mean);
}

static struct assay_figure speedup_cell(const struct assay_cell_request *q)
{
    const struct assay_record *reference = reference_of(q);
    struct assay_ratio ratio;
    if (!reference || !assay_bout_ratio(q->bout, reference, &ratio))
        return (struct assay_figure){0};
    return (struct assay_figure){.cell = assay_cell_interval(&ratio, q->width, q->ascii),
                                 .ink = assay_figure_ratio_ink(&ratio)};
}

static struct assay_figure match_cell(const struct assay_cell_request *q)
{
    const struct assay_record *r = q->bout->kernel;
    bool right = r->outcome == ASSAY_OUTCOME_OK && r->verification.done;
    if (!assay_outcome_is_fine(r->outcome))
        return assay_figure_text("✗", ASSAY_INK_BAD);
    return right ? assay_figure_text("✓", ASSAY_INK_GOOD)
                 : assay_figure_text(dot(q->table), ASSAY_INK_DIM);
}

static bool has_references(const void *table, int of)
{
    (void)of;
    return ((const struct state *)table)->has_references;
}

/* clang-format off */
#define TIME(member) .right = true, .of = offsetof(struct assay_summary, member), .cell = time_cell
static const struct assay_column columns[COLUMNS] = {
    [BENCHMARK] = {.heading = "Benchmark", .cell = benchmark_cell},
    [WORKLOAD]  = {.heading = "Workload", .cell = workload_cell},
    [N]         = {.heading = "N", .right = true, .of = N, .cell = count_cell},
    [SPEEDUP]   = {.heading = "Speedup", .cell = speedup_cell, .shown = has_references},
    [MEAN]      = {.heading = "Mean(ms)", TIME(mean)},
    [MEDIAN]    = {.heading = "Median(ms)", TIME(median)},
    [STD]       = {.heading = "Std(ms)", TIME(std)},
    [MIN]       = {.heading = "Min(ms)", TIME(min)},
    [MAX]       = {.heading = "Max(ms)", TIME(max)},
    [IQR]       = {.heading = "IQR(ms)", TIME(iqr)},
    [OUTLIERS]  = {.heading = "Outliers", .right = true, .of = OUTLIERS, .cell = count_cell},
    [REF]       = {.heading = "Ref(ms)", .right = true, .of = REF, .cell = reference_cell, .shown = has_references},
    [REF_MEDIAN] = {.heading = "Ref median", .right = true, .of = REF_MEDIAN, .cell = reference_cell, .shown = has_references},
    [MATCH]     = {.heading = "Match", .cell = match_cell},
};
/* clang-format on */

static const struct assay_shrink shrinks[] = {
    {BENCHMARK, USUAL_NAME}, {WORKLOAD, USUAL_NAME}, {SPEEDUP, FASTER_SPEEDUP},
    {OUTLIERS, ASSAY_DROP},  {IQR, ASSAY_DROP},      {SPEEDUP, SHORT_SPEEDUP},
    {MAX, ASSAY_DROP},       {MIN, ASSAY_DROP},      {STD, ASSAY_DROP},
    {REF, ASSAY_DROP},       {N, ASSAY_DROP},        {BENCHMARK, LEAST_NAME},
    {WORKLOAD, LEAST_NAME},  {MEAN, ASSAY_DROP},     {REF_MEDIAN, ASSAY_DROP},
};

/* ---- the table ----------------------------------------------------------------------------- */

/* What depends on all rows and must be known before the first is made. */
static void look_ahead(struct state *s)
{
    struct assay_bout bout = {0};
    while (assay_bouts_next(&s->bouts, &bout)) {
        if (!bout.m)
            continue;
        int decimals = assay_bout_decimals(bout.m->time.mean);
        s->decimals = decimals > s->decimals ? decimals : s->decimals;
        s->saw_figures = true;
        s->has_references |= assay_bout_reference(&s->bouts, &bout) != NULL;
    }
}

static void measure_columns(struct state *s, int heading_extra)
{
    struct assay_bout bout = {0};
    assay_grid_begin(&s->grid, heading_extra);
    while (assay_bouts_next(&s->bouts, &bout))
        assay_grid_measure(&s->grid, &bout);
}

static void choose_layout(struct state *s)
{
    s->grid = (struct assay_grid){
        .page = &s->page, .columns = columns, .n = COLUMNS, .table = s, .boxed = true};
    measure_columns(s, HEADING_EXTRA);
    if (assay_grid_total(&s->grid) > assay_page_most(&s->page))
        measure_columns(s, 0);
    assay_grid_fit(&s->grid, shrinks, sizeof shrinks / sizeof shrinks[0],
                   assay_page_most(&s->page));
    s->grid.width = s->grid.width > s->page.width ? s->grid.width : s->page.width;
}

static void write_table(struct state *s)
{
    assay_grid_rule(&s->grid, ASSAY_GRID_TOP);
    assay_grid_headings(&s->grid);
    assay_grid_rule(&s->grid, ASSAY_GRID_MIDDLE);
    struct assay_bout bout = {0};
    while (assay_bouts_next(&s->bouts, &bout))
        assay_grid_row(&s->grid, &bout);
    assay_grid_rule(&s->grid, ASSAY_GRID_BOTTOM);
    flush(s);
}

/* ---- the lines under it -------------------------------------------------------------------- */

/* Words that stay together, on the next line where they do not fit on this one. */
static void put_phrase(struct state *s, const char *text, enum assay_line_ink ink)
{
    /* A comma may follow. */
    if (s->page.line.columns + 2 + assay_line_columns_of(text, s->page.style.ascii) >
        s->grid.width) {
        flush(s);
        assay_line_to(&s->page.line, CONTINUED_AT - 1);
    }
    assay_line_put(&s->page.line, " ", 1, ASSAY_INK_PLAIN);
    assay_line_put(&s->page.line, text, s->grid.width - 1 - s->page.line.columns, ink);
}

/* Any sentence, wrapped between words. */
static void put_words(struct state *s, const char *text, enum assay_line_ink ink)
{
    char word[256];
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        put_phrase(s, word, ink);
        text += length;
    }
}

static void begin_line(struct state *s, const struct assay_bout *bout)
{
    struct assay_cell name = assay_bout_name(&s->bouts, bout);
    assay_line_to(&s->page.line, 2);
    assay_line_put(&s->page.line, name.text, s->grid.width / 2, ASSAY_INK_BOLD);
    assay_line_put(&s->page.line, ":", 1, ASSAY_INK_PLAIN);
}

/* ", 71 % of ceiling (memory)" */
static void put_ceiling(struct state *s, const struct assay_measurement *m)
{
    if (!(m->ceiling_ns > 0) || !(m->efficiency >= 0) || isinf(m->efficiency))
        return;
    struct assay_cell cell = {""};
    if (m->efficiency < 0.005)
        assay_cell_add(&cell, "<1 %% of ceiling");
    else
        assay_cell_add(&cell, "%.0f %% of ceiling", 100 * m->efficiency);
    if (m->bound[0])
        assay_cell_add(&cell, " (%s)", m->bound);
    assay_line_put(&s->page.line, ",", 1, ASSAY_INK_PLAIN);
    put_phrase(s, cell.text, ASSAY_INK_PLAIN);
}

/* Remarks that need no comparison. */
static void put_remark(struct state *s, const char *text)
{
    assay_line_put(&s->page.line, ",", 1, ASSAY_INK_PLAIN);
    put_phrase(s, text, ASSAY_INK_WARN);
}

static void put_remarks(struct state *s, const struct assay_bout *bout)
{
    const struct assay_record *r = bout->kernel;
    const struct assay_verification *v = &r->verification;
    struct assay_cell cell = {""};
    put_ceiling(s, bout->m);
    if (r->interrupted)
        put_remark(s, "interrupted: fewer samples than planned");
    if (v->author_tolerance && v->done) {
        assay_cell_add(&cell, "its author allows %.2g%% and %.2g", 100 * v->tolerance_relative,
                       v->tolerance_absolute);
        put_remark(s, cell.text);
    }
    if (r->not_asked)
        put_remark(s, "not checked whether every call computes");
    if (strcmp(r->confined, ASSAY_NOT_ISOLATED) == 0)
        put_remark(s, "nothing was isolated");
}

/* "crashed: SIGSEGV" */
static void put_trouble(struct state *s, const struct assay_record *record)
{
    enum assay_line_ink ink =
        assay_outcome_is_fine(record->outcome) ? ASSAY_INK_DIM : ASSAY_INK_BAD;
    char outcome[sizeof(struct assay_cell) + 1];
    snprintf(outcome, sizeof outcome, "%s%s", assay_cell_outcome(record->outcome).text,
             record->reason[0] ? ":" : "");
    put_phrase(s, outcome, ink);
    put_words(s, record->reason, ink);
}

static void put_verdict(struct state *s, const struct assay_ratio *ratio)
{
    if (ratio->significant)
        put_phrase(s, "✓ significant", ASSAY_INK_GOOD);
    else
        put_phrase(s, s->page.style.ascii ? "- not significant" : "· not significant",
                   ASSAY_INK_DIM);
}

/* "1.72x faster", "1.31x slower than native", and the interval. */
static void put_difference(struct state *s, const struct assay_ratio *ratio, const char *name)
{
    enum assay_line_ink ink = assay_figure_ratio_ink(ratio);
    struct assay_cell interval, text = assay_cell_times(ratio, &interval);
    assay_cell_add(&text, ratio->ratio > 1 ? " faster" : " slower");
    put_phrase(s, text.text, ink);
    text = (struct assay_cell){""};
    assay_cell_add(&text, "than %s", name);
    if (name[0])
        put_phrase(s, text.text, ink);
    if (interval.text[0])
        put_phrase(s, interval.text, ink);
}

/* "same speed within 0.8%", "unclear (n=8)"; of a rival "same speed as onednn within 0.8%",
 * "unclear against onednn (n=8)". */
static void put_no_difference(struct state *s, const struct assay_ratio *ratio, const char *name)
{
    struct assay_cell said = assay_cell_interval(ratio, s->grid.width, s->page.style.ascii);
    bool same = strncmp(said.text, "same", 4) == 0;
    const char *rest = strchr(said.text, ' ');
    struct assay_cell text = {""};
    assay_cell_add(&text, "%s", same ? "same speed" : "unclear");
    if (name[0])
        assay_cell_add(&text, " %s %s", same ? "as" : "against", name);
    assay_cell_add(&text, "%s", rest ? rest : "");
    put_words(s, text.text, ASSAY_INK_DIM);
}

static void put_saying(struct state *s, const struct assay_bout *bout,
                       const struct assay_record *rival, const struct assay_ratio *ratio)
{
    const char *name =
        assay_cell_is_workload(bout->kernel) ? "" : assay_bout_rival_name(bout, rival);
    if (ratio->significant)
        put_difference(s, ratio, name);
    else
        put_no_difference(s, ratio, name);
}

/* "(95% CI: 6.4302-6.6004ms vs ref 11.2048ms)", as medians; without `rival` only the interval.
 * Fewer than six samples have none: then it is the median. */
static void put_interval(struct state *s, const struct assay_bout *bout,
                         const struct assay_record *rival, const char *name)
{
    const struct assay_summary *mine = &bout->m->time;
    int decimals = assay_bout_decimals(mine->mean);
    struct assay_cell text = {""};
    assay_cell_add(&text, "%s", rival ? "(" : "");
    if (assay_cell_has_interval(mine))
        assay_cell_add(&text, "95%% CI: %s-%sms", assay_bout_ms(mine->median_ci.lo, decimals).text,
                       assay_bout_ms(mine->median_ci.hi, decimals).text);
    else
        assay_cell_add(&text, "median %sms", assay_bout_ms(mine->median, decimals).text);
    put_phrase(s, text.text, ASSAY_INK_PLAIN);
    if (!rival)
        return;
    struct assay_cell its = assay_bout_ms(assay_bout_figures(bout, rival)->time.median, decimals);
    text = (struct assay_cell){""};
    assay_cell_add(&text, "vs %s%s%sms)", name, name[0] ? " " : "", its.text);
    put_phrase(s, text.text, ASSAY_INK_PLAIN);
}

static void write_rival(struct state *s, const struct assay_bout *bout,
                        const struct assay_record *rival)
{
    const char *short_name = assay_cell_is_workload(bout->kernel) ? "ref" : "";
    const char *name = short_name[0] ? short_name : assay_bout_rival_name(bout, rival);
    struct assay_ratio ratio;
    if (rival->outcome != ASSAY_OUTCOME_OK) {
        put_phrase(s, assay_bout_rival_name(bout, rival), ASSAY_INK_PLAIN);
        put_trouble(s, rival);
    } else if (assay_bout_ratio(bout, rival, &ratio)) {
        put_saying(s, bout, rival, &ratio);
        put_interval(s, bout, rival, short_name);
        put_verdict(s, &ratio);
        s->saw_ratio = true;
    } else if (assay_bout_figures(bout, rival)) {
        put_interval(s, bout, rival, name);
        put_phrase(s, "not compared", ASSAY_INK_DIM);
    } else {
        put_phrase(s, name, ASSAY_INK_PLAIN);
        put_phrase(s, "not timed", ASSAY_INK_DIM);
    }
}

static void write_detail(struct state *s, const struct assay_bout *bout,
                         const struct assay_record *record)
{
    bool last = bout->state == ASSAY_CACHE_COLD || !record->states[ASSAY_CACHE_COLD].measured;
    if (s->page.style.verbose && last) /* it shows both states */
        assay_detail_write(record, &s->page.line, &s->page.sink, s->grid.width);
    else if (last)
        assay_detail_counts(record, &s->page.line, &s->page.sink, s->grid.width);
}

/* A kernel without figures, or without a rival. */
static void write_alone(struct state *s, const struct assay_bout *bout)
{
    begin_line(s, bout);
    if (bout->m) {
        put_interval(s, bout, NULL, "");
        put_remarks(s, bout);
    } else if (bout->kernel->outcome != ASSAY_OUTCOME_OK) {
        if (!assay_outcome_is_fine(bout->kernel->outcome))
            put_phrase(s, "✗", ASSAY_INK_BAD);
        put_trouble(s, bout->kernel);
    } else {
        put_phrase(s, bout->kernel->verification.done ? "✓ right, not timed" : "not timed",
                   ASSAY_INK_DIM);
    }
    flush(s);
}

/* A rival's failure is shown once. Where the kernel has no figures, only failures that may explain
 * it are shown. */
static bool is_told(const struct assay_bout *bout, const struct assay_record *rival)
{
    bool again = bout->state == ASSAY_CACHE_COLD && bout->kernel->states[ASSAY_CACHE_HOT].measured;
    if (rival->outcome == ASSAY_OUTCOME_OK)
        return bout->m != NULL;
    return bout->m ? !again : !assay_outcome_is_fine(rival->outcome);
}

/* The share of the ceiling stands in the first line only. */
static void write_lines(struct state *s, const struct assay_bout *bout)
{
    const struct assay_record *rival = assay_bout_rival(&s->bouts, bout, NULL);
    bool first = bout->m && assay_bout_figures(bout, rival);
    if (!first) {
        write_alone(s, bout);
        write_detail(s, bout, bout->kernel);
    }
    for (; rival; rival = assay_bout_rival(&s->bouts, bout, rival)) {
        if (!is_told(bout, rival))
            continue;
        begin_line(s, bout);
        write_rival(s, bout, rival);
        if (first)
            put_remarks(s, bout);
        flush(s);
        if (first)
            write_detail(s, bout, bout->kernel);
        write_detail(s, bout, rival);
        first = false;
    }
}

/* ---- the end ------------------------------------------------------------------------------- */

static void write_legend(struct state *s)
{
    struct assay_flow flow = assay_page_flow(&s->page, 2, s->grid.width, ASSAY_INK_DIM);
    if (!s->saw_figures)
        return;
    flush(s);
    assay_flow_item(&flow, "Mean, Ref: means over all samples");
    assay_flow_item(&flow, "95%% CI: of the median");
    if (s->saw_ratio) {
        assay_flow_item(&flow, "speedup: median over rounds in which both ran");
        assay_flow_item(&flow, "[ ] its 95%% interval");
    }
    flush(s);
}

static void write_commits(struct state *s)
{
    char text[64];
    snprintf(text, sizeof text, "Kernel: %.16s  Benchmark: %.16s",
             assay_bout_short_sha(s->bouts.run.kernel_commit).text,
             assay_bout_short_sha(s->bouts.run.benchmark_sha).text);
    assay_line_put(&s->page.line, text, s->grid.width, ASSAY_INK_PLAIN);
    flush(s);
}

static void kernel_end(void *state)
{
    struct state *s = state;
    look_ahead(s);
    choose_layout(s);
    if (s->bouts.n)
        write_table(s);
    struct assay_bout bout = {0};
    while (assay_bouts_next(&s->bouts, &bout))
        write_lines(s, &bout);
    if (s->bouts.failed) {
        assay_line_put(&s->page.line, "  The rest did not fit into memory.", s->grid.width,
                       ASSAY_INK_BAD);
        flush(s);
        assay_sink_fail(&s->page.sink);
    }
    write_legend(s);
    if (s->bouts.n)
        flush(s);
    write_commits(s);
}

static void kernel_fini(void *state) { assay_bouts_fini(&((struct state *)state)->bouts); }

const struct assay_report_format assay_report_kernel = {
    .name = "kernel",
    .extension = NULL,
    .summary = "workloads of a kernel's repository with times, speedup and verdict",
    .state_bytes = sizeof(struct state),
    .pictured = true,
    .most = 180,
    .begin = kernel_begin,
    .group = kernel_group,
    .end = kernel_end,
    .fini = kernel_fini,
};
