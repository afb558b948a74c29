#include "report/report_recipes.h"

#include "report/report_cells.h"
#include "report/report_columns.h"
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
    COLUMNS
};

enum {
    PARETO = 2,         /* the column of the mark before the recipe, and a blank */
    SHORT_SPEEDUP = 13, /* without the ± where it is slower */
};

/* clang-format off */
static const struct assay_column columns[COLUMNS] = {
    [RECIPE]         = {"recipe",   0,  false, false},
    [IMPLEMENTATION] = {"",         0,  false, false},
    [KERNEL]         = {"",         0,  false, false},
    [HOT]            = {"hot",      8,  true,  true},
    [COLD]           = {"cold",     8,  true,  true},
    [SPEEDUP]        = {"speedup",  20, false, false},
    [RATE]           = {"rate",     10, true,  false},
    [CEILING]        = {"ceil",     4,  true,  false},
    [WEIGHT]         = {"MB",       6,  true,  false},
    [LEVEL]          = {"SQNR",     5,  true,  false},
    [PREPARE]        = {"quantise", 8,  true,  false},
    [ACTIVATIONS]    = {"act",      4,  true,  false},
};
/* clang-format on */

struct writer {
    const struct assay_recipes *r;
    struct assay_line *line;
    struct assay_columns columns;
    int check, width; /* of the mark at the end; of the whole table */
    int lines;
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

static void flush(struct writer *w)
{
    assay_line_flush(w->line, w->r->sink);
    w->lines++;
}

/* ---- layout ------------------------------------------------------------------------------- */

/* As wide as its contents want. */
static struct assay_columns natural_columns(const struct assay_recipes *r,
                                            const struct assay_record *records, int64_t n,
                                            int check)
{
    struct assay_columns c = assay_columns_start(columns, COLUMNS, PARETO - 1 + 1 + check);
    bool ascii = r->style->ascii;
    c.widths[HOT] *= r->shown[ASSAY_CACHE_HOT];
    c.widths[COLD] *= r->shown[ASSAY_CACHE_COLD];
    assay_columns_widen(&c, RECIPE, columns[RECIPE].heading, ascii);
    for (int64_t i = 0; i < n; i++) {
        assay_columns_widen(&c, RECIPE, records[i].recipe, ascii);
        assay_columns_widen(&c, IMPLEMENTATION, records[i].implementation, ascii);
        assay_columns_widen(&c, KERNEL, records[i].kernel, ascii);
    }
    return c;
}

static void choose_layout(struct writer *w, const struct assay_record *records, int64_t n)
{
    static const int dispensable[] = {PREPARE, ACTIVATIONS, RATE, CEILING, WEIGHT, LEVEL, KERNEL};
    w->check = w->r->style->ascii ? 2 : 1;
    struct assay_columns c = natural_columns(w->r, records, n, w->check);
    int width = assay_columns_room(w->r->style);
    assay_columns_cut(&c, SPEEDUP, SHORT_SPEEDUP, width);
    assay_columns_cut(&c, KERNEL, 20, width);
    assay_columns_cut(&c, IMPLEMENTATION, 10, width);
    assay_columns_drop(&c, dispensable, sizeof dispensable / sizeof dispensable[0], width);
    assay_columns_cut(&c, RECIPE, 10, width);
    assay_columns_cut(&c, IMPLEMENTATION, 4, width);
    w->columns = c;
    w->width = assay_columns_total(&c);
}

/* ---- a group's heading -------------------------------------------------------------------- */

static void put_heading(struct writer *w, const char *text, enum assay_ink ink)
{
    int room = w->width - w->line->columns;
    if (w->line->columns && assay_line_columns_of(text, w->line->ascii) + 2 > room) {
        flush(w);
        room = w->width;
    }
    if (w->line->columns)
        assay_line_put(w->line, "  ", 2, ASSAY_INK_PLAIN);
    assay_line_put(w->line, text, room, ink);
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
    if (strcmp(record->device, w->r->device) != 0)
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
    flush(w);
}

static void write_column(struct writer *w, enum column c, const char *text, enum assay_ink ink)
{
    assay_columns_put(&w->columns, w->line, c, text, ink);
}

/* Implementation and kernel have one heading together. */
static void write_column_headings(struct writer *w)
{
    const int *widths = w->columns.widths;
    assay_line_to(w->line, PARETO - 1);
    for (int c = 0; c < COLUMNS; c++) {
        int both = widths[IMPLEMENTATION] + (widths[KERNEL] ? 1 + widths[KERNEL] : 0);
        if (c == IMPLEMENTATION && both) {
            assay_line_to(w->line, w->line->columns + 1);
            assay_line_left(w->line, widths[KERNEL] ? "kernel" : "impl", both, ASSAY_INK_DIM);
        } else if (c != KERNEL) {
            write_column(w, (enum column)c, columns[c].heading, ASSAY_INK_DIM);
            if (widths[c] && columns[c].marked)
                assay_line_to(w->line, w->line->columns + 1);
        }
    }
    flush(w);
}

/* ---- rows --------------------------------------------------------------------------------- */

static void write_time(struct writer *w, enum column c, const struct assay_measurement *m)
{
    assay_columns_time(&w->columns, w->line, c, m, assay_cell_time(m->time.median).text,
                       w->r->legend);
}

static void note_what_is_shown(struct writer *w, const struct assay_record *record,
                               const struct assay_measurement *m)
{
    struct assay_legend *legend = w->r->legend;
    bool known = m->ceiling_ns > 0;
    legend->ceiling |= known && w->columns.widths[CEILING];
    legend->no_ceiling |= !known && w->columns.widths[CEILING];
    legend->weight_rate |=
        m->bound[0] && strcmp(m->bound, "compute") != 0 && w->columns.widths[RATE];
    legend->weights |= w->columns.widths[WEIGHT] > 0;
    legend->levels |= w->columns.widths[LEVEL] > 0;
    legend->prepared |= record->prepare_ns > 0 && w->columns.widths[PREPARE];
    legend->activations |= record->activation_share >= 0 && w->columns.widths[ACTIVATIONS];
}

static void write_figures(struct writer *w, const struct assay_record *record)
{
    const struct assay_measurement *m = assay_recipes_state(record, w->r->shown);
    write_time(w, HOT, &record->states[ASSAY_CACHE_HOT]);
    write_time(w, COLD, &record->states[ASSAY_CACHE_COLD]);
    note_what_is_shown(w, record, m);
    write_column(w, SPEEDUP,
                 assay_cell_speedup(record, m, w->columns.widths[SPEEDUP], w->line->ascii).text,
                 assay_row_speedup_ink(record, m));
    write_column(w, RATE, assay_cell_weight_rate(record, m).text, ASSAY_INK_PLAIN);
    write_column(w, CEILING, assay_cell_efficiency(m).text, ASSAY_INK_PLAIN);
    write_column(w, WEIGHT, assay_cell_megabytes(record->weight_bytes).text, ASSAY_INK_PLAIN);
    write_column(w, LEVEL, assay_cell_level(record->accuracy_db).text, ASSAY_INK_PLAIN);
    write_column(w, PREPARE,
                 record->prepare_ns > 0 ? assay_cell_time(record->prepare_ns).text : "-",
                 ASSAY_INK_DIM);
    write_column(w, ACTIVATIONS, assay_cell_share(record->activation_share).text, ASSAY_INK_DIM);
    assay_line_to(w->line, w->line->columns + 1);
    assay_line_put(w->line, record->verification.done ? "✓" : "-", w->check, ASSAY_INK_GOOD);
}

static void write_row(struct writer *w, const struct assay_record *record)
{
    bool ok = record->outcome == ASSAY_OUTCOME_OK;
    enum assay_ink ink = ok ? ASSAY_INK_PLAIN : ASSAY_INK_DIM;
    int check = w->check + 1;
    assay_line_left(w->line, record->pareto ? "*" : "", PARETO - 1, ASSAY_INK_BEST);
    write_column(w, RECIPE, record->recipe, ink);
    write_column(w, IMPLEMENTATION, record->implementation, ink);
    write_column(w, KERNEL, record->kernel, ASSAY_INK_DIM);
    if (ok && assay_recipes_state(record, w->r->shown)) {
        write_figures(w, record);
    } else {
        assay_line_to(w->line, w->line->columns + 1);
        if (!ok)
            assay_row_reason(w->line, record, check, w->width);
        else if (record->verification.done)
            assay_row_check(w->line, record, check, w->width);
        else
            assay_line_put(w->line, "-", 1, ASSAY_INK_DIM);
    }
    flush(w);
    if (w->r->style->verbose)
        assay_detail_write(record, w->line, w->r->sink, w->width);
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
        assay_line_put(w->line, "* no other is better in time, size of the weights and accuracy",
                       w->width, ASSAY_INK_DIM);
        flush(w);
    }
    for (int64_t i = 0; i < n; i++) {
        if (!records[i].note[0] || !assay_recipes_first_note(records, i))
            continue;
        char text[sizeof records[i].kernel + sizeof records[i].note + 4];
        snprintf(text, sizeof text, "%s: %s", records[i].kernel, records[i].note);
        assay_line_to(w->line, PARETO);
        assay_line_put(w->line, text, w->width - PARETO, ASSAY_INK_DIM);
        flush(w);
    }
}

int assay_recipes_write(const struct assay_recipes *r, struct assay_line *line,
                        const struct assay_record *records, int64_t n)
{
    struct writer w = {.r = r, .line = line};
    choose_layout(&w, records, n);
    r->legend->recipes = true;
    write_heading(&w, &records[0]);
    write_column_headings(&w);
    for (int64_t i = 0; i < n; i++)
        write_row(&w, &records[i]);
    write_notes(&w, records, n);
    w.lines += assay_row_warnings(records, n, line, r->sink, w.width);
    return w.lines;
}

void assay_recipes_legend(const struct assay_recipes *r, struct assay_line *line)
{
    const struct assay_legend *legend = r->legend;
    struct assay_flow flow = {line,  r->sink,      0, assay_columns_width(r->style),
                              false, ASSAY_INK_DIM};
    if (r->shown[ASSAY_CACHE_HOT] && r->shown[ASSAY_CACHE_COLD])
        assay_flow_item(&flow, "speedup and what follows it: hot where measured");
    if (legend->weight_rate)
        assay_flow_item(&flow, "GB/s: of weights, where memory binds");
    if (legend->weights)
        assay_flow_item(&flow, "MB: 10^6 bytes of weights as stored");
    if (legend->levels)
        assay_flow_item(&flow, "SQNR: dB, against the product without quantising");
    if (legend->prepared)
        assay_flow_item(&flow, "quantise: the weights, once, in none of the times");
    if (legend->activations)
        assay_flow_item(&flow, "act: of the time, quantising x");
    if (flow.started)
        assay_line_flush(line, r->sink);
}
