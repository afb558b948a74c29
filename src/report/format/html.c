/* html.c: the run as one page. */
#include "report/html/html_page.h"
#include "report/report_sink.h"

#include "base/math.h"

struct state {
    struct assay_sink sink;
    struct assay_book book;
};

static void html_begin(void *state, const struct assay_sink *sink,
                       const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct state *s = state;
    (void)style;
    s->sink = *sink;
    assay_book_begin(&s->book, run);
}

static void html_group(void *state, const struct assay_record *records, int64_t n)
{
    assay_book_add(&((struct state *)state)->book, records, n);
}

static void html_end(void *state)
{
    struct state *s = state;
    int64_t planned = s->book.n_runs ? s->book.runs[0].info.groups : 0;
    struct assay_html_options options = {.left = assay_max(0, planned - s->book.n_groups)};
    if (s->book.failed)
        assay_sink_fail(&s->sink);
    assay_html_write(&s->book, &options, &s->sink);
}

static void html_fini(void *state) { assay_book_fini(&((struct state *)state)->book); }

const struct assay_report_format assay_report_html = {
    .name = "html",
    .extension = "html",
    .summary = "one page for a browser, with charts, that assay can read back",
    .state_bytes = sizeof(struct state),
    .begin = html_begin,
    .group = html_group,
    .end = html_end,
    .fini = html_fini,
};
