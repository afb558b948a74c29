#include "report/report_recipes.h"

#include "report/report_detail.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum column {
    RECIPE,
    IMPLEMENTATION,
    KERNEL,
    HOT,
    COLD,
    SPEEDUP,
    RATE,
    CEILING,
    WEIGHT,
    LEVEL,
    PREPARE,
    ACTIVATIONS,
    CHECK,
    COLUMNS
};

enum {
    PARETO = 2,          /* the column of the mark before the recipe, and a blank */
    SPEEDUP_WIDTH = 24,  /* "1.31x slower [1.28 1.35]" */
    FASTER_SPEEDUP = 17, /* "1.62x [1.58 1.66]" */
    SHORT_SPEEDUP = 12,  /* "1.31x slower" */
};

struct writer {
    struct assay_page *page;
    struct assay_grid grid;
    const bool *shown;
    const char *device;
};

bool assay_recipes_has(const struct assay_record *records, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (records[i].recipe[0])
            return true;
    return false;
}

const struct assay_measurement *assay_recipes_state(const struct assay_record *record,
                                                    const bool *shown)
{
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (shown[s] && record->states[s].measured)
            return &record->states[s];
    return NULL;
}

/* ---- columns ------------------------------------------------------------------------------- */

static const struct assay_measurement *state_of(const struct assay_cell_request *q)
{
    return assay_recipes_state(q->row, ((const struct writer *)q->table)->shown);
}

static bool state_is_shown(const void *table, int of)
{
    return ((const struct writer *)table)->shown[of];
}

static enum assay_line_ink name_ink(const struct assay_record *record)
{
    return record->outcome == ASSAY_OUTCOME_OK ? ASSAY_INK_PLAIN : ASSAY_INK_DIM;
}

static struct assay_figure recipe_cell(const struct assay_cell_request *q)
{
    return assay_figure_text(q->record->recipe, name_ink(q->record));
}

static struct assay_figure implementation_cell(const struct assay_cell_request *q)
{
    return assay_figure_text(q->record->implementation, name_ink(q->record));
}

static struct assay_figure kernel_cell(const struct assay_cell_request *q)
{
    return assay_figure_text(q->record->kernel, ASSAY_INK_DIM);
}

static struct assay_figure time_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = &q->record->states[q->of];
    return assay_figure_marked_time(m, assay_cell_time(m->time.median), q->legend);
}

static struct assay_figure speedup_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = state_of(q);
    return assay_figure_speedup(q, m);
}

static struct assay_figure rate_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = state_of(q);
    q->legend->weight_rate |= m->bound[0] && strcmp(m->bound, "compute") != 0;
    return assay_figure_plain(assay_cell_weight_rate(q->row, m));
}

static struct assay_figure ceiling_cell(const struct assay_cell_request *q)
{
    const struct assay_measurement *m = state_of(q);
    q->legend->ceiling |= m->ceiling_ns > 0;
    q->legend->no_ceiling |= !(m->ceiling_ns > 0);
    return assay_figure_plain(assay_cell_efficiency(m));
}

static struct assay_figure weight_cell(const struct assay_cell_request *q)
{
    q->legend->weights = true;
    return assay_figure_plain(assay_cell_megabytes(q->record->weight_bytes));
}

static struct assay_figure level_cell(const struct assay_cell_request *q)
{
    q->legend->levels = true;
    return assay_figure_plain(assay_cell_level(q->record->accuracy_db));
}

static struct assay_figure prepare_cell(const struct assay_cell_request *q)
{
    double ns = q->record->prepare_ns;
    q->legend->prepared |= ns > 0;
    return assay_figure_text(ns > 0 ? assay_cell_time(ns).text : "-", ASSAY_INK_DIM);
}

static struct assay_figure activations_cell(const struct assay_cell_request *q)
{
    double share = q->record->activation_share;
    q->legend->activations |= share >= 0;
    return assay_figure_text(assay_cell_share(share).text, ASSAY_INK_DIM);
}

/* clang-format off */
static const struct assay_column columns[COLUMNS] = {
    [RECIPE]         = {.heading = "recipe", .cell = recipe_cell},
    [IMPLEMENTATION] = {.heading = "impl", .joint = "kernel", .cell = implementation_cell},
    [KERNEL]         = {.heading = "kernel", .cell = kernel_cell},
    [HOT]            = {.heading = "hot", .width = 8, .right = true, .led = true, .marked = true, .of = ASSAY_CACHE_HOT, .cell = time_cell, .shown = state_is_shown},
    [COLD]           = {.heading = "cold", .width = 8, .right = true, .led = true, .marked = true, .of = ASSAY_CACHE_COLD, .cell = time_cell, .shown = state_is_shown},
    [SPEEDUP]        = {.heading = "speedup", .width = SPEEDUP_WIDTH, .cell = speedup_cell},
    [RATE]           = {.heading = "rate", .width = 10, .right = true, .cell = rate_cell},
    [CEILING]        = {.heading = "ceil", .width = 4, .right = true, .cell = ceiling_cell},
    [WEIGHT]         = {.heading = "MB", .width = 6, .right = true, .cell = weight_cell},
    [LEVEL]          = {.heading = "SQNR", .width = 5, .right = true, .cell = level_cell},
    [PREPARE]        = {.heading = "quantise", .width = 8, .right = true, .cell = prepare_cell},
    [ACTIVATIONS]    = {.heading = "act", .width = 4, .right = true, .cell = activations_cell},
    [CHECK]          = {.width = ASSAY_COLUMN_CHECK, .cell = assay_figure_verified},
};
/* clang-format on */

static const struct assay_shrink shrinks[] = {
    {KERNEL, 20},
    {IMPLEMENTATION, 10},
    {PREPARE, ASSAY_DROP},
    {ACTIVATIONS, ASSAY_DROP},
    {RATE, ASSAY_DROP},
    {CEILING, ASSAY_DROP},
    {KERNEL, ASSAY_DROP},
    {WEIGHT, ASSAY_DROP},
    {SPEEDUP, FASTER_SPEEDUP},
    {LEVEL, ASSAY_DROP},
    {SPEEDUP, SHORT_SPEEDUP},
    {RECIPE, 10},
    {IMPLEMENTATION, 4},
};

/* Where several kernels have the same implementation and recipe, the kernel's name is what tells
 * them apart. */
static const struct assay_shrink kernels_shrinks[] = {
    {IMPLEMENTATION, 10},
    {PREPARE, ASSAY_DROP},
    {ACTIVATIONS, ASSAY_DROP},
    {RATE, ASSAY_DROP},
    {CEILING, ASSAY_DROP},
    {IMPLEMENTATION, ASSAY_DROP},
    {WEIGHT, ASSAY_DROP},
    {SPEEDUP, FASTER_SPEEDUP},
    {LEVEL, ASSAY_DROP},
    {SPEEDUP, SHORT_SPEEDUP},
    {RECIPE, 10},
};

static bool has_several_kernels(const struct assay_record *records, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (assay_cell_variant(&records[i], records, n) == records[i].kernel)
            return true;
    return false;
}

static void choose_layout(struct writer *w, const struct assay_record *records, int64_t n)
{
    w->grid = (struct assay_grid){
        .page = w->page, .columns = columns, .n = COLUMNS, .table = w, .start = PARETO - 1};
    assay_grid_begin(&w->grid, 0);
    for (int64_t i = 0; i < n; i++)
        assay_grid_measure(&w->grid, &records[i]);
    if (has_several_kernels(records, n))
        assay_grid_fit(&w->grid, kernels_shrinks,
                       sizeof kernels_shrinks / sizeof kernels_shrinks[0],
                       assay_page_most(w->page));
    else
        assay_grid_fit(&w->grid, shrinks, sizeof shrinks / sizeof shrinks[0],
                       assay_page_most(w->page));
}

/* ---- a group's heading -------------------------------------------------------------------- */

static void put_heading(struct writer *w, const char *text, enum assay_line_ink ink)
{
    int left = w->grid.width - w->page->line.columns;
    if (w->page->line.columns && assay_line_columns_of(text, w->page->line.ascii) + 2 > left) {
        assay_page_flush(w->page);
        left = w->grid.width;
    }
    if (w->page->line.columns)
        assay_line_put(&w->page->line, "  ", 2, ASSAY_INK_PLAIN);
    assay_line_put(&w->page->line, text, left, ink);
}

/* "linear bias+gelu  m=1024 k=1024 n=1024  bf16  2 threads  (llama_attn.wqkv)" */
static void write_heading(struct writer *w, const struct assay_record *record)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s%s", assay_cell_subject(record), record->mode[0] ? " " : "",
             record->mode);
    put_heading(w, text, ASSAY_INK_BOLD);
    put_heading(w, assay_cell_axes(record).text, ASSAY_INK_BOLD);
    put_heading(w, assay_dtype_name(record->dtype), ASSAY_INK_BOLD);
    if (strcmp(record->device, w->device) != 0)
        put_heading(w, record->device, ASSAY_INK_DIM);
    if (record->threads > 0 && assay_record_on_host(record)) {
        snprintf(text, sizeof text, "%d thread%s", record->threads,
                 record->threads == 1 ? "" : "s");
        put_heading(w, text, ASSAY_INK_DIM);
    }
    if (record->label[0]) {
        snprintf(text, sizeof text, "(%s)", record->label);
        put_heading(w, text, ASSAY_INK_DIM);
    }
    if (record->entry[0]) {
        snprintf(text, sizeof text, "of %s", record->entry);
        put_heading(w, text, ASSAY_INK_DIM);
    }
    if (record->compile[0]) {
        snprintf(text, sizeof text, "compile: %s", record->compile);
        put_heading(w, text, ASSAY_INK_DIM);
    }
    if (record->interrupted)
        put_heading(w, "interrupted", ASSAY_INK_WARN);
    assay_page_flush(w->page);
}

/* ---- rows --------------------------------------------------------------------------------- */

static void write_row(struct writer *w, const struct assay_record *record)
{
    struct assay_line *line = &w->page->line;
    bool timed = record->outcome == ASSAY_OUTCOME_OK && assay_recipes_state(record, w->shown);
    assay_line_left(line, record->pareto ? "*" : "", PARETO - 1, ASSAY_INK_BEST);
    assay_grid_cells(&w->grid, record, RECIPE, HOT);
    if (timed)
        assay_grid_cells(&w->grid, record, HOT, COLUMNS);
    else
        assay_grid_no_figures(&w->grid, record);
    assay_page_flush(w->page);
    if (w->page->style.verbose)
        assay_detail_write(record, line, &w->page->sink, w->grid.width);
    else
        assay_detail_counts(record, line, &w->page->sink, w->grid.width);
}

/* ---- below the rows ----------------------------------------------------------------------- */

bool assay_recipes_first_note(const struct assay_record *records, int64_t i)
{
    for (int64_t k = 0; k < i; k++)
        if (strcmp(records[k].kernel, records[i].kernel) == 0 &&
            strcmp(records[k].note, records[i].note) == 0)
            return false;
    return true;
}

static void write_notes(struct writer *w, const struct assay_record *records, int64_t n)
{
    bool any = false;
    for (int64_t i = 0; i < n; i++)
        any |= records[i].pareto;
    if (any) {
        assay_line_wrap(&w->page->line, &w->page->sink,
                        "* no other is better in time, size of the weights and accuracy", PARETO,
                        w->grid.width, ASSAY_INK_DIM);
        assay_page_flush(w->page);
    }
    for (int64_t i = 0; i < n; i++) {
        if (!records[i].note[0] || !assay_recipes_first_note(records, i))
            continue;
        char text[sizeof records[i].kernel + sizeof records[i].note + 4];
        snprintf(text, sizeof text, "%s: %s", records[i].kernel, records[i].note);
        assay_line_to(&w->page->line, PARETO);
        assay_line_wrap(&w->page->line, &w->page->sink, text, PARETO + 2, w->grid.width,
                        ASSAY_INK_DIM);
        assay_page_flush(w->page);
    }
}

void assay_recipes_write(struct assay_page *page, const bool *shown, const char *device,
                         const struct assay_record *records, int64_t n)
{
    struct writer w = {.page = page, .shown = shown, .device = device};
    choose_layout(&w, records, n);
    page->legend.recipes = true;
    write_heading(&w, &records[0]);
    assay_grid_headings(&w.grid);
    for (int64_t i = 0; i < n; i++)
        write_row(&w, &records[i]);
    write_notes(&w, records, n);
    page->lines += assay_row_warnings(records, n, &page->line, &page->sink, w.grid.width);
}

void assay_recipes_legend(struct assay_page *page, const bool *shown)
{
    const struct assay_legend *legend = &page->legend;
    struct assay_flow flow = assay_page_flow(page, 0, page->width, ASSAY_INK_DIM);
    if (shown[ASSAY_CACHE_HOT] && shown[ASSAY_CACHE_COLD])
        assay_flow_item(&flow, "from speedup on: hot where measured");
    if (legend->weight_rate)
        assay_flow_item(&flow, "GB/s: of weights, where memory binds");
    if (legend->weights)
        assay_flow_item(&flow, "MB: 10^6 bytes of weights as stored");
    if (legend->levels)
        assay_flow_item(&flow, "SQNR: dB, against the product without quantising");
    if (legend->prepared)
        assay_flow_item(&flow, "quantise: of the weights, once, not part of any time");
    if (legend->activations)
        assay_flow_item(&flow, "act: share of the time for quantising x");
    if (flow.started)
        assay_page_flush(page);
}
