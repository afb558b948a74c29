#include "report/report_totals_md.h"

#include "report/report_sink.h"

#include <stdio.h>

enum {
    SPEEDUP_WIDTH = 40,
    MOST_ROWS = 400, /* a GitHub page has no more than 1 MiB */
};

void assay_md_verdict(struct assay_md *md, const struct assay_totals *totals)
{
    struct assay_text text = {0};
    if (!assay_totals_worth(totals))
        return;
    assay_totals_verdict(totals, &text);
    if (text.failed)
        assay_sink_fail(&md->sink);
    assay_sink_put(&md->sink, "\n");
    assay_md_text(md, text.failed || !text.data ? "" : text.data);
    assay_sink_put(&md->sink, ".\n");
    assay_text_fini(&text);
}

static void put_cell(struct assay_md *md, struct assay_cell cell)
{
    assay_sink_put(&md->sink, " ");
    assay_md_text(md, cell.text);
    assay_sink_put(&md->sink, " |");
}

static void put_count(struct assay_md *md, int64_t count)
{
    assay_sink_format(&md->sink, " %lld |", (long long)count);
}

static void put_row(struct assay_md *md, const struct assay_total_op *op,
                    const struct assay_total *total)
{
    bool compared = total->best.ratio > 0;
    assay_sink_put(&md->sink, "|");
    put_cell(md, assay_total_name(total));
    assay_md_cell(md, assay_cache_state_name(total->state));
    put_cell(md, assay_total_groups(total));
    if (total->versus)
        assay_sink_put(&md->sink, " |");
    else
        put_count(md, total->fastest);
    assay_md_cell(md, assay_total_speedup(total, SPEEDUP_WIDTH, md->style.ascii).text);
    for (int v = 0; v < ASSAY_VERDICTS; v++)
        if (compared)
            put_count(md, total->verdicts[v]);
        else
            assay_sink_put(&md->sink, " |");
    assay_md_cell(md, assay_total_best(total).text);
    put_cell(md, assay_total_best_group(op, total));
    assay_sink_put(&md->sink, "\n");
}

static void put_missing(struct assay_md *md, const struct assay_totals *totals,
                        const struct assay_total_op *op)
{
    bool any = false;
    for (int64_t i = 0; i < op->n; i++) {
        struct assay_cell missing = assay_total_missing(totals, op, i);
        if (!missing.text[0])
            continue;
        assay_sink_put(&md->sink, any ? "; " : "\nNot in the means: ");
        assay_md_text(md, missing.text);
        any = true;
    }
    assay_sink_put(&md->sink, any ? ".\n" : "");
}

static void put_section(struct assay_md *md, const struct assay_totals *totals,
                        const struct assay_total_op *op)
{
    assay_sink_put(&md->sink, "\n### Across groups: ");
    assay_md_text(md, assay_total_heading(totals, op).text);
    assay_sink_put(&md->sink, "\n\n| variant | cache | groups | ");
    assay_md_plain(md, "▸");
    assay_sink_put(&md->sink, " | mean speedup | faster | slower | same | unclear | best | of |\n"
                              "| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- | "
                              "--- |\n");
    for (int64_t i = 0; i < op->n; i++)
        if (assay_total_shown(&op->totals[i]))
            put_row(md, op, &op->totals[i]);
    put_missing(md, totals, op);
}

void assay_md_totals(struct assay_md *md, const struct assay_totals *totals)
{
    const struct assay_total_op *op;
    if (totals->failed)
        assay_sink_fail(&md->sink);
    for (int64_t i = 0; (op = assay_totals_section(totals, i, MOST_ROWS)); i++)
        put_section(md, totals, op);
    if (!assay_totals_worth(totals))
        return;
    assay_sink_put(&md->sink,
                   "\nMean speedup: geometric, over the groups with a ratio; \\[ \\]: its "
                   "95% interval. ");
    assay_md_plain(md, "▸");
    assay_sink_put(&md->sink, ": in how many groups it is the fastest, or not significantly "
                              "slower.\n");
}
