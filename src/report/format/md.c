/* md.c: Markdown as GitHub reads it: a line about the machine, then one table for each op and mode,
 * or, where variants differ in a recipe, one for each group. */
#include "report/report_cells.h"
#include "report/report_breakeven_text.h"
#include "report/report_md.h"
#include "report/report_recipes.h"
#include "report/report_sink.h"
#include "report/report_totals_md.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

struct state {
    struct assay_md md;
    bool shown[ASSAY_CACHE_STATES];
    char op[64], mode[32]; /* of the table that is open; no op: none is */
    bool saw_pareto;
    struct assay_totals totals;
    struct assay_breakevens breakevens;
};

enum { SPEEDUP_ROOM = 40 };

static void md_begin(void *state, const struct assay_sink *sink,
                     const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct state *s = state;
    assay_md_init(&s->md, sink, style);
    bool either = run->hot || run->cold;
    s->shown[ASSAY_CACHE_HOT] = run->hot || !either;
    s->shown[ASSAY_CACHE_COLD] = run->cold || !either;
    assay_md_machine(&s->md, run);
}

static void put_title(struct state *s, const struct assay_record *record)
{
    assay_sink_put(&s->md.sink, "\n### ");
    assay_md_text(&s->md, record->title[0] ? record->title : assay_cell_subject(record));
    assay_sink_put(&s->md.sink, record->mode[0] ? " " : "");
    assay_md_text(&s->md, record->mode);
}

static void open_table(struct state *s, const struct assay_record *record)
{
    memcpy(s->op, record->op, sizeof s->op);
    memcpy(s->mode, record->mode, sizeof s->mode);
    put_title(s, record);
    assay_sink_put(&s->md.sink, "\n\n| shape | type | implementation |");
    for (int c = 0; c < ASSAY_CACHE_STATES; c++) {
        if (!s->shown[c])
            continue;
        assay_md_cell(&s->md, assay_cache_state_name((enum assay_cache_state)c));
        assay_md_cell(&s->md, "±");
        assay_sink_put(&s->md.sink, " speedup | rate | ceiling |");
    }
    assay_sink_put(&s->md.sink, " result |\n| --- | --- | --- |");
    for (int c = 0; c < ASSAY_CACHE_STATES; c++)
        if (s->shown[c])
            assay_sink_put(&s->md.sink, " ---: | ---: | --- | ---: | ---: |");
    assay_sink_put(&s->md.sink, " --- |\n");
}

static void put_efficiency(struct state *s, const struct assay_measurement *m)
{
    char text[64];
    bool named = m->ceiling_ns > 0 && m->bound[0];
    snprintf(text, sizeof text, "%.16s%s%s", assay_cell_efficiency(m).text, named ? " of " : "",
             named ? m->bound : "");
    assay_md_cell(&s->md, text);
}

/* The time, bold where none is faster, and how sure it is. */
static void put_time(struct state *s, const struct assay_measurement *m)
{
    char time[160];
    const char *bold = m->fastest ? "**" : "";
    snprintf(time, sizeof time, "%s%s%s", bold, assay_cell_time(m->time.median).text, bold);
    assay_md_cell(&s->md, time);
    char spread[160];
    const char *mark = !m->precise ? " !" : assay_cell_disturbed(m) ? " ~" : "";
    snprintf(spread, sizeof spread, "%s%s", assay_cell_spread(m).text, mark);
    assay_md_cell(&s->md, spread);
}

static void put_measurement(struct state *s, const struct assay_record *record,
                            const struct assay_measurement *m)
{
    if (!m->measured || record->outcome != ASSAY_OUTCOME_OK) {
        assay_sink_put(&s->md.sink, " | | | | |");
        return;
    }
    put_time(s, m);
    assay_md_cell(&s->md, assay_cell_speedup(record, m, SPEEDUP_ROOM, s->md.style.ascii).text);
    assay_md_cell(&s->md, assay_cell_rate(m, true).text);
    put_efficiency(s, m);
}

static void put_result(struct state *s, const struct assay_record *record)
{
    if (record->outcome == ASSAY_OUTCOME_OK) {
        assay_md_cell(&s->md, record->verification.done ? "✓" : "not checked");
    } else {
        assay_sink_format(&s->md.sink, " %s%s", assay_cell_outcome(record->outcome).text,
                          record->reason[0] ? ": " : "");
        assay_md_text(&s->md, record->reason);
        assay_sink_put(&s->md.sink, " |");
    }
    assay_sink_put(&s->md.sink, "\n");
}

/* ---- variants that differ in a recipe ------------------------------------------------------ */

/* "### Linear bias+gelu: m=16384 k=8192 n=1280, bf16, llama_attn.wqkv" and the columns. */
static void open_recipes(struct state *s, const struct assay_record *record)
{
    s->op[0] = '\0'; /* the next group opens its own */
    put_title(s, record);
    assay_sink_format(&s->md.sink, ": %s, %s%s", assay_cell_axes(record).text,
                      assay_dtype_name(record->dtype), record->label[0] ? ", " : "");
    assay_md_text(&s->md, record->label);
    assay_sink_put(&s->md.sink, "\n\n| recipe | implementation | kernel |");
    for (int c = 0; c < ASSAY_CACHE_STATES; c++)
        if (s->shown[c]) {
            assay_md_cell(&s->md, assay_cache_state_name((enum assay_cache_state)c));
            assay_md_cell(&s->md, "±");
        }
    assay_sink_put(&s->md.sink,
                   " speedup | rate | ceiling | weights MB | SQNR dB | quantise | act | "
                   "result |\n| --- | --- | --- |");
    for (int c = 0; c < ASSAY_CACHE_STATES; c++)
        if (s->shown[c])
            assay_sink_put(&s->md.sink, " ---: | ---: |");
    assay_sink_put(&s->md.sink, " --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
}

static void put_recipe_figures(struct state *s, const struct assay_record *record)
{
    const struct assay_measurement *m = assay_recipes_state(record, s->shown);
    bool ok = record->outcome == ASSAY_OUTCOME_OK && m;
    for (int c = 0; c < ASSAY_CACHE_STATES; c++) {
        if (s->shown[c] && ok && record->states[c].measured)
            put_time(s, &record->states[c]);
        else if (s->shown[c])
            assay_sink_put(&s->md.sink, " | |");
    }
    if (!ok) {
        assay_sink_put(&s->md.sink, " | | | | | | |");
        return;
    }
    assay_md_cell(&s->md, assay_cell_speedup(record, m, SPEEDUP_ROOM, s->md.style.ascii).text);
    assay_md_cell(&s->md, assay_cell_weight_rate(record, m).text);
    put_efficiency(s, m);
    assay_md_cell(&s->md, assay_cell_megabytes(record->weight_bytes).text);
    assay_md_cell(&s->md, assay_cell_level(record->accuracy_db).text);
    assay_md_cell(&s->md, record->prepare_ns > 0 ? assay_cell_time(record->prepare_ns).text : "-");
    assay_md_cell(&s->md, assay_cell_share(record->activation_share).text);
}

static void put_recipe_row(struct state *s, const struct assay_record *record)
{
    assay_sink_put(&s->md.sink, "| ");
    assay_md_text(&s->md, record->recipe);
    assay_sink_put(&s->md.sink, record->pareto ? " \\* | " : " | ");
    s->saw_pareto |= record->pareto;
    assay_md_text(&s->md, record->implementation);
    assay_sink_put(&s->md.sink, " | ");
    assay_md_text(&s->md, record->kernel);
    assay_sink_put(&s->md.sink, " |");
    put_recipe_figures(s, record);
    put_result(s, record);
}

static void put_notes(struct state *s, const struct assay_record *records, int64_t n)
{
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        if (!records[i].note[0] || !assay_recipes_first_note(records, i))
            continue;
        assay_sink_put(&s->md.sink, any ? "; " : "\n");
        assay_md_text(&s->md, records[i].kernel);
        assay_sink_put(&s->md.sink, ": ");
        assay_md_text(&s->md, records[i].note);
        any = true;
    }
    assay_sink_put(&s->md.sink, any ? "\n" : "");
}

/* ---- all ---------------------------------------------------------------------------------- */

static void md_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    assay_totals_add(&s->totals, records, n);
    assay_breakevens_add(&s->breakevens, records, n);
    if (assay_recipes_has(records, n)) {
        open_recipes(s, &records[0]);
        for (int64_t i = 0; i < n; i++)
            put_recipe_row(s, &records[i]);
        put_notes(s, records, n);
        return;
    }
    if (strcmp(s->op, records[0].op) != 0 || strcmp(s->mode, records[0].mode) != 0)
        open_table(s, &records[0]);
    for (int64_t i = 0; i < n; i++) {
        const struct assay_record *record = &records[i];
        assay_sink_format(&s->md.sink, "| %s | %s | ",
                          record->n_axes > 0 ? assay_cell_shape(record).text : "-",
                          assay_dtype_name(record->dtype));
        assay_md_text(&s->md, assay_cell_variant(record, records, n));
        assay_sink_put(&s->md.sink, " |");
        for (int c = 0; c < ASSAY_CACHE_STATES; c++)
            if (s->shown[c])
                put_measurement(s, record, &record->states[c]);
        put_result(s, record);
    }
}

static void md_end(void *state)
{
    struct state *s = state;
    assay_md_verdict(&s->md, &s->totals);
    assay_sink_put(&s->md.sink,
                   "\nBold: fastest in its group, or not significantly slower. \\[ \\]: "
                   "95% interval of the speedup.");
    assay_sink_put(&s->md.sink,
                   " !: did not reach --precision. ~: over 5% of samples disturbed.\n");
    if (s->saw_pareto)
        assay_sink_put(&s->md.sink,
                       "\\*: no other of its group is better in time, size of the weights "
                       "and accuracy. Rates in GB/s are of weights.\n");
    assay_md_totals(&s->md, &s->totals);
    assay_breakevens_find(&s->breakevens);
    assay_md_breakevens(&s->md, &s->breakevens);
}

static void md_fini(void *state)
{
    struct state *s = state;
    assay_totals_fini(&s->totals);
    assay_breakevens_fini(&s->breakevens);
}

const struct assay_report_format assay_report_md = {
    .name = "md",
    .extension = "md",
    .summary = "Markdown tables, one for each op",
    .state_bytes = sizeof(struct state),
    .begin = md_begin,
    .group = md_group,
    .end = md_end,
    .fini = md_fini,
};
