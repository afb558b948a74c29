/* detail.c: everything about each row, for people: its figures, kernel, checks, and the samples
 * themselves, as numbers and with style.plot as a histogram. `assay show RUN --row N` shows one. */
#include "report/plot/plot_distribution.h"
#include "report/report_detail.h"
#include "report/report_grid.h"
#include "report/report_samples.h"
#include "report/report_sink.h"
#include "tensor/dtype.h"

#include <stdio.h>

enum { FIGURES_AT = 2, LABEL_AT = 4, ITEMS_AT = 12 };

struct detail {
    struct assay_page page;
};

static void detail_begin(void *state, const struct assay_sink *sink,
                         const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct detail *d = state;
    assay_page_begin(&d->page, sink, style);
    assay_row_machine(run, &d->page.line, sink, d->page.width);
}

static struct assay_flow begin_items(struct assay_page *page, int at, const char *label,
                                     enum assay_line_ink ink)
{
    assay_line_to(&page->line, at);
    assay_line_put(&page->line, label, ITEMS_AT - at, ink);
    return assay_page_flow(page, ITEMS_AT, page->width, ink);
}

/* "layernorm batch=32 seq=512 dim=768 f32 · native · int8wo". */
static void write_heading(struct assay_page *page, const struct assay_record *record,
                          const char *name)
{
    struct assay_cell axes = assay_cell_axes(record);
    const char *words[] = {record->mode, record->label, record->entry, axes.text,
                           record->dtype == ASSAY_DTYPE_NONE ? ""
                                                             : assay_dtype_name(record->dtype)};
    struct assay_flow flow = assay_page_flow(page, 0, page->width, ASSAY_INK_BOLD);
    char text[512];
    int length = snprintf(text, sizeof text, "%s", assay_cell_subject(record));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i][0])
            length += snprintf(text + length, sizeof text - (size_t)length, " %s", words[i]);
    assay_flow_item(&flow, "%s", text);
    if (name[0])
        assay_flow_item(&flow, "%s", name);
    if (record->recipe[0])
        assay_flow_item(&flow, "%s", record->recipe);
    assay_page_flush(page);
}

static void write_outcome(struct assay_page *page, const struct assay_record *record)
{
    assay_line_to(&page->line, FIGURES_AT);
    assay_row_reason(&page->line, &page->sink, record, 2, page->width);
    assay_page_flush(page);
}

/* ---- figures -------------------------------------------------------------------------------- */

static void write_ratio(struct assay_flow *flow, const struct assay_record *record,
                        const struct assay_measurement *m)
{
    if (assay_cell_is_baseline(record))
        assay_flow_item(flow, "the baseline");
    else if (m->has_ratio)
        assay_flow_item(flow, "%s against %s",
                        assay_cell_interval(&m->ratio, flow->width, flow->line->ascii).text,
                        record->baseline);
    if (m->has_eager_ratio)
        assay_flow_item(flow, "%s against eager",
                        assay_cell_interval(&m->eager_ratio, flow->width, flow->line->ascii).text);
}

static void write_figures(struct assay_page *page, const struct assay_record *record, int state)
{
    const struct assay_measurement *m = &record->states[state];
    struct assay_flow flow =
        begin_items(page, FIGURES_AT, assay_cache_state_name((enum assay_cache_state)state),
                    m->fastest ? ASSAY_INK_BEST : ASSAY_INK_PLAIN);
    assay_flow_item(&flow, "%s ± %s", assay_cell_time(m->time.median).text,
                    assay_cell_spread(m).text);
    write_ratio(&flow, record, m);
    assay_flow_item(&flow, "%s", assay_cell_rate(m, true).text);
    if (m->ceiling_ns > 0)
        assay_flow_item(&flow, "%s of %s", assay_cell_efficiency(m).text, m->bound);
    if (m->fastest)
        assay_flow_item(&flow, "fastest");
    if (assay_cell_disturbed(m))
        assay_flow_item(&flow, "~ over 5%% of samples disturbed");
    assay_page_flush(page);
}

/* ---- samples -------------------------------------------------------------------------------- */

/* One unit for all of them, in which the median has a digit before the point. */
static const char *unit_of(double ns, double *scale)
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    int i = 0;
    for (*scale = 1; i < 3 && ns >= 1000 * *scale; i++)
        *scale *= 1000;
    return names[i];
}

static void write_numbers(struct assay_page *page, const struct assay_measurement *m,
                          struct assay_flow flow)
{
    const struct assay_samples *samples = &m->samples;
    struct assay_text text = {0};
    double scale;
    assay_flow_item(&flow, "in %s, in order", unit_of(m->time.median, &scale));
    if (samples->every > 1)
        assay_flow_item(&flow, "1 of each %d", samples->every);
    if (assay_samples_count_disturbed(samples))
        assay_flow_item(&flow, "* disturbed");
    assay_page_flush(page);
    for (int32_t i = 0; i < samples->n; i++)
        assay_text_format(&text, "%.5g%s ", (double)samples->ns[i] / scale,
                          assay_samples_is_disturbed(samples, i) ? "*" : "");
    if (text.failed)
        assay_sink_fail(&page->sink);
    assay_line_to(&page->line, ITEMS_AT);
    if (!text.failed)
        assay_line_wrap(&page->line, &page->sink, text.data, ITEMS_AT, page->width, ASSAY_INK_DIM);
    assay_page_flush(page);
    assay_text_fini(&text);
}

static void write_samples(struct assay_page *page, const struct assay_measurement *m,
                          const char *state)
{
    struct assay_flow flow = begin_items(page, LABEL_AT, "samples", ASSAY_INK_DIM);
    if (page->style.plot) {
        assay_plot_distribution(state, m, &page->line, &page->sink, ITEMS_AT, page->width);
    } else {
        assay_flow_item(&flow, "%s", state);
        write_numbers(page, m, flow);
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void write_row(struct assay_page *page, const struct assay_record *record, const char *name)
{
    assay_page_flush(page);
    write_heading(page, record, name);
    if (record->outcome != ASSAY_OUTCOME_OK)
        write_outcome(page, record);
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (record->states[s].measured)
            write_figures(page, record, s);
    assay_detail_write(record, &page->line, &page->sink, page->width);
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (record->states[s].measured && record->states[s].samples.n > 0)
            write_samples(page, &record->states[s],
                          assay_cache_state_name((enum assay_cache_state)s));
}

static void detail_group(void *state, const struct assay_record *records, int64_t n)
{
    struct detail *d = state;
    assay_tally_add(&d->page.tally, records, n);
    for (int64_t i = 0; i < n; i++)
        write_row(&d->page, &records[i], assay_cell_variant(&records[i], records, n));
}

static void detail_end(void *state)
{
    struct detail *d = state;
    if (d->page.tally.rows == 1)
        return;
    assay_page_flush(&d->page);
    assay_tally_write(&d->page.tally, &d->page.line, &d->page.sink, d->page.width);
}

const struct assay_report_format assay_report_detail = {
    .name = "detail",
    .extension = NULL,
    .summary = "all of each row: figures, kernel, checks, samples",
    .state_bytes = sizeof(struct detail),
    .begin = detail_begin,
    .group = detail_group,
    .end = detail_end,
};
