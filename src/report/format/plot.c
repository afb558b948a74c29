/* plot.c: a picture for a terminal: lines where an axis of numbers was swept, else bars; of a
 * single row its samples. */
#include "report/plot/plot_bars.h"
#include "report/plot/plot_distribution.h"
#include "report/plot/plot_sweep.h"
#include "report/report_sink.h"

struct plot {
    struct assay_page page;
    struct assay_book book;
};

static void plot_begin(void *state, const struct assay_sink *sink,
                       const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct plot *p = state;
    assay_page_begin(&p->page, sink, style);
    assay_book_begin(&p->book, run);
}

static void plot_group(void *state, const struct assay_record *records, int64_t n)
{
    assay_book_add(&((struct plot *)state)->book, records, n);
}

/* False where there are none. */
static bool plot_samples(struct plot *p)
{
    struct assay_book_view view = {0};
    bool any = false;
    if (p->book.n_records != 1 || !assay_book_open(&p->book, 0, &view) || view.n != 1) {
        assay_book_view_fini(&view);
        return false;
    }
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        const struct assay_measurement *m = &view.records[0].states[s];
        if (!m->measured || m->samples.n == 0)
            continue;
        assay_plot_distribution(assay_cache_state_name((enum assay_cache_state)s), m, &p->page.line,
                                &p->page.sink, 0, p->page.width);
        any = true;
    }
    assay_book_view_fini(&view);
    return any;
}

static void plot_end(void *state)
{
    struct plot *p = state;
    if (p->page.style.plot) /* below a table */
        assay_page_flush(&p->page);
    if (p->book.failed)
        assay_sink_fail(&p->page.sink);
    if (p->book.n_records == 0) {
        assay_line_put(&p->page.line, "no rows: there is nothing to draw", p->page.width,
                       ASSAY_INK_DIM);
        assay_page_flush(&p->page);
    } else if (!plot_samples(p) && !assay_plot_sweep(&p->book, &p->page)) {
        assay_plot_bars(&p->book, &p->page);
    }
}

static void plot_fini(void *state) { assay_book_fini(&((struct plot *)state)->book); }

const struct assay_report_format assay_report_plot = {
    .name = "plot",
    .extension = NULL,
    .summary = "a picture for a terminal: speedups as bars, or lines over a swept axis",
    .state_bytes = sizeof(struct plot),
    .merges = true,
    .begin = plot_begin,
    .group = plot_group,
    .end = plot_end,
    .fini = plot_fini,
};
