/* github.c: Markdown for the summary page of a GitHub job: how many cases there were and how many
 * failed, one table for each entry, model and type, and what failed, with the reasons. The headline
 * needs the whole run, so tables are kept and written at the end; what the page cannot hold is
 * counted. */
#include "report/report_cells.h"
#include "report/report_md.h"
#include "report/report_pairs.h"
#include "report/report_row.h"
#include "report/report_sink.h"
#include "report/report_totals_md.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

enum {
    SPEEDUP_WIDTH = 40,
    /* GitHub refuses a page of more than 1 MiB. */
    MOST_TABLE_BYTES = 700000,
    MOST_LIST_BYTES = 100000,
};

struct state {
    struct assay_sink sink;
    struct assay_report_style style;
    struct assay_run_info run;
    struct assay_text tables, failures, gaps; /* gaps: not supported, skipped */
    struct assay_md md;                       /* writes to `tables` */
    struct assay_record open;                 /* of the table that is open; no op: none is */
    struct assay_tally tally;
    int64_t rows_left_out, lines_left_out, most_repeats;
    bool saw_pareto;
    struct assay_totals totals;
};

static void write_text(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
}

static void github_begin(void *state, const struct assay_sink *sink,
                         const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct state *s = state;
    s->sink = *sink;
    s->style = *style;
    s->run = *run;
    assay_md_init(&s->md, &(struct assay_sink){&s->tables, write_text, sink->incomplete}, style);
}

/* ---- tables ------------------------------------------------------------------------------- */

static bool belongs_into_open_table(const struct state *s, const struct assay_record *r)
{
    const struct assay_record *open = &s->open;
    return strcmp(open->op, r->op) == 0 && strcmp(open->mode, r->mode) == 0 &&
           strcmp(open->entry, r->entry) == 0 && strcmp(open->device, r->device) == 0 &&
           strcmp(open->compile, r->compile) == 0 && open->dtype == r->dtype &&
           open->threads == r->threads;
}

/* "### small_models: ln_linear_gelu, bf16, cpu, 2 threads, compile: default" */
static void open_table(struct state *s, const struct assay_record *record)
{
    struct assay_md *md = &s->md;
    const struct assay_sink *sink = &md->sink;
    s->open = *record;
    assay_sink_put(sink, "\n### ");
    assay_md_text(md, record->entry);
    assay_sink_put(sink, record->entry[0] ? ": " : "");
    assay_md_text(md, assay_cell_subject(record));
    assay_sink_put(sink, record->mode[0] ? " " : "");
    assay_md_text(md, record->mode);
    assay_sink_format(sink, ", %s, ", assay_dtype_name(record->dtype));
    assay_md_text(md, record->device);
    if (record->threads > 0 && assay_record_on_host(record))
        assay_sink_format(sink, ", %d thread%s", record->threads, record->threads == 1 ? "" : "s");
    assay_sink_put(sink, record->compile[0] ? ", compile: " : "");
    assay_md_text(md, record->compile);
    assay_sink_put(sink, "\n\n| shape | recipe | eager ms | eager speedup | compiled ms | compiled "
                         "speedup | eager vs compiled | SQNR dB | weights MB | result |\n"
                         "| --- | --- | ---: | --- | ---: | --- | --- | ---: | ---: | --- |\n");
}

/* The time, bold where none is faster, and its speedup. */
static void put_executor(struct state *s, const struct assay_record *record)
{
    const struct assay_measurement *m = assay_pair_figures(record);
    if (!m) {
        assay_sink_put(&s->md.sink, " | |");
        return;
    }
    char time[160], spread[24] = "";
    const char *bold = m->fastest ? "**" : "";
    const char *mark = !m->precise ? " !" : assay_cell_disturbed(m) ? " ~" : "";
    if (m->repeats > 1)
        snprintf(spread, sizeof spread, s->style.ascii ? " +-%.1f%%" : " ±%.1f%%",
                 100 * m->repeats_frac);
    s->most_repeats = m->repeats > s->most_repeats ? m->repeats : s->most_repeats;
    snprintf(time, sizeof time, "%s%s%s%s%s", bold, assay_cell_milliseconds(m->time.median).text,
             bold, spread, mark);
    assay_md_cell(&s->md, time);
    bool compared = m->has_ratio && !assay_cell_is_baseline(record);
    struct assay_cell speedup = compared
                                    ? assay_cell_interval(&m->ratio, SPEEDUP_WIDTH, s->style.ascii)
                                    : assay_cell_speedup(record, m, SPEEDUP_WIDTH, s->style.ascii);
    assay_md_cell(&s->md, speedup.text);
}

static void put_versus(struct state *s, const struct assay_record *compiled)
{
    const struct assay_measurement *m = assay_pair_figures(compiled);
    if (m && m->has_eager_ratio)
        assay_md_cell(&s->md,
                      assay_cell_interval(&m->eager_ratio, SPEEDUP_WIDTH, s->style.ascii).text);
    else
        assay_sink_put(&s->md.sink, " |");
}

static void put_result(struct state *s, const struct assay_pair *pair)
{
    const struct assay_record *trouble = assay_pair_trouble(pair);
    bool one_of_two =
        pair->eager && pair->compiled && pair->eager->outcome != pair->compiled->outcome;
    assay_sink_put(&s->md.sink, " ");
    if (trouble) {
        assay_md_plain(&s->md, assay_outcome_is_fine(trouble->outcome) ? "" : "✗ ");
        assay_md_text(&s->md, one_of_two ? trouble->implementation : "");
        assay_md_plain(&s->md, one_of_two ? " " : "");
        assay_md_plain(&s->md, assay_cell_outcome(trouble->outcome).text);
    } else {
        assay_md_plain(&s->md, assay_pair_any(pair)->verification.done ? "✓" : "not checked");
    }
    assay_sink_put(&s->md.sink, " |\n");
}

/* "custom (1024, 1024, 1024)" */
static void put_shape(struct assay_md *md, const struct assay_record *record)
{
    struct assay_cell cell = {""};
    for (int32_t i = 0; i < record->n_axes && i < ASSAY_MAX_AXES; i++)
        assay_cell_add(&cell, "%s%lld", i ? ", " : "", (long long)record->axes[i]);
    assay_md_text(md, record->label);
    if (record->n_axes > 0)
        assay_sink_format(&md->sink, "%s(%s)", record->label[0] ? " " : "", cell.text);
}

static void put_row(struct state *s, const struct assay_pair *pair)
{
    struct assay_md *md = &s->md;
    if (s->tables.length > MOST_TABLE_BYTES) {
        s->rows_left_out++;
        return;
    }
    const struct assay_record *shown = assay_pair_shown(pair);
    bool timed = assay_pair_figures(shown) != NULL;
    assay_sink_put(&md->sink, "| ");
    put_shape(md, shown);
    assay_sink_put(&md->sink, " | ");
    assay_md_text(md, assay_pair_label(pair).text);
    assay_sink_put(&md->sink, assay_pair_is_pareto(pair) ? " \\* |" : " |");
    s->saw_pareto |= assay_pair_is_pareto(pair);
    put_executor(s, pair->eager);
    put_executor(s, pair->compiled);
    put_versus(s, pair->compiled);
    assay_md_cell(md, timed ? assay_cell_level(shown->accuracy_db).text : "");
    assay_md_cell(md, timed ? assay_cell_megabytes(shown->weight_bytes).text : "");
    put_result(s, pair);
}

/* ---- what went wrong ----------------------------------------------------------------------- */

/* "- small_models: ln_linear_gelu, custom (1024, 1024, 1024), int8wo, compiled: crashed: SIGSEGV"
 */
static void list_trouble(struct state *s, const struct assay_record *record,
                         const struct assay_record *records, int64_t n)
{
    struct assay_text *list = assay_outcome_is_fine(record->outcome) ? &s->gaps : &s->failures;
    if (list->length > MOST_LIST_BYTES) {
        s->lines_left_out++;
        return;
    }
    struct assay_md md;
    assay_md_init(&md, &(struct assay_sink){list, write_text, s->sink.incomplete}, &s->style);
    assay_sink_put(&md.sink, "- ");
    assay_md_text(&md, record->entry);
    assay_sink_put(&md.sink, record->entry[0] ? ": " : "");
    assay_md_text(&md, assay_cell_subject(record));
    assay_sink_format(&md.sink, ", %s, ", assay_dtype_name(record->dtype));
    put_shape(&md, record);
    const char *const more[] = {record->recipe, assay_cell_variant(record, records, n)};
    for (int i = 0; i < 2; i++) {
        assay_sink_put(&md.sink, more[i][0] ? ", " : "");
        assay_md_text(&md, more[i]);
    }
    assay_sink_format(&md.sink, ": %s%s", assay_cell_outcome(record->outcome).text,
                      record->reason[0] ? ": " : "");
    assay_md_text(&md, record->reason);
    assay_sink_put(&md.sink, "\n");
}

static void github_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    assay_tally_add(&s->tally, records, n);
    assay_totals_add(&s->totals, records, n);
    if (!belongs_into_open_table(s, &records[0]) && s->tables.length <= MOST_TABLE_BYTES)
        open_table(s, &records[0]);
    struct assay_pair pair = {0};
    while (assay_pair_next(records, n, ASSAY_PAIRS_BY_TIME, &pair))
        put_row(s, &pair);
    for (int64_t i = 0; i < n; i++)
        if (records[i].outcome != ASSAY_OUTCOME_OK)
            list_trouble(s, &records[i], records, n);
}

/* ---- the page ------------------------------------------------------------------------------ */

/* "## ✗ assay: 14 cases, 2 failed, 1 not measured" */
static void put_headline(struct state *s, struct assay_md *md)
{
    int64_t failed = 0, gaps = 0;
    for (int o = 0; o < ASSAY_OUTCOME_COUNT; o++)
        if (o != ASSAY_OUTCOME_OK)
            *(assay_outcome_is_fine((enum assay_outcome)o) ? &gaps : &failed) +=
                s->tally.outcomes[o];
    assay_sink_put(&md->sink, "## ");
    assay_md_plain(md, failed ? "✗" : "✓");
    assay_sink_format(&md->sink, " assay: %lld case%s, %lld failed", (long long)s->tally.rows,
                      s->tally.rows == 1 ? "" : "s", (long long)failed);
    if (gaps)
        assay_sink_format(&md->sink, ", %lld not measured", (long long)gaps);
    assay_sink_put(&md->sink, "\n\n");
}

static void put_kept(const struct assay_sink *sink, const struct assay_text *text)
{
    if (text->length)
        sink->write(sink->user, text->data, text->length);
    if (text->failed) { /* say so: the page is incomplete */
        assay_sink_put(sink, "\nThe rest did not fit into memory.\n");
        assay_sink_fail(sink);
    }
}

static void put_legend(const struct state *s)
{
    assay_sink_put(
        &s->sink, "\nTimes are medians; \\[ \\]: 95% interval of the speedup. Bold: fastest in its "
                  "group, or not significantly slower. !: did not reach --precision. ~: over 5% of "
                  "samples disturbed. SQNR: against the answer without quantising. Weights: 10^6 "
                  "bytes as stored.");
    if (s->most_repeats > 1)
        assay_sink_format(&s->sink, " %s: half of the range of the medians of %lld repeats.",
                          s->style.ascii ? "+-" : "±", (long long)s->most_repeats);
    assay_sink_put(&s->sink, s->saw_pareto ? " \\*: no other of its group is better in time, size "
                                             "of the weights and accuracy.\n"
                                           : "\n");
}

static void github_end(void *state)
{
    struct state *s = state;
    struct assay_md md;
    assay_md_init(&md, &s->sink, &s->style);
    put_headline(s, &md);
    assay_md_machine(&md, &s->run);
    assay_md_verdict(&md, &s->totals);
    if (s->failures.length || s->failures.failed)
        assay_sink_put(&s->sink, "\n### Failed\n\n");
    put_kept(&s->sink, &s->failures);
    put_kept(&s->sink, &s->tables);
    if (s->rows_left_out || s->lines_left_out)
        assay_sink_format(&s->sink,
                          "\n%lld more rows and %lld more reasons do not fit on this page.\n",
                          (long long)s->rows_left_out, (long long)s->lines_left_out);
    if (s->tally.groups)
        put_legend(s);
    assay_md_totals(&md, &s->totals);
    if (s->gaps.length || s->gaps.failed) {
        assay_sink_put(&s->sink, "\n<details><summary>Not measured</summary>\n\n");
        put_kept(&s->sink, &s->gaps);
        assay_sink_put(&s->sink, "\n</details>\n");
    }
}

static void github_fini(void *state)
{
    struct state *s = state;
    assay_text_fini(&s->tables);
    assay_text_fini(&s->failures);
    assay_text_fini(&s->gaps);
    assay_totals_fini(&s->totals);
}

const struct assay_report_format assay_report_github = {
    .name = "github",
    .merges = true,
    .extension = NULL, /* .md means the format of that name */
    .summary = "Markdown for the summary page of a GitHub job",
    .state_bytes = sizeof(struct state),
    .begin = github_begin,
    .group = github_group,
    .end = github_end,
    .fini = github_fini,
};
