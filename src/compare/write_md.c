/* write_md.c: a comparison as a table in Markdown, for a comment on a pull request: what changed
 * first, what is the same as a number. */
#include "compare/compare.h"

#include "report/report_md.h"
#include "report/report_sink.h"

#include <stdio.h>

static void put_run(struct assay_md *md, const char *which, const struct assay_results *run)
{
    assay_sink_put(&md->sink, which);
    assay_md_text(md, run->source);
    if (run->run.version[0] || run->run.device_name[0]) {
        assay_sink_put(&md->sink, " (");
        if (run->run.version[0]) {
            assay_sink_put(&md->sink, "assay ");
            assay_md_text(md, run->run.version);
        }
        if (run->run.device_name[0]) {
            assay_sink_put(&md->sink, run->run.version[0] ? ", " : "");
            assay_md_text(md, run->run.device_name);
        }
        assay_sink_put(&md->sink, ")");
    }
    assay_sink_put(&md->sink, "  \n");
}

/* Names may come from a repository: no markup of theirs counts. */
static void put_cell(struct assay_md *md, const char *text)
{
    assay_sink_put(&md->sink, " ");
    assay_md_text(md, text);
    assay_sink_put(&md->sink, " |");
}

static void put_time(struct assay_md *md, const struct assay_result *row, int time)
{
    char text[32] = "";
    if (row && row->times[time].there)
        assay_text_time(row->times[time].time.median, text, sizeof text);
    put_cell(md, text);
}

static void put_row(struct assay_md *md, const struct assay_compare_row *row)
{
    char problem[400], variant[200], change[80], verdict[64];
    assay_compare_problem(row, problem, sizeof problem);
    assay_compare_variant(row, variant, sizeof variant);
    assay_compare_change(row, change, sizeof change);
    snprintf(verdict, sizeof verdict, "%s%s", assay_compare_verdict_name(row->verdict),
             row->fails ? ", fails" : "");
    assay_sink_put(&md->sink, "|");
    put_cell(md, problem);
    put_cell(md, variant);
    put_cell(md, assay_result_time_name(row->time));
    put_time(md, row->old_row, row->time);
    put_time(md, row->new_row, row->time);
    put_cell(md, change);
    put_cell(md, verdict);
    put_cell(md, row->note);
    assay_sink_put(&md->sink, "\n");
}

static bool is_quiet(const struct assay_compare_row *row)
{
    return row->verdict == ASSAY_COMPARE_SAME || row->verdict == ASSAY_COMPARE_UNCLEAR;
}

static void put_rows(struct assay_md *md, const struct assay_comparison *c, bool quiet)
{
    for (int64_t i = 0; i < c->n; i++)
        if (is_quiet(&c->rows[i]) == quiet)
            put_row(md, &c->rows[i]);
}

void assay_compare_write_md(const struct assay_comparison *comparison,
                            const struct assay_strings *differences, const struct assay_sink *sink,
                            const struct assay_report_style *style)
{
    struct assay_md md;
    struct assay_text summary = {0};
    assay_md_init(&md, sink, style);
    put_run(&md, "Old: ", comparison->old_run);
    put_run(&md, "New: ", comparison->new_run);
    assay_sink_put(sink, "\n");
    for (int64_t i = 0; i < differences->n; i++) {
        assay_sink_put(sink, "- ");
        assay_md_text(&md, differences->items[i]);
        assay_sink_put(sink, "\n");
    }
    assay_sink_put(sink, differences->n ? "\n" : "");
    assay_compare_summary(comparison, &summary);
    if (summary.failed)
        assay_sink_fail(sink);
    assay_md_text(&md, summary.data ? summary.data : "");
    assay_text_fini(&summary);
    assay_sink_put(sink, ".\n\n| problem | variant | cache | old | new | old / new | | |\n"
                         "| --- | --- | --- | ---: | ---: | --- | --- | --- |\n");
    put_rows(&md, comparison, false);
    put_rows(&md, comparison, true);
}
