#include "report/html/html_parts.h"

#include "report/draw/draw.h"

enum { SPEEDUP_WIDTH = 40, MOST_ROWS = 400 };

static void put_cell(struct assay_html_out *out, const char *css, const char *text)
{
    assay_text_format(&out->text, css[0] ? "<td class=%s>" : "<td>", css);
    assay_draw_escape(&out->text, text);
}

static void put_count(struct assay_html_out *out, bool known, int64_t count)
{
    if (known)
        assay_text_format(&out->text, "<td>%lld", (long long)count);
    else
        assay_html_put(out, "<td>");
}

static void put_row(struct assay_html_out *out, const struct assay_total_op *op,
                    const struct assay_total *total)
{
    static const char *const css[] = {[ASSAY_VERDICT_FASTER] = "f",
                                      [ASSAY_VERDICT_SLOWER] = "s",
                                      [ASSAY_VERDICT_SAME] = "e",
                                      [ASSAY_VERDICT_UNCLEAR] = "u"};
    struct assay_ratio mean = assay_total_mean(total);
    bool compared = total->best.ratio > 0;
    assay_html_put(out, "<tr><th scope=row>");
    assay_draw_escape(&out->text, assay_total_name(total).text);
    put_cell(out, "l", assay_cache_state_name(total->state));
    put_cell(out, "", assay_total_groups(total).text);
    put_count(out, !total->versus, total->fastest);
    put_cell(out, mean.n ? css[assay_cell_verdict(&mean)] : "b",
             assay_total_speedup(total, SPEEDUP_WIDTH, false).text);
    for (int v = 0; v < ASSAY_VERDICTS; v++)
        put_count(out, compared, total->verdicts[v]);
    put_cell(out, "", compared ? assay_total_best(total).text : "");
    put_cell(out, "l", assay_total_best_group(op, total).text);
    assay_html_put(out, "\n");
}

static void put_missing(struct assay_html_out *out, const struct assay_totals *totals,
                        const struct assay_total_op *op)
{
    const char *before = "<p class=muted>Not in the means: ";
    for (int64_t i = 0; i < op->n; i++) {
        struct assay_cell missing = assay_total_missing(totals, op, i);
        if (!missing.text[0])
            continue;
        assay_html_put(out, before);
        assay_draw_escape(&out->text, missing.text);
        before = "; ";
    }
    assay_html_put(out, before[0] == ';' ? ".</p>\n" : "");
}

static void put_section(struct assay_html_out *out, const struct assay_totals *totals,
                        const struct assay_total_op *op)
{
    static const struct {
        const char *css, *text;
    } headings[] = {
        {"", "variant"},      {" class=l", "cache"}, {"", "groups"},     {"", "▸ in"},
        {"", "mean speedup"}, {"", "faster"},        {"", "slower"},     {"", "same"},
        {"", "unclear"},      {"", "best"},          {" class=l", "of"},
    };
    assay_html_put(out, "<div class=scroll tabindex=0 role=region aria-label=\"Across "
                        "groups\"><table class=sum><caption>");
    assay_draw_escape(&out->text, assay_total_heading(totals, op).text);
    assay_html_put(out, "</caption><thead><tr>");
    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++)
        assay_text_format(&out->text, "<th scope=col%s>%s", headings[i].css, headings[i].text);
    assay_html_put(out, "\n<tbody>\n");
    for (int64_t i = 0; i < op->n; i++)
        if (assay_total_shown(&op->totals[i]))
            put_row(out, op, &op->totals[i]);
    assay_html_put(out, "</table></div>\n");
    put_missing(out, totals, op);
}

void assay_html_put_summary(struct assay_html_out *out, const struct assay_totals *totals,
                            const char *heading)
{
    const struct assay_total_op *op;
    if (!assay_totals_worth(totals))
        return;
    assay_html_element(out, "h3", heading);
    for (int64_t i = 0; (op = assay_totals_section(totals, i, MOST_ROWS)); i++)
        put_section(out, totals, op);
}
