#include "report/report_row.h"

#include "report/report_cells.h"

#include <stdio.h>
#include <string.h>

const char *assay_row_mark(const struct assay_measurement *m, struct assay_legend *legend)
{
    bool disturbed = assay_cell_disturbed(m);
    legend->imprecise |= !m->precise;
    legend->disturbed |= m->precise && disturbed;
    return !m->precise ? "!" : disturbed ? "~" : "";
}

enum assay_line_ink assay_row_speedup_ink(const struct assay_record *record,
                                          const struct assay_measurement *m)
{
    int direction = assay_cell_direction(m);
    if (assay_cell_is_baseline(record) || direction == 0)
        return ASSAY_INK_DIM;
    return direction > 0 ? ASSAY_INK_GOOD : ASSAY_INK_WARN;
}

int assay_row_reason(struct assay_line *line, const struct assay_sink *sink,
                     const struct assay_record *record, int mark, int width)
{
    bool fine = assay_outcome_is_fine(record->outcome);
    enum assay_line_ink ink = fine ? ASSAY_INK_DIM : ASSAY_INK_BAD;
    assay_line_left(line, fine ? "" : "✗", mark, ink);
    char text[sizeof(struct assay_cell) + sizeof record->reason + 2];
    snprintf(text, sizeof text, "%s%s%s", assay_cell_outcome(record->outcome).text,
             record->reason[0] ? ": " : "", record->reason);
    return assay_line_wrap(line, sink, text, line->columns, width, ink);
}

int assay_row_check(struct assay_line *line, const struct assay_sink *sink,
                    const struct assay_record *record, int mark, int width)
{
    const struct assay_verification *v = &record->verification;
    assay_line_left(line, "✓", mark, ASSAY_INK_GOOD);
    char text[160];
    snprintf(text, sizeof text, "right: max abs %.2g, max rel %.2g, %lld of %lld elements compared",
             v->max_abs, v->max_rel, (long long)v->compared, (long long)v->of);
    return assay_line_wrap(line, sink, text, line->columns, width, ASSAY_INK_PLAIN);
}

/* The measurement in this state whose probes were the slowest, relative to their best ever. */
static const struct assay_measurement *slowest_probe(const struct assay_record *records, int64_t n,
                                                     enum assay_cache_state state)
{
    const struct assay_measurement *slowest = NULL;
    for (int64_t i = 0; i < n; i++) {
        const struct assay_measurement *m = &records[i].states[state];
        if (m->measured && m->machine_frac > 0 &&
            (!slowest || m->machine_frac < slowest->machine_frac))
            slowest = m;
    }
    return slowest;
}

/* How many lines it took. */
static int warning(struct assay_line *line, const struct assay_sink *sink, int width,
                   const char *text)
{
    assay_line_to(line, 1);
    int lines = assay_line_wrap(line, sink, text, 3, width, ASSAY_INK_WARN) + 1;
    assay_line_flush(line, sink);
    return lines;
}

/* What is not known of a stranger's row, or not ours. */
static int stranger_warnings(const struct assay_record *record, struct assay_line *line,
                             const struct assay_sink *sink, int width)
{
    const struct assay_verification *v = &record->verification;
    char text[160];
    int lines = 0;
    if (strcmp(record->confined, ASSAY_NOT_ISOLATED) == 0) {
        snprintf(text, sizeof text, "%s: nothing was isolated (--in-process)",
                 record->implementation);
        lines += warning(line, sink, width, text);
    }
    if (record->not_asked && record->outcome == ASSAY_OUTCOME_OK) {
        snprintf(text, sizeof text,
                 "%s: not checked whether it computes every call: too slow, large or disturbed",
                 record->implementation);
        lines += warning(line, sink, width, text);
    }
    if (v->author_tolerance && v->done) {
        snprintf(text, sizeof text, "%s: its author allows %.2g%% and %.2g", record->implementation,
                 100 * v->tolerance_relative, v->tolerance_absolute);
        lines += warning(line, sink, width, text);
    }
    return lines;
}

int assay_row_warnings(const struct assay_record *records, int64_t n, struct assay_line *line,
                       const struct assay_sink *sink, int width)
{
    static const double slow_machine = 0.9, too_many = 0.25;
    char text[160];
    int lines = 0;
    for (int64_t i = 0; i < n; i++)
        lines += stranger_warnings(&records[i], line, sink, width);
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        const char *name = assay_cache_state_name((enum assay_cache_state)s);
        const struct assay_measurement *slowest =
            slowest_probe(records, n, (enum assay_cache_state)s);
        if (slowest && slowest->machine_frac < slow_machine) {
            snprintf(text, sizeof text, "%s: machine at %.0f%% of its best (%s)", name,
                     100 * slowest->machine_frac, slowest->bound);
            lines += warning(line, sink, width, text);
        }
        for (int64_t i = 0; i < n; i++) {
            const struct assay_measurement *m = &records[i].states[s];
            if (!m->measured || (double)m->disturbed <= too_many * (double)m->time.n)
                continue;
            const char *recipe = records[i].recipe;
            snprintf(text, sizeof text,
                     "%s: %.0f%% of the samples of %s%s%s were disturbed: look at -v", name,
                     100 * (double)m->disturbed / (double)m->time.n,
                     assay_cell_variant(&records[i], records, n), recipe[0] ? " " : "", recipe);
            lines += warning(line, sink, width, text);
        }
    }
    return lines;
}

void assay_legend_marks(const struct assay_legend *legend, struct assay_flow *flow)
{
    if (legend->fastest)
        assay_flow_item(flow, "▸ fastest, or not significantly slower");
    if (legend->spread)
        assay_flow_item(flow, "± 95%% interval of the median");
    if (legend->interval)
        assay_flow_item(flow, "[ ] 95%% interval of the speedup");
    if (legend->mean)
        assay_flow_item(flow, "mean speedup: geometric");
    if (legend->imprecise)
        assay_flow_item(flow, "! did not reach --precision");
    if (legend->disturbed)
        assay_flow_item(flow, "~ over 5%% of samples disturbed");
    if (legend->flops)
        assay_flow_item(flow, "GF TF: FLOP/s where compute binds");
    if (legend->host)
        assay_flow_item(flow, "host: what the caller waits for, to launch one call");
    if (legend->interrupted)
        assay_flow_item(flow, "interrupted: fewer samples than planned");
}

void assay_tally_add(struct assay_tally *tally, const struct assay_record *records, int64_t n)
{
    tally->groups++;
    tally->rows += n;
    for (int64_t i = 0; i < n; i++)
        if ((unsigned)records[i].outcome < ASSAY_OUTCOME_COUNT)
            tally->outcomes[records[i].outcome]++;
}

/* Continues on the next line what does not fit on this one. */
static void put_wrapped(struct assay_line *line, const struct assay_sink *sink, int width,
                        const char *text, enum assay_line_ink ink)
{
    int left = width - line->columns - 1; /* a comma follows */
    if (assay_line_columns_of(text, line->ascii) > left) {
        assay_line_flush(line, sink);
        assay_line_to(line, 1);
    }
    assay_line_put(line, text, width - line->columns, ink);
}

void assay_tally_write(const struct assay_tally *tally, struct assay_line *line,
                       const struct assay_sink *sink, int width)
{
    char text[256];
    snprintf(text, sizeof text, "%lld row%s in %lld group%s", (long long)tally->rows,
             tally->rows == 1 ? "" : "s", (long long)tally->groups, tally->groups == 1 ? "" : "s");
    put_wrapped(line, sink, width, text, ASSAY_INK_BOLD);
    const char *separator = ":";
    for (int o = 0; o < ASSAY_OUTCOME_COUNT; o++) {
        if (!tally->outcomes[o])
            continue;
        assay_line_put(line, separator, 1, ASSAY_INK_BOLD);
        snprintf(text, sizeof text, " %lld %s", (long long)tally->outcomes[o],
                 assay_cell_outcome((enum assay_outcome)o).text);
        put_wrapped(line, sink, width, text,
                    assay_outcome_is_fine((enum assay_outcome)o) ? ASSAY_INK_BOLD : ASSAY_INK_BAD);
        separator = ",";
    }
    assay_line_flush(line, sink);
}

void assay_row_machine(const struct assay_run_info *run, struct assay_line *line,
                       const struct assay_sink *sink, int width)
{
    struct assay_flow flow = {line, sink, 0, width, false, ASSAY_INK_PLAIN};
    assay_flow_item(&flow, "assay %s", run->version);
    const char *device = run->device_name[0] ? run->device_name : run->device;
    if (device[0])
        assay_flow_item(&flow, "%s", device);
    if (run->threads > 0 && assay_run_on_host(run))
        assay_flow_item(&flow, "%d thread%s", run->threads, run->threads == 1 ? "" : "s");
    if (run->copy_bytes_per_s > 0)
        assay_flow_item(&flow, "memory ceiling %.1f GB/s (copy)", run->copy_bytes_per_s / 1e9);
    assay_line_flush(line, sink);
}
