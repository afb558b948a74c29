/* md.c: Markdown as GitHub reads it: a line about the machine, then one table for each op. */
#include "report/report_cells.h"
#include "report/report_line.h"
#include "report/report_sink.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

struct state {
    struct assay_sink sink;
    struct assay_report_style style;
    bool shown[ASSAY_CACHE_STATES];
    char op[32]; /* of the table that is open */
    struct assay_line line;
};

enum { ANY_WIDTH = 2048, SPEEDUP_ROOM = 24 };

static void put_plain(struct state *s, const char *text)
{
    assay_line_put(&s->line, text, ANY_WIDTH, ASSAY_INK_PLAIN);
    if (s->line.length)
        s->sink.write(s->sink.user, s->line.bytes, s->line.length);
    assay_line_init(&s->line, &s->style);
}

/* Text from elsewhere, so that Markdown takes none of it as markup. */
static void put_text(struct state *s, const char *text)
{
    static const char special[] = "|\\`*_<>[]#~";
    char escaped[1024];
    size_t length = 0;
    for (; *text && length + 2 < sizeof escaped; text++) {
        if (strchr(special, *text))
            escaped[length++] = '\\';
        escaped[length++] = *text;
    }
    escaped[length] = '\0';
    put_plain(s, escaped);
}

static void put_cell(struct state *s, const char *text)
{
    assay_sink_put(&s->sink, " ");
    put_plain(s, text);
    assay_sink_put(&s->sink, " |");
}

static void md_begin(void *state, const struct assay_sink *sink,
                     const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct state *s = state;
    s->sink = *sink;
    s->style = *style;
    s->style.colour = false;
    bool either = run->hot || run->cold;
    s->shown[ASSAY_CACHE_HOT] = run->hot || !either;
    s->shown[ASSAY_CACHE_COLD] = run->cold || !either;
    assay_line_init(&s->line, &s->style);
    assay_sink_put(sink, "assay ");
    put_text(s, run->version);
    assay_sink_put(sink, " on ");
    put_text(s, run->device_name[0] ? run->device_name : run->device);
    if (run->threads > 0)
        assay_sink_format(sink, ", %d thread%s", run->threads, run->threads == 1 ? "" : "s");
    if (run->copy_bytes_per_s > 0)
        assay_sink_format(sink, ", memory ceiling %.1f GB/s", run->copy_bytes_per_s / 1e9);
    assay_sink_put(sink, "\n");
}

static void open_table(struct state *s, const struct assay_record *record)
{
    memcpy(s->op, record->op, sizeof s->op);
    assay_sink_put(&s->sink, "\n### ");
    put_text(s, record->title[0] ? record->title : record->op);
    assay_sink_put(&s->sink, "\n\n| shape | type | implementation |");
    for (int c = 0; c < ASSAY_CACHE_STATES; c++) {
        if (!s->shown[c])
            continue;
        put_cell(s, assay_cache_state_name((enum assay_cache_state)c));
        put_cell(s, "±");
        assay_sink_put(&s->sink, " speedup | rate | ceiling |");
    }
    assay_sink_put(&s->sink, " result |\n| --- | --- | --- |");
    for (int c = 0; c < ASSAY_CACHE_STATES; c++)
        if (s->shown[c])
            assay_sink_put(&s->sink, " ---: | ---: | --- | ---: | ---: |");
    assay_sink_put(&s->sink, " --- |\n");
}

static void put_efficiency(struct state *s, const struct assay_measurement *m)
{
    char text[64];
    bool named = m->ceiling_ns > 0 && m->bound[0];
    snprintf(text, sizeof text, "%.16s%s%s", assay_cell_efficiency(m).text, named ? " of " : "",
             named ? m->bound : "");
    put_cell(s, text);
}

static void put_measurement(struct state *s, const struct assay_record *record,
                            const struct assay_measurement *m)
{
    if (!m->measured || record->outcome != ASSAY_OUTCOME_OK) {
        assay_sink_put(&s->sink, " | | | | |");
        return;
    }
    char time[160];
    const char *bold = m->fastest ? "**" : "";
    snprintf(time, sizeof time, "%s%s%s", bold, assay_cell_time(m->time.median).text, bold);
    put_cell(s, time);
    char spread[160];
    const char *mark = !m->precise ? " !" : assay_cell_disturbed(m) ? " ~" : "";
    snprintf(spread, sizeof spread, "%s%s", assay_cell_spread(m).text, mark);
    put_cell(s, spread);
    put_cell(s, assay_cell_speedup(record, m, SPEEDUP_ROOM, s->style.ascii).text);
    put_cell(s, assay_cell_rate(m, true).text);
    put_efficiency(s, m);
}

static void put_result(struct state *s, const struct assay_record *record)
{
    if (record->outcome == ASSAY_OUTCOME_OK) {
        put_cell(s, record->verification.done ? "✓" : "not checked");
    } else {
        assay_sink_format(&s->sink, " %s%s", assay_cell_outcome(record->outcome).text,
                          record->reason[0] ? ": " : "");
        put_text(s, record->reason);
        assay_sink_put(&s->sink, " |");
    }
    assay_sink_put(&s->sink, "\n");
}

static void md_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    if (strcmp(s->op, records[0].op) != 0)
        open_table(s, &records[0]);
    for (int64_t i = 0; i < n; i++) {
        const struct assay_record *record = &records[i];
        assay_sink_format(&s->sink, "| %s | %s | ", assay_cell_shape(record).text,
                          assay_dtype_name(record->dtype));
        put_text(s, record->implementation);
        assay_sink_put(&s->sink, " |");
        for (int c = 0; c < ASSAY_CACHE_STATES; c++)
            if (s->shown[c])
                put_measurement(s, record, &record->states[c]);
        put_result(s, record);
    }
}

static void md_end(void *state)
{
    struct state *s = state;
    assay_sink_put(&s->sink, "\nBold: none is significantly faster in its group.");
    assay_sink_put(
        &s->sink,
        " !: interval wider than the precision asked for. ~: over 5% of samples disturbed.\n");
}

const struct assay_report_format assay_report_md = {
    .name = "md",
    .extension = "md",
    .summary = "Markdown tables, one for each op",
    .state_bytes = sizeof(struct state),
    .begin = md_begin,
    .group = md_group,
    .end = md_end,
};
