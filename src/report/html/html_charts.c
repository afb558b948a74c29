/* html_charts.c: the charts of a page.
 *
 * Their colours are variables of the page's style sheet, so that they follow its light and its dark
 * look. The button that the script adds saves one as a file with the colours as they are; so does
 * the command in the caption, without a browser. */
#include "report/html/html_parts.h"

#include "report/chart/chart.h"

#include <ctype.h>
#include <string.h>

/* Charts that only show something are there where none fits well; those of a row's samples are
 * drawn by the script, for the row that is opened. */
enum { MOST_CHARTS = 8, MOST_BYTES = 400000, WELL = 2 * ASSAY_CHART_POSSIBLE };

struct chosen {
    const struct assay_chart *chart;
    int fit;
};

/* The best first; of those that fit equally well the first of the registry. */
static int choose(struct assay_html_out *out, const struct assay_book *book,
                  struct chosen chosen[MOST_CHARTS])
{
    static const struct assay_chart_request any = {.x = NULL};
    int n = 0;
    for (int64_t i = 0; i < assay_chart_count(); i++) {
        char why[ASSAY_CHART_WHY] = "";
        struct chosen next = {.chart = assay_chart_at(i)};
        next.fit = next.chart->fits(book, &any, why, sizeof why);
        if (next.fit < ASSAY_CHART_POSSIBLE) {
            out->text.failed |= strcmp(why, ASSAY_CHART_NO_MEMORY) == 0;
            continue;
        }
        int at = n < MOST_CHARTS ? n++ : MOST_CHARTS;
        for (; at > 0 && chosen[at - 1].fit < next.fit; at--)
            if (at < MOST_CHARTS)
                chosen[at] = chosen[at - 1];
        if (at < MOST_CHARTS)
            chosen[at] = next;
    }
    while (n > 1 && chosen[n - 1].fit < WELL)
        n--;
    return n;
}

/* Gives the bytes that it took. */
static size_t put_chart(struct assay_html_out *out, const struct assay_book *book,
                        const struct assay_chart *chart, size_t space)
{
    static const struct assay_chart_request any = {.x = NULL};
    struct assay_drawing drawing;
    struct assay_text svg = {0};
    assay_draw_begin(&drawing, ASSAY_DRAW_PAGE, ASSAY_CHART_WIDTH);
    chart->draw(book, &any, &drawing);
    assay_draw_svg(&drawing, chart->name, &svg);
    out->text.failed |= svg.failed;
    size_t length = svg.failed || svg.length > space ? 0 : svg.length;
    if (length) {
        assay_text_format(&out->text,
                          "<figure id=chart-%s class=chart data-chart=%s><div class=scroll>\n",
                          chart->name, chart->name);
        assay_html_put(out, svg.data);
        assay_text_format(
            &out->text,
            "</div><figcaption><p>%c%s.</p><p><code>assay report … -o %s.svg --chart %s"
            "</code></p></figcaption></figure>\n",
            toupper((unsigned char)chart->summary[0]), chart->summary + 1, chart->name,
            chart->name);
    }
    assay_draw_fini(&drawing);
    assay_text_fini(&svg);
    assay_html_flush_much(out);
    return length;
}

void assay_html_put_charts(struct assay_html_out *out, const struct assay_book *book)
{
    struct chosen chosen[MOST_CHARTS];
    int n = book->n_records ? choose(out, book, chosen) : 0;
    size_t space = MOST_BYTES;
    if (!n)
        return;
    assay_html_put(out,
                   "<section id=charts aria-labelledby=h-charts><h2 id=h-charts>Charts</h2>\n");
    for (int i = 0; i < n; i++)
        space -= put_chart(out, book, chosen[i].chart, space);
    assay_html_put(out, "</section>\n");
}
