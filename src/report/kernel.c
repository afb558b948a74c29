/* kernel.c: what `assay kernel` shows: the columns of `kernels benchmark`, for a terminal.
 *
 * One row for each workload, and one more where it was also measured cold; under the table one line
 * for each workload and each rival, with the interval, whether the difference is significant, and
 * the share of the ceiling; last, what was measured. The table's times are means over all samples;
 * speedups are medians of the rounds' ratios, and the lines' times medians with their intervals.
 * Widths depend on all rows, and so does whether there are references at all: rows are kept until
 * the end. On a narrow terminal the least of the columns go. */
#include "report/report_bouts.h"
#include "report/report_columns.h"
#include "report/report_detail.h"
#include "report/report_sink.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum column {
    BENCHMARK,
    WORKLOAD,
    N,
    SPEEDUP,
    MEAN,
    STD,
    MIN,
    MAX,
    IQR,
    OUTLIERS,
    REF,
    MATCH,
    COLUMNS
};

enum {
    HEADING_ROOM = 2,  /* beside the longest heading, where the table fits all the same */
    PADDING = 2,       /* a blank on either side */
    USUAL_NAME = 24,   /* names longer than this are cut before figures go */
    LEAST_NAME = 8,    /* … and down to this after */
    CONTINUED_AT = 6,  /* lines that did not fit into one */
    MACHINE_LABEL = 9, /* "GPU      " */
};

/* clang-format off */
static const struct assay_column columns[COLUMNS] = {
    [BENCHMARK] = {"Benchmark", 0, false, false},
    [WORKLOAD]  = {"Workload",  0, false, false},
    [N]         = {"N",         0, true,  false},
    [SPEEDUP]   = {"Speedup",   0, false, false},
    [MEAN]      = {"Mean(ms)",  0, true,  false},
    [STD]       = {"Std(ms)",   0, true,  false},
    [MIN]       = {"Min(ms)",   0, true,  false},
    [MAX]       = {"Max(ms)",   0, true,  false},
    [IQR]       = {"IQR(ms)",   0, true,  false},
    [OUTLIERS]  = {"Outliers",  0, true,  false},
    [REF]       = {"Ref(ms)",   0, true,  false},
    [MATCH]     = {"Match",     0, false, false},
};
/* clang-format on */

struct state {
    struct assay_sink sink;
    struct assay_report_style style;
    struct assay_line line;
    struct assay_bouts bouts;
    struct assay_columns columns;
    int decimals; /* the most that any row has: points stand under points */
    int width;    /* of all lines */
    bool has_references, saw_figures, saw_ratio;
};

static void flush(struct state *s) { assay_line_flush(&s->line, &s->sink); }

/* "·": in ASCII that is spelt "|", which in a box is none. */
static const char *dot(const struct state *s) { return s->style.ascii ? "-" : "·"; }

/* ---- the beginning ------------------------------------------------------------------------- */

static void write_machine(struct state *s, const char *label, const char *text)
{
    if (!text[0])
        return;
    assay_line_to(&s->line, 2);
    assay_line_left(&s->line, label, MACHINE_LABEL, ASSAY_INK_DIM);
    assay_line_put(&s->line, text, assay_columns_width(&s->style) - s->line.columns,
                   ASSAY_INK_PLAIN);
    flush(s);
}

/* "  Running owner/name@v1 on cpu, 2 threads"; the name gives way where there is no room. */
static void write_subject(struct state *s, const struct assay_run_info *run)
{
    struct assay_cell where = {""};
    assay_cell_add(&where, "on %s", run->device);
    if (run->threads > 0 && assay_run_on_host(run))
        assay_cell_add(&where, ", %d thread%s", run->threads, run->threads == 1 ? "" : "s");
    int room = assay_columns_width(&s->style) - assay_line_columns_of(where.text, s->style.ascii);
    assay_line_put(&s->line, "  Running ", room, ASSAY_INK_BOLD);
    assay_line_put(&s->line, run->repository, room - s->line.columns - 1, ASSAY_INK_BOLD);
    assay_line_to(&s->line, s->line.columns + (run->repository[0] ? 1 : 0));
    assay_line_put(&s->line, where.text, room, ASSAY_INK_BOLD);
    flush(s);
    flush(s);
}

static void kernel_begin(void *state, const struct assay_sink *sink,
                         const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct state *s = state;
    char gpu[96];
    s->sink = *sink;
    s->style = *style;
    assay_line_init(&s->line, style);
    assay_bouts_begin(&s->bouts, run);
    snprintf(gpu, sizeof gpu, "%s", run->gpu_name);
    if (run->gpu_name[0] && run->gpu_cores > 0)
        snprintf(gpu, sizeof gpu, "%s (%d cores)", run->gpu_name, run->gpu_cores);
    write_machine(s, "GPU", gpu);
    write_machine(s, "CPU", run->cpu_name);
    write_machine(s, "OS", run->host_os);
    flush(s);
    write_subject(s, run);
}

static void kernel_group(void *state, const struct assay_record *records, int64_t n)
{
    assay_bouts_add(&((struct state *)state)->bouts, records, n);
}

/* ---- the cells of a row -------------------------------------------------------------------- */

struct row {
    struct assay_cell cells[COLUMNS];
    enum assay_ink speedup_ink, match_ink;
};

/* A time with the point under the others'. */
static struct assay_cell aligned(const struct state *s, double ns, int decimals)
{
    struct assay_cell cell = assay_bout_ms(ns, decimals);
    if (s->decimals > decimals)
        assay_cell_add(&cell, "%*s", s->decimals - decimals, "");
    return cell;
}

static void fill_match(const struct state *s, const struct assay_record *r, struct row *row)
{
    bool right = r->outcome == ASSAY_OUTCOME_OK && r->verification.done;
    bool failed = !assay_outcome_is_fine(r->outcome);
    row->match_ink = failed ? ASSAY_INK_BAD : right ? ASSAY_INK_GOOD : ASSAY_INK_DIM;
    assay_cell_add(&row->cells[MATCH], "%s", failed ? "✗" : right ? "✓" : dot(s));
}

static enum assay_ink ratio_ink(const struct assay_ratio *ratio)
{
    int direction = assay_cell_ratio_direction(ratio);
    return direction > 0 ? ASSAY_INK_GOOD : direction < 0 ? ASSAY_INK_WARN : ASSAY_INK_DIM;
}

static void fill_reference(const struct state *s, const struct assay_bout *bout, struct row *row)
{
    const struct assay_record *reference = assay_bout_reference(&s->bouts, bout);
    if (!reference)
        return;
    struct assay_ratio ratio;
    int decimals = assay_bout_decimals(bout->m->time.mean);
    row->cells[REF] = aligned(s, assay_bout_figures(bout, reference)->time.mean, decimals);
    if (!assay_bout_ratio(bout, reference, &ratio))
        return;
    row->cells[SPEEDUP] = assay_bout_times(ratio.ratio);
    row->speedup_ink = ratio_ink(&ratio);
}

static struct row make_row(const struct state *s, const struct assay_bout *bout)
{
    struct row row = {.cells = {{""}}};
    row.cells[BENCHMARK] = assay_bout_benchmark(bout->kernel);
    row.cells[WORKLOAD] = assay_bout_workload(bout);
    fill_match(s, bout->kernel, &row);
    if (!bout->m)
        return row;
    const struct assay_summary *t = &bout->m->time;
    int decimals = assay_bout_decimals(t->mean);
    assay_cell_add(&row.cells[N], "%lld", (long long)t->n);
    row.cells[MEAN] = aligned(s, t->mean, decimals);
    row.cells[STD] = aligned(s, t->std, decimals);
    row.cells[MIN] = aligned(s, t->min, decimals);
    row.cells[MAX] = aligned(s, t->max, decimals);
    row.cells[IQR] = aligned(s, t->iqr, decimals);
    assay_cell_add(&row.cells[OUTLIERS], "%lld", (long long)t->outliers);
    fill_reference(s, bout, &row);
    return row;
}

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

static bool is_shown(const struct state *s, int column)
{
    return s->has_references || (column != SPEEDUP && column != REF);
}

/* As wide as what is in them; headings with or without the room that tables like this have. */
static struct assay_columns measure_columns(const struct state *s, int heading_room)
{
    struct assay_columns c = assay_columns_start(columns, COLUMNS, 1);
    for (int i = 0; i < COLUMNS; i++)
        if (is_shown(s, i))
            c.widths[i] = (int)strlen(columns[i].heading) + heading_room;
    struct assay_bout bout = {0};
    while (assay_bouts_next(&s->bouts, &bout)) {
        struct row row = make_row(s, &bout);
        for (int i = 0; i < COLUMNS; i++)
            if (is_shown(s, i))
                assay_columns_widen(&c, i, row.cells[i].text, s->style.ascii);
    }
    for (int i = 0; i < COLUMNS; i++)
        c.widths[i] += c.widths[i] ? PADDING : 0;
    return c;
}

static struct assay_columns choose_columns(const struct state *s)
{
    static const int dispensable[] = {OUTLIERS, IQR, MAX, MIN, N, STD, REF};
    int room = assay_columns_room(&s->style);
    struct assay_columns c = measure_columns(s, HEADING_ROOM);
    if (assay_columns_total(&c) > room)
        c = measure_columns(s, 0);
    assay_columns_cut(&c, BENCHMARK, USUAL_NAME + PADDING, room);
    assay_columns_cut(&c, WORKLOAD, USUAL_NAME + PADDING, room);
    assay_columns_drop(&c, dispensable, sizeof dispensable / sizeof dispensable[0], room);
    assay_columns_cut(&c, BENCHMARK, LEAST_NAME + PADDING, room);
    assay_columns_cut(&c, WORKLOAD, LEAST_NAME + PADDING, room);
    return c;
}

static void write_rule(struct state *s, const char *left, const char *middle, const char *right)
{
    const char *corner = left;
    for (int i = 0; i < COLUMNS; i++) {
        if (!s->columns.widths[i])
            continue;
        assay_line_put(&s->line, corner, 1, ASSAY_INK_DIM);
        assay_line_rule(&s->line, s->line.columns + s->columns.widths[i], ASSAY_INK_DIM);
        corner = middle;
    }
    assay_line_put(&s->line, right, 1, ASSAY_INK_DIM);
    flush(s);
}

static void write_cell(struct state *s, int column, const char *text, enum assay_ink ink)
{
    int width = s->columns.widths[column];
    if (!width)
        return;
    assay_line_put(&s->line, "│ ", 2, ASSAY_INK_DIM);
    if (columns[column].right)
        assay_line_right(&s->line, text, width - PADDING, ink);
    else
        assay_line_left(&s->line, text, width - PADDING, ink);
    assay_line_put(&s->line, " ", 1, ASSAY_INK_PLAIN);
}

static void end_row(struct state *s)
{
    assay_line_put(&s->line, "│", 1, ASSAY_INK_DIM);
    flush(s);
}

static void write_row(struct state *s, const struct row *row)
{
    for (int i = 0; i < COLUMNS; i++)
        write_cell(s, i, row->cells[i].text,
                   i == SPEEDUP ? row->speedup_ink
                   : i == MATCH ? row->match_ink
                                : ASSAY_INK_PLAIN);
    end_row(s);
}

static void write_table(struct state *s)
{
    write_rule(s, "┌", "┬", "┐");
    for (int i = 0; i < COLUMNS; i++)
        write_cell(s, i, columns[i].heading, ASSAY_INK_BOLD);
    end_row(s);
    write_rule(s, "├", "┼", "┤");
    struct assay_bout bout = {0};
    while (assay_bouts_next(&s->bouts, &bout)) {
        struct row row = make_row(s, &bout);
        write_row(s, &row);
    }
    write_rule(s, "└", "┴", "┘");
    flush(s);
}

/* ---- the lines under it -------------------------------------------------------------------- */

/* What belongs together, on the next line where this one has no room for it. */
static void put_phrase(struct state *s, const char *text, enum assay_ink ink)
{
    /* A comma may follow. */
    if (s->line.columns + 2 + assay_line_columns_of(text, s->style.ascii) > s->width) {
        flush(s);
        assay_line_to(&s->line, CONTINUED_AT - 1);
    }
    assay_line_put(&s->line, " ", 1, ASSAY_INK_PLAIN);
    assay_line_put(&s->line, text, s->width - 1 - s->line.columns, ink);
}

/* A sentence from elsewhere, word by word. */
static void put_words(struct state *s, const char *text, enum assay_ink ink)
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
    assay_line_to(&s->line, 2);
    assay_line_put(&s->line, name.text, s->width / 2, ASSAY_INK_BOLD);
    assay_line_put(&s->line, ":", 1, ASSAY_INK_PLAIN);
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
    assay_line_put(&s->line, ",", 1, ASSAY_INK_PLAIN);
    put_phrase(s, cell.text, ASSAY_INK_PLAIN);
}

/* What may be said of the time alone. */
static void put_remarks(struct state *s, const struct assay_bout *bout)
{
    put_ceiling(s, bout->m);
    if (!bout->kernel->interrupted)
        return;
    assay_line_put(&s->line, ",", 1, ASSAY_INK_PLAIN);
    put_phrase(s, "interrupted: fewer samples than planned", ASSAY_INK_WARN);
}

/* "crashed: SIGSEGV" */
static void put_trouble(struct state *s, const struct assay_record *record)
{
    enum assay_ink ink = assay_outcome_is_fine(record->outcome) ? ASSAY_INK_DIM : ASSAY_INK_BAD;
    char outcome[sizeof(struct assay_cell) + 1];
    snprintf(outcome, sizeof outcome, "%s%s", assay_cell_outcome(record->outcome).text,
             record->reason[0] ? ":" : "");
    put_phrase(s, outcome, ink);
    put_words(s, record->reason, ink);
}

/* Rounded up: it never says that less would have been seen than is so. */
static void put_verdict(struct state *s, const struct assay_ratio *ratio)
{
    if (ratio->significant) {
        put_phrase(s, "✓ significant", ASSAY_INK_GOOD);
        return;
    }
    put_phrase(s, s->style.ascii ? "- not significant" : "· not significant", ASSAY_INK_DIM);
    char text[64];
    double seen = 1 + ratio->smallest_visible;
    int decimals = seen < 1.01 ? 3 : seen < 10 ? 2 : seen < 100 ? 1 : 0;
    double unit = pow(10, -decimals);
    if (seen >= 1 && seen < 1000)
        snprintf(text, sizeof text, "(could have seen %.*fx)", decimals,
                 ceil(seen / unit - 1e-9) * unit);
    else
        snprintf(text, sizeof text, "(too few samples to tell)");
    put_phrase(s, text, ASSAY_INK_DIM);
}

/* "1.72x faster", "1.31x slower"; of a rival "1.31x slower than native". */
static void put_saying(struct state *s, const struct assay_bout *bout,
                       const struct assay_record *rival, const struct assay_ratio *ratio)
{
    bool faster = ratio->ratio > 1;
    bool same = !ratio->significant && fabs(ratio->ratio - 1) < 0.005;
    struct assay_cell text = assay_bout_times(faster ? ratio->ratio : 1 / ratio->ratio);
    assay_cell_add(&text, faster ? " faster" : " slower");
    if (same)
        text = (struct assay_cell){"same speed"};
    put_phrase(s, text.text, ratio_ink(ratio));
    if (assay_cell_is_workload(bout->kernel))
        return;
    text = (struct assay_cell){""};
    assay_cell_add(&text, "%s %s", same ? "as" : "than", assay_bout_rival_name(bout, rival));
    put_phrase(s, text.text, ratio_ink(ratio));
}

/* "(95% CI: 6.4302-6.6004ms vs ref 11.2048ms)", as medians; without `rival` only the interval. */
static void put_interval(struct state *s, const struct assay_bout *bout,
                         const struct assay_record *rival, const char *name)
{
    const struct assay_summary *mine = &bout->m->time;
    int decimals = assay_bout_decimals(mine->mean);
    struct assay_cell lo = assay_bout_ms(mine->median_ci.lo, decimals);
    struct assay_cell hi = assay_bout_ms(mine->median_ci.hi, decimals);
    struct assay_cell text = {""};
    assay_cell_add(&text, "%s95%% CI: %s-%sms", rival ? "(" : "", lo.text, hi.text);
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
    if (s->style.verbose && last) /* both states in one go */
        assay_detail_write(record, &s->line, &s->sink, s->width);
}

/* A kernel without figures, or without anybody to compare it with. */
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

/* A rival's trouble is told once, and of a kernel without figures only what may be why. */
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
    struct assay_flow flow = {&s->line, &s->sink, 2, s->width, false, ASSAY_INK_DIM};
    if (!s->saw_figures)
        return;
    flush(s);
    assay_flow_item(&flow, "table: means over all samples");
    assay_flow_item(&flow, "95%% CI: of the median");
    if (s->saw_ratio)
        assay_flow_item(&flow, "speedup: median over rounds in which both ran");
    flush(s);
}

static void write_commits(struct state *s)
{
    char text[64];
    snprintf(text, sizeof text, "Kernel: %.16s  Benchmark: %.16s",
             assay_bout_short_sha(s->bouts.run.kernel_commit).text,
             assay_bout_short_sha(s->bouts.run.benchmark_sha).text);
    assay_line_put(&s->line, text, s->width, ASSAY_INK_PLAIN);
    flush(s);
}

static void kernel_end(void *state)
{
    struct state *s = state;
    look_ahead(s);
    s->columns = choose_columns(s);
    int total = assay_columns_total(&s->columns), least = assay_columns_width(&s->style);
    s->width = total > least ? total : least;
    if (s->bouts.n)
        write_table(s);
    struct assay_bout bout = {0};
    while (assay_bouts_next(&s->bouts, &bout))
        write_lines(s, &bout);
    if (s->bouts.failed) {
        assay_line_put(&s->line, "  The rest did not fit into memory.", s->width, ASSAY_INK_BAD);
        flush(s);
        assay_sink_fail(&s->sink);
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
    .most = 150,
    .begin = kernel_begin,
    .group = kernel_group,
    .end = kernel_end,
    .fini = kernel_fini,
};
