#include "report/report_breakeven_text.h"

#include "report/report_sink.h"

#include <string.h>

enum { VARIANT_COLUMNS = 28, INDENT = 2 };

static bool same_heading(const struct assay_breakeven *a, const struct assay_breakeven *b)
{
    return strcmp(assay_breakeven_heading(a).text, assay_breakeven_heading(b).text) == 0;
}

void assay_breakevens_write(struct assay_page *page, const struct assay_breakevens *all)
{
    if (all->failed)
        assay_sink_fail(&page->sink);
    if (all->n == 0)
        return;
    assay_page_flush(page);
    assay_line_put(&page->line, " break-even: from which shape on a recipe pays", page->width,
                   ASSAY_INK_BOLD);
    assay_page_flush(page);
    for (int64_t i = 0; i < all->n; i++) {
        const struct assay_breakeven *item = &all->items[i];
        bool pays = item->from.text[0];
        if (i == 0 || !same_heading(item, item - 1)) {
            assay_line_wrap(&page->line, &page->sink, assay_breakeven_heading(item).text, INDENT,
                            page->width, ASSAY_INK_BOLD);
            assay_page_flush(page);
        }
        assay_line_to(&page->line, INDENT);
        assay_line_left(&page->line, item->variant.text, VARIANT_COLUMNS, ASSAY_INK_PLAIN);
        assay_line_put(&page->line, " ", 1, ASSAY_INK_PLAIN);
        assay_line_wrap(&page->line, &page->sink, assay_breakeven_text(item).text,
                        INDENT + VARIANT_COLUMNS + 1, page->width,
                        pays ? ASSAY_INK_GOOD : ASSAY_INK_PLAIN);
        assay_page_flush(page);
    }
}

static void put_cell(struct assay_md *md, const char *text)
{
    assay_sink_put(&md->sink, " ");
    assay_md_text(md, text);
    assay_sink_put(&md->sink, " |");
}

void assay_md_breakevens(struct assay_md *md, const struct assay_breakevens *all)
{
    if (all->failed)
        assay_sink_fail(&md->sink);
    if (all->n == 0)
        return;
    assay_sink_put(&md->sink, "\n### Break-even\n\n| Of | Recipe | From which shape on it pays |\n"
                              "| --- | --- | --- |\n");
    for (int64_t i = 0; i < all->n; i++) {
        const struct assay_breakeven *item = &all->items[i];
        assay_sink_put(&md->sink, "|");
        put_cell(md, assay_breakeven_heading(item).text);
        put_cell(md, item->variant.text);
        put_cell(md, assay_breakeven_text(item).text);
        assay_sink_put(&md->sink, "\n");
    }
    assay_sink_put(&md->sink, "\nA recipe pays where its speedup's interval lies wholly above 1, "
                              "there and at all larger shapes.\n");
}
