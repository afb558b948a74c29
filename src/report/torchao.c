/* torchao.c: what `assay run` shows: TorchAO's table, for a terminal.
 *
 * One heading for each group and one row for each recipe, the fastest first, with the eager and the
 * compiled model side by side. What is the same for the whole group (name, shape, times of the
 * baseline) stands in its heading, what is the same for the whole run above them all. A row that
 * has no figures says why, across the whole line; where only one of the two has none, a line under
 * the row says why. Columns follow from what is in the group; where they are too wide, intervals
 * are shortened first. */
#include "report/report_cells.h"
#include "report/report_columns.h"
#include "report/report_detail.h"
#include "report/report_pairs.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

enum column {
    QUANTIZATION,
    EAGER,
    EAGER_SPEEDUP,
    COMPILED,
    COMPILED_SPEEDUP,
    VERSUS,
    WEIGHT,
    LEVEL,
    COLUMNS
};

enum {
    PARETO = 2, /* the mark before the recipe, and a blank */
    REASON_AT = 4,
    LONG_SPEEDUP = 30, /* whatever it says, with the interval */
    SHORT_SPEEDUP = 12,
};

/* clang-format off */
static const struct assay_column columns[COLUMNS] = {
    [QUANTIZATION]     = {"Quantization", 0, false, false},
    [EAGER]            = {"Model ms",     8, true,  true},
    [EAGER_SPEEDUP]    = {"Speedup",      0, false, false},
    [COMPILED]         = {"Model ms",     8, true,  true},
    [COMPILED_SPEEDUP] = {"Speedup",      0, false, false},
    [VERSUS]           = {"Speedup",      0, false, false},
    [WEIGHT]           = {"MB",           6, true,  false},
    [LEVEL]            = {"dB",           5, true,  false},
};
static const char *const upper_headings[COLUMNS] = {
    [VERSUS] = "Eager vs Compile",
    [WEIGHT] = "Weight",
    [LEVEL]  = "SQNR",
};
/* clang-format on */

struct state {
    struct assay_sink sink;
    struct assay_report_style style;
    struct assay_line line;
    struct assay_columns columns; /* of the group at hand */
    int check, width;
    struct assay_tally tally;
    struct assay_legend legend;
    bool saw_pareto, saw_interval, saw_same, saw_versus, saw[ASSAY_CACHE_STATES];
};

static void flush(struct state *s) { assay_line_flush(&s->line, &s->sink); }

static void torchao_begin(void *state, const struct assay_sink *sink,
                          const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct state *s = state;
    s->sink = *sink;
    s->style = *style;
    s->check = style->ascii ? 2 : 1;
    assay_line_init(&s->line, style);
    assay_row_machine(run, &s->line, sink, assay_columns_width(style));
    struct assay_flow flow = {&s->line, &s->sink,     0, assay_columns_width(style),
                              false,    ASSAY_INK_DIM};
    assay_flow_item(&flow, "Sparsity: none");
    assay_flow_item(&flow, "Profiler Enabled: no");
    flush(s);
    flush(s);
}

/* ---- speedups ----------------------------------------------------------------------------- */

static struct assay_cell speedup_cell(const struct assay_record *record, int room, bool ascii)
{
    const struct assay_measurement *m = assay_pair_figures(record);
    if (m && !assay_cell_is_baseline(record) && m->has_ratio)
        return assay_cell_interval(&m->ratio, room, ascii);
    struct assay_cell cell = {""};
    if (m)
        assay_cell_add(&cell, "%s", assay_cell_is_baseline(record) ? "baseline" : "-");
    return cell;
}

static struct assay_cell versus_cell(const struct assay_record *compiled, int room, bool ascii)
{
    const struct assay_measurement *m = assay_pair_figures(compiled);
    if (m && m->has_eager_ratio)
        return assay_cell_interval(&m->eager_ratio, room, ascii);
    struct assay_cell cell = {""};
    if (m)
        assay_cell_add(&cell, "-");
    return cell;
}

/* ---- layout ------------------------------------------------------------------------------- */

static struct assay_columns natural_columns(const struct state *s,
                                            const struct assay_record *records, int64_t n)
{
    struct assay_columns c = assay_columns_start(columns, COLUMNS, PARETO - 1 + 1 + s->check);
    bool ascii = s->style.ascii, compiled = assay_pair_has_compiled(records, n);
    assay_columns_widen(&c, QUANTIZATION, columns[QUANTIZATION].heading, ascii);
    assay_columns_widen(&c, EAGER_SPEEDUP, columns[EAGER_SPEEDUP].heading, ascii);
    if (compiled) {
        assay_columns_widen(&c, COMPILED_SPEEDUP, columns[COMPILED_SPEEDUP].heading, ascii);
        assay_columns_widen(&c, VERSUS, upper_headings[VERSUS], ascii);
    }
    struct assay_pair pair = {0};
    while (assay_pair_next(records, n, ASSAY_PAIRS_AS_LISTED, &pair)) {
        assay_columns_widen(&c, QUANTIZATION, assay_pair_label(&pair).text, ascii);
        assay_columns_widen(&c, EAGER_SPEEDUP, speedup_cell(pair.eager, LONG_SPEEDUP, ascii).text,
                            ascii);
        assay_columns_widen(&c, COMPILED_SPEEDUP,
                            speedup_cell(pair.compiled, LONG_SPEEDUP, ascii).text, ascii);
        assay_columns_widen(&c, VERSUS, versus_cell(pair.compiled, LONG_SPEEDUP, ascii).text,
                            ascii);
    }
    c.widths[COMPILED] *= compiled;
    return c;
}

static void choose_layout(struct state *s, const struct assay_record *records, int64_t n)
{
    static const int dispensable[] = {WEIGHT, LEVEL, VERSUS};
    struct assay_columns c = natural_columns(s, records, n);
    int width = assay_columns_room(&s->style);
    assay_columns_cut(&c, QUANTIZATION, 18, width);
    assay_columns_cut(&c, VERSUS, (int)strlen(upper_headings[VERSUS]), width);
    assay_columns_cut(&c, EAGER_SPEEDUP, SHORT_SPEEDUP, width);
    assay_columns_cut(&c, COMPILED_SPEEDUP, SHORT_SPEEDUP, width);
    assay_columns_drop(&c, dispensable, sizeof dispensable / sizeof dispensable[0], width);
    assay_columns_cut(&c, QUANTIZATION, 7, width);
    s->columns = c;
    int total = assay_columns_total(&c), least = assay_columns_width(&s->style);
    s->width = total > least ? total : least; /* reasons and headings take what the terminal has */
}

/* ---- a group's heading -------------------------------------------------------------------- */

static void baseline_item(struct assay_flow *flow, const char *name,
                          const struct assay_record *records, int64_t n,
                          const struct assay_record *record)
{
    const struct assay_measurement *m =
        record ? assay_pair_figures(assay_pair_baseline(records, n, record)) : NULL;
    if (m)
        assay_flow_item(flow, "%s Baseline Inference Time: %s ms", name,
                        assay_cell_milliseconds(m->time.median).text);
}

/* "Name: pow2_0 · Entry: small · Model: ln_linear_gelu · Shape: m=1024 k=1024 n=1024 · bf16 · cpu"
 */
static void write_subject(struct state *s, const struct assay_record *record)
{
    struct assay_flow flow = {&s->line, &s->sink, 0, s->width, false, ASSAY_INK_BOLD};
    if (record->label[0])
        assay_flow_item(&flow, "Name: %s", record->label);
    if (record->entry[0])
        assay_flow_item(&flow, "Entry: %s", record->entry);
    assay_flow_item(&flow, "Model: %s%s%s", assay_cell_subject(record), record->mode[0] ? " " : "",
                    record->mode);
    assay_flow_item(&flow, "Shape: %s", assay_cell_axes(record).text);
    assay_flow_item(&flow, "%s", assay_dtype_name(record->dtype));
    if (record->threads > 0 && assay_record_on_host(record))
        assay_flow_item(&flow, "cpu, %d thread%s", record->threads,
                        record->threads == 1 ? "" : "s");
    else
        assay_flow_item(&flow, "%s", record->device);
    if (record->compile[0])
        assay_flow_item(&flow, "compile: %s", record->compile);
    if (record->interrupted)
        assay_flow_item(&flow, "interrupted");
    flush(s);
}

static void write_heading(struct state *s, const struct assay_record *records, int64_t n)
{
    write_subject(s, &records[0]);
    struct assay_flow flow = {&s->line, &s->sink, 0, s->width, false, ASSAY_INK_DIM};
    struct assay_pair pair = {0}, last = {0};
    while (assay_pair_next(records, n, ASSAY_PAIRS_AS_LISTED, &pair)) {
        last.eager = pair.eager ? pair.eager : last.eager;
        last.compiled = pair.compiled ? pair.compiled : last.compiled;
    }
    baseline_item(&flow, "Eager", records, n, last.eager);
    baseline_item(&flow, "Compile", records, n, last.compiled);
    if (flow.started)
        flush(s);
}

/* "Eager ────────" over a time and its speedup. */
static void write_block_heading(struct state *s, const char *name, enum column time,
                                enum column speedup)
{
    const int *widths = s->columns.widths;
    if (!widths[time])
        return;
    int end = s->line.columns + 1 + widths[time] + 1 + 1 + widths[speedup];
    assay_line_to(&s->line, s->line.columns + 1);
    assay_line_put(&s->line, name, widths[time], ASSAY_INK_BOLD);
    assay_line_put(&s->line, " ", 1, ASSAY_INK_PLAIN);
    assay_line_rule(&s->line, end, ASSAY_INK_DIM);
}

static void write_column_headings(struct state *s)
{
    assay_line_to(&s->line, PARETO - 1);
    assay_columns_put(&s->columns, &s->line, QUANTIZATION, "", ASSAY_INK_DIM);
    write_block_heading(s, "Eager", EAGER, EAGER_SPEEDUP);
    write_block_heading(s, "Compile", COMPILED, COMPILED_SPEEDUP);
    for (int c = VERSUS; c < COLUMNS; c++)
        assay_columns_put(&s->columns, &s->line, c, upper_headings[c], ASSAY_INK_DIM);
    flush(s);
    assay_line_to(&s->line, PARETO - 1);
    for (int c = 0; c < COLUMNS; c++) {
        assay_columns_put(&s->columns, &s->line, c, columns[c].heading, ASSAY_INK_DIM);
        if (s->columns.widths[c] && columns[c].marked)
            assay_line_to(&s->line, s->line.columns + 1);
    }
    flush(s);
}

/* ---- rows --------------------------------------------------------------------------------- */

static void note_speedup(struct state *s, const struct assay_ratio *ratio, const char *text)
{
    s->saw_interval |= strchr(text, '[') != NULL;
    s->saw_same |= assay_cell_ratio_direction(ratio) == 0;
}

/* In the place of a time and a speedup: that there are none. */
static void write_no_block(struct state *s, enum column time, const struct assay_record *record)
{
    const int *widths = s->columns.widths;
    if (!widths[time])
        return;
    int end = s->line.columns + 1 + widths[time] + 1 + 1 + widths[time + 1];
    bool failed = record && record->outcome != ASSAY_OUTCOME_OK;
    bool fine = failed && assay_outcome_is_fine(record->outcome);
    assay_line_to(&s->line, s->line.columns + 1);
    assay_line_left(&s->line, failed && !fine ? "✗" : "", s->check + 1, ASSAY_INK_BAD);
    assay_line_put(&s->line, failed ? assay_cell_outcome(record->outcome).text : "-",
                   end - s->line.columns, failed && !fine ? ASSAY_INK_BAD : ASSAY_INK_DIM);
    assay_line_to(&s->line, end);
}

static void write_block(struct state *s, enum column time, const struct assay_record *record)
{
    const struct assay_measurement *m = assay_pair_figures(record);
    if (!m) {
        write_no_block(s, time, record);
        return;
    }
    assay_columns_time(&s->columns, &s->line, time, m, assay_cell_milliseconds(m->time.median).text,
                       &s->legend);
    struct assay_cell speedup = speedup_cell(record, s->columns.widths[time + 1], s->style.ascii);
    assay_columns_put(&s->columns, &s->line, time + 1, speedup.text,
                      assay_row_speedup_ink(record, m));
    if (m->has_ratio)
        note_speedup(s, &m->ratio, speedup.text);
    s->saw[m == &record->states[ASSAY_CACHE_HOT] ? ASSAY_CACHE_HOT : ASSAY_CACHE_COLD] = true;
}

static void write_versus(struct state *s, const struct assay_record *compiled)
{
    if (!s->columns.widths[VERSUS])
        return;
    const struct assay_measurement *m = assay_pair_figures(compiled);
    struct assay_cell cell = versus_cell(compiled, s->columns.widths[VERSUS], s->style.ascii);
    int direction = m && m->has_eager_ratio ? assay_cell_ratio_direction(&m->eager_ratio) : 0;
    assay_columns_put(&s->columns, &s->line, VERSUS, cell.text,
                      direction > 0   ? ASSAY_INK_GOOD
                      : direction < 0 ? ASSAY_INK_WARN
                                      : ASSAY_INK_DIM);
    if (m && m->has_eager_ratio)
        note_speedup(s, &m->eager_ratio, cell.text);
    s->saw_versus = true;
}

static bool is_checked(const struct assay_record *record)
{
    return !assay_pair_figures(record) || record->verification.done;
}

static void write_figures(struct state *s, const struct assay_pair *pair)
{
    const struct assay_record *record = assay_pair_shown(pair);
    write_block(s, EAGER, pair->eager);
    write_block(s, COMPILED, pair->compiled);
    write_versus(s, pair->compiled);
    assay_columns_put(&s->columns, &s->line, WEIGHT,
                      assay_cell_megabytes(record->weight_bytes).text, ASSAY_INK_PLAIN);
    assay_columns_put(&s->columns, &s->line, LEVEL, assay_cell_level(record->accuracy_db).text,
                      ASSAY_INK_PLAIN);
    s->legend.weights |= s->columns.widths[WEIGHT] > 0;
    s->legend.levels |= s->columns.widths[LEVEL] > 0;
    assay_line_to(&s->line, s->line.columns + 1);
    assay_line_put(&s->line, is_checked(pair->eager) && is_checked(pair->compiled) ? "✓" : "-",
                   s->check, ASSAY_INK_GOOD);
}

static void write_no_figures(struct state *s, const struct assay_record *record)
{
    assay_line_to(&s->line, s->line.columns + 1);
    if (record->outcome != ASSAY_OUTCOME_OK)
        assay_row_reason(&s->line, record, s->check + 1, s->width);
    else if (record->verification.done)
        assay_row_check(&s->line, record, s->check + 1, s->width);
    else
        assay_line_put(&s->line, "-", 1, ASSAY_INK_DIM);
}

/* Under the row: why one of the two has no figures. */
static void write_reason(struct state *s, const struct assay_record *record)
{
    if (!record || record->outcome == ASSAY_OUTCOME_OK)
        return;
    assay_line_to(&s->line, REASON_AT);
    assay_line_put(&s->line, record->implementation, s->width - REASON_AT, ASSAY_INK_DIM);
    assay_line_put(&s->line, " ", 1, ASSAY_INK_PLAIN);
    assay_row_reason(&s->line, record, assay_outcome_is_fine(record->outcome) ? 0 : s->check + 1,
                     s->width);
    flush(s);
}

static bool same_reason(const struct assay_record *a, const struct assay_record *b)
{
    return a->outcome == b->outcome && strcmp(a->reason, b->reason) == 0;
}

static void write_row(struct state *s, const struct assay_pair *pair)
{
    const struct assay_record *one = assay_pair_any(pair);
    bool timed = assay_pair_figures(pair->eager) || assay_pair_figures(pair->compiled);
    bool alike = !pair->compiled || !pair->eager || same_reason(pair->eager, pair->compiled);
    bool across = !timed && alike; /* the whole line says why */
    assay_line_left(&s->line, assay_pair_is_pareto(pair) ? "*" : "", PARETO - 1, ASSAY_INK_BEST);
    s->saw_pareto |= assay_pair_is_pareto(pair);
    assay_columns_put(&s->columns, &s->line, QUANTIZATION, assay_pair_label(pair).text,
                      timed ? ASSAY_INK_PLAIN : ASSAY_INK_DIM);
    if (across)
        write_no_figures(s, one);
    else
        write_figures(s, pair);
    flush(s);
    if (!across) {
        write_reason(s, pair->eager);
        write_reason(s, pair->compiled);
    }
    if (s->style.verbose && pair->eager)
        assay_detail_write(pair->eager, &s->line, &s->sink, s->width);
    if (s->style.verbose && pair->compiled)
        assay_detail_write(pair->compiled, &s->line, &s->sink, s->width);
}

/* One record says of all variants why they were not measured. */
static bool is_whole_group(const struct assay_record *records, int64_t n)
{
    return n == 1 && !records[0].kernel[0] && records[0].outcome != ASSAY_OUTCOME_OK;
}

static void torchao_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    if (s->tally.groups)
        flush(s);
    assay_tally_add(&s->tally, records, n);
    choose_layout(s, records, n);
    write_heading(s, records, n);
    if (!is_whole_group(records, n))
        write_column_headings(s);
    struct assay_pair pair = {0};
    while (assay_pair_next(records, n, ASSAY_PAIRS_BY_TIME, &pair))
        write_row(s, &pair);
    assay_row_warnings(records, n, &s->line, &s->sink, s->width);
    s->legend.interrupted |= records[0].interrupted;
}

/* ---- the end ------------------------------------------------------------------------------ */

static void write_legend(struct state *s)
{
    struct assay_flow flow = {&s->line, &s->sink,     0, assay_columns_width(&s->style),
                              false,    ASSAY_INK_DIM};
    if (s->saw_pareto)
        assay_flow_item(&flow, "* no other is better in time, size of the weights and accuracy");
    assay_legend_marks(&s->legend, &flow);
    if (s->saw[ASSAY_CACHE_HOT] || s->saw[ASSAY_CACHE_COLD])
        assay_flow_item(&flow, "Model ms: median of the inference time, caches %s",
                        !s->saw[ASSAY_CACHE_COLD]  ? "hot"
                        : !s->saw[ASSAY_CACHE_HOT] ? "cold"
                                                   : "hot where measured, else cold");
    if (s->saw_interval)
        assay_flow_item(&flow, "[ ] 95%% interval of the speedup");
    if (s->saw_same)
        assay_flow_item(&flow, "same, unclear: no significant difference");
    if (s->saw_versus)
        assay_flow_item(&flow, "Eager vs Compile: how much faster the compiled model is");
    if (s->legend.weights)
        assay_flow_item(&flow, "Weight MB: 10^6 bytes of weights as stored");
    if (s->legend.levels)
        assay_flow_item(&flow, "SQNR dB: against the answer without quantising");
    if (flow.started)
        flush(s);
}

static void torchao_end(void *state)
{
    struct state *s = state;
    if (s->tally.groups)
        flush(s);
    assay_tally_write(&s->tally, &s->line, &s->sink, assay_columns_width(&s->style));
    write_legend(s);
}

const struct assay_report_format assay_report_torchao = {
    .name = "torchao",
    .extension = NULL,
    .summary = "recipes of each model and shape, eager and compiled, fastest first",
    .state_bytes = sizeof(struct state),
    .begin = torchao_begin,
    .group = torchao_group,
    .end = torchao_end,
};
