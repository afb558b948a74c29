/* memory.c: what each variant takes of memory at its peak, stacked: what is there before a run, its
 * outputs, scratch memory, and what only setting up needed (docs/measuring.md has the terms). */
#include "base/alloc.h"
#include "report/chart/chart_rows.h"
#include "report/chart/chart_words.h"

#include <math.h>
#include <stdio.h>

/* In the order in which they are stacked. */
enum part { WEIGHTS, INPUTS, OUTPUTS, WORKSPACE, SETUP, PARTS };

static const struct {
    enum assay_ink ink;
    const char *name;
} parts[PARTS] = {
    [WEIGHTS] = {ASSAY_DRAW_SERIES + 3, "weights"},
    [INPUTS] = {ASSAY_DRAW_SERIES, "inputs"},
    [OUTPUTS] = {ASSAY_DRAW_SERIES + 2, "outputs"},
    [WORKSPACE] = {ASSAY_DRAW_SERIES + 1, "workspace"},
    [SETUP] = {ASSAY_DRAW_EVEN, "while it is set up"},
};

struct memory_bar {
    double bytes[PARTS];
    double driver;          /* of a GPU: what its driver says; else NaN */
    bool known;             /* false: it never ran */
    enum assay_ink trouble; /* … of the hatched bar */
};

struct memory {
    struct assay_chart_rows rows;
    struct memory_bar bars[ASSAY_CHART_MOST_ROWS];
    bool seen[PARTS], driver, unknown; /* in some bar */
    int64_t n_known;
    bool failed;
    /* For drawing. */
    const struct assay_scale *scale;
    bool shares;
};

/* ---- the figures ---------------------------------------------------------------------------- */

static bool is_known(const struct assay_record *r)
{
    return r->peak_bytes > 0 && isfinite(r->peak_bytes);
}

static double within(double value, double most)
{
    return isfinite(value) ? fmax(0, fmin(most, value)) : 0;
}

/* The peak is never less than idle, outputs and workspace together, but who knows where a record
 * comes from: what does not fit into the rest is not drawn. */
static struct memory_bar bar_of(const struct assay_record *r)
{
    struct memory_bar bar = {
        .driver = (double)NAN, .known = is_known(r), .trouble = assay_chart_trouble_ink(r)};
    if (!bar.known)
        return bar;
    double rest = r->peak_bytes, idle = within(r->idle_bytes, rest);
    bar.bytes[WEIGHTS] = within(r->weight_bytes, idle);
    bar.bytes[INPUTS] = idle - bar.bytes[WEIGHTS];
    bar.bytes[OUTPUTS] = within(r->bytes_written, rest -= idle);
    bar.bytes[WORKSPACE] = within(r->workspace_bytes, rest -= bar.bytes[OUTPUTS]);
    bar.bytes[SETUP] = fmax(0, rest - bar.bytes[WORKSPACE]);
    if (!assay_record_on_host(r) && r->system_peak_bytes > 0)
        bar.driver = r->system_peak_bytes;
    return bar;
}

static struct assay_cell bytes_of(double bytes)
{
    struct assay_cell cell;
    assay_text_bytes(bytes, cell.text, sizeof cell.text);
    return cell;
}

/* "168 MB peak", "50.3 MB idle, 8.4 MB workspace". */
static void say(struct assay_chart_row *row, const struct assay_record *r)
{
    if (!is_known(r)) {
        if (r->outcome == ASSAY_OUTCOME_OK)
            assay_cell_add(&row->figure, "not counted");
        else
            assay_chart_row_trouble(row, r);
    } else {
        assay_cell_add(&row->figure, "%s", bytes_of(r->peak_bytes).text);
        row->ink = ASSAY_DRAW_TEXT;
        if (isfinite(r->idle_bytes))
            assay_cell_add(&row->below, "%s idle", bytes_of(r->idle_bytes).text);
        if (r->workspace_bytes > 0)
            assay_cell_add(&row->below, "%s%s workspace", row->below.text[0] ? ", " : "",
                           bytes_of(r->workspace_bytes).text);
    }
    if (is_known(r) && r->system_peak_bytes > 0)
        snprintf(row->more, sizeof row->more, "%s by the %s", bytes_of(r->system_peak_bytes).text,
                 assay_record_on_host(r) ? "operating system, of the whole process" : "driver");
}

static void add(struct memory *m, const struct assay_record *r, const struct assay_cell *heading,
                const struct assay_cell *label, int64_t record)
{
    struct assay_chart_row *row = assay_chart_rows_add(&m->rows);
    m->n_known += is_known(r);
    if (!row)
        return;
    struct memory_bar *bar = &m->bars[row - m->rows.rows];
    *bar = bar_of(r);
    row->heading = *heading;
    row->label = *label;
    row->record = record;
    row->most = bar->known ? fmax(r->peak_bytes, bar->driver) : 0;
    say(row, r);
}

static void find(struct memory *m, const struct assay_book *book)
{
    struct assay_book_view view = {0};
    m->failed = book->failed;
    for (int64_t g = 0; g < book->n_groups && !m->failed; g++) {
        m->failed = !assay_book_open(book, g, &view);
        assay_chart_rows_group(&m->rows);
        struct assay_cell heading = {""};
        if (!m->failed)
            heading = assay_chart_group_name(book, &view);
        for (int64_t i = 0; i < view.n; i++) {
            struct assay_cell label = assay_chart_variant(&view.records[i], view.records, view.n);
            add(m, &view.records[i], &heading, &label, book->groups[g].first + i + 1);
        }
        assay_chart_rows_group_end(&m->rows);
    }
    assay_book_view_fini(&view);
    for (int64_t i = 0; i < m->rows.n; i++) {
        for (int p = 0; p < PARTS; p++)
            m->seen[p] = m->seen[p] || m->bars[i].bytes[p] > 0;
        m->driver = m->driver || isfinite(m->bars[i].driver);
        m->unknown = m->unknown || !m->bars[i].known;
    }
}

static int memory_fits(const struct assay_book *book, const struct assay_chart_request *request,
                       char *why, size_t size)
{
    bool known = false, lost = false;
    struct assay_book_view view = {0};
    if (!assay_chart_rows_suit(request, "memory", why, size))
        return ASSAY_CHART_UNFIT;
    for (int64_t g = 0; g < book->n_groups && !known && !lost; g++) {
        lost = !assay_book_open(book, g, &view);
        for (int64_t i = 0; i < view.n; i++)
            known = known || is_known(&view.records[i]);
    }
    assay_book_view_fini(&view);
    if (known)
        return ASSAY_CHART_POSSIBLE / 2; /* every run has it, few are about it */
    snprintf(why, size, "%s", lost ? ASSAY_CHART_NO_MEMORY : "no row has a count of its memory");
    return ASSAY_CHART_UNFIT;
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void draw_bar(struct assay_drawing *d, const struct assay_plot *plot, int64_t row, double y,
                     const void *user)
{
    const struct memory *m = user;
    const struct memory_bar *bar = &m->bars[row];
    double unit = m->shares ? assay_chart_rows_unit(&m->rows, row) : 1, sum = 0;
    double top = y - ASSAY_CHART_BAR / 2.0, at = plot->left;
    if (!bar->known)
        assay_draw_hatched(d, plot->left, y - ASSAY_CHART_BAR / 4.0, plot->right - plot->left,
                           ASSAY_CHART_BAR / 2.0, bar->trouble);
    for (int p = 0; p < PARTS; p++) {
        sum += bar->bytes[p];
        double end = bar->bytes[p] > 0 ? assay_scale_clamped(m->scale, sum / unit) : at;
        assay_draw_rect(d, at, top, end - at, ASSAY_CHART_BAR, parts[p].ink);
        at = end;
    }
    if (isfinite(bar->driver))
        assay_draw_marker(d, assay_scale_clamped(m->scale, bar->driver / unit), y, 9,
                          ASSAY_DRAW_DIAMOND, ASSAY_DRAW_TEXT, true);
}

static int64_t make_legend(const struct memory *m, struct assay_legend_entry entries[PARTS + 2])
{
    int64_t n = 0;
    for (int p = 0; p < PARTS; p++)
        if (m->seen[p])
            entries[n++] = (struct assay_legend_entry){.ink = parts[p].ink, .text = parts[p].name};
    if (m->driver)
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_HOLLOW,
                                                   .marker = ASSAY_DRAW_DIAMOND,
                                                   .ink = ASSAY_DRAW_TEXT,
                                                   .text = "the driver's figure"};
    if (m->unknown)
        entries[n++] = (struct assay_legend_entry){.shape = ASSAY_LEGEND_HATCHED,
                                                   .ink = ASSAY_DRAW_FAILED,
                                                   .text = "all of the width: not counted"};
    return n;
}

static void draw(struct memory *m, const struct assay_book *book, struct assay_drawing *drawing)
{
    struct assay_cell title = assay_chart_subject(book), place = assay_chart_place(book);
    struct assay_legend_entry legend[PARTS + 2];
    assay_cell_add(&title, ": memory");
    m->shares = assay_chart_rows_are_shares(&m->rows);
    struct assay_scale scale = assay_chart_rows_scale(&m->rows, m->shares);
    m->scale = &scale;
    struct assay_axis axis = {.scale = &scale,
                              .name = m->shares ? "memory at the peak, of the most in its group"
                                                : "memory at the peak",
                              .label = m->shares ? assay_axis_share : assay_axis_memory,
                              .grid = true};
    struct assay_chart_rows_style style = {
        .title = title.text,
        .subtitle = place.text,
        .scale = &scale,
        .axis = &axis,
        .line = (double)NAN,
        .bar = draw_bar,
        .user = m,
        .legend = legend,
        .n_legend = make_legend(m, legend),
        .note = "Of one set of operands. Counted while a variant is set up and runs, before "
                "anything is timed. Figures: the peak; idle is what is there before a run."};
    assay_text_format(&drawing->summary, "Memory at the peak of %lld variants.",
                      (long long)m->n_known);
    assay_chart_rows_draw(&m->rows, &style, drawing);
}

static void memory_draw(const struct assay_book *book, const struct assay_chart_request *request,
                        struct assay_drawing *drawing)
{
    struct memory *m = assay_calloc(1, sizeof *m);
    (void)request;
    if (m) {
        find(m, book);
        draw(m, book, drawing);
    }
    drawing->body.failed |= !m || m->failed;
    assay_free(m);
}

const struct assay_chart assay_chart_memory = {
    .name = "memory",
    .summary = "bars of memory at the peak: weights, inputs, outputs, workspace",
    .fits = memory_fits,
    .draw = memory_draw,
};
