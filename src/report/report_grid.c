#include "report/report_grid.h"

#include <assert.h>
#include <string.h>

/* What a cell whose text has a longer and a shorter form may take where its column is as wide as
 * its contents: whatever a ratio says, with its interval. */
enum { LONGEST = 30 };

enum { BOX_PADDING = 2 }; /* a blank on either side */

/* ---- the page ------------------------------------------------------------------------------ */

static int within_reason(int width)
{
    return width < ASSAY_LEAST_WIDTH  ? ASSAY_LEAST_WIDTH
           : width > ASSAY_MOST_WIDTH ? ASSAY_MOST_WIDTH
                                      : width;
}

void assay_page_begin(struct assay_page *page, const struct assay_sink *sink,
                      const struct assay_report_style *style)
{
    page->sink = *sink;
    page->style = *style;
    page->width = within_reason(style->width <= 0 ? 100 : style->width);
    assay_line_init(&page->line, style);
}

void assay_page_flush(struct assay_page *page)
{
    assay_line_flush(&page->line, &page->sink);
    page->lines++;
}

struct assay_flow assay_page_flow(struct assay_page *page, int indent, int width,
                                  enum assay_line_ink ink)
{
    return (struct assay_flow){&page->line, &page->sink, indent, width, false, ink};
}

int assay_page_most(const struct assay_page *page)
{
    return page->style.most > page->width ? within_reason(page->style.most) : page->width;
}

/* ---- layout -------------------------------------------------------------------------------- */

static bool is_shown(const struct assay_grid *grid, int c)
{
    const struct assay_column *column = &grid->columns[c];
    return !column->shown || column->shown(grid->table, column->of);
}

static void widen(struct assay_grid *grid, int c, const char *text, int extra)
{
    int wide = text ? assay_line_columns_of(text, grid->page->line.ascii) + extra : 0;
    grid->widths[c] = wide > grid->widths[c] ? wide : grid->widths[c];
}

void assay_grid_begin(struct assay_grid *grid, int extra)
{
    assert(grid->n <= ASSAY_MOST_COLUMNS);
    for (int c = 0; c < grid->n; c++) {
        const struct assay_column *column = &grid->columns[c];
        grid->widths[c] = 0;
        if (!is_shown(grid, c))
            continue;
        if (column->width > 0) {
            grid->widths[c] = column->width;
        } else if (column->width == ASSAY_COLUMN_CHECK) {
            widen(grid, c, "✓", 0);
        } else if (!column->joint) {
            widen(grid, c, column->heading, extra);
            widen(grid, c, column->upper, extra);
        }
    }
}

static struct assay_figure figure_of(const struct assay_grid *grid, const void *row, int c,
                                     int width, struct assay_legend *legend)
{
    const struct assay_column *column = &grid->columns[c];
    return column->cell(&(struct assay_cell_request){
        .table = grid->table,
        .row = row,
        .of = column->of,
        .width = width,
        .ascii = grid->page->line.ascii,
        .legend = legend,
    });
}

void assay_grid_measure(struct assay_grid *grid, const void *row)
{
    struct assay_legend nobodys = {0};
    for (int c = 0; c < grid->n; c++)
        if (grid->columns[c].width == ASSAY_COLUMN_CONTENTS && is_shown(grid, c))
            widen(grid, c, figure_of(grid, row, c, LONGEST, &nobodys).cell.text, 0);
}

/* Columns of a line that this one takes, with the blanks or lines around it. */
static int taken(const struct assay_grid *grid, int c)
{
    const struct assay_column *column = &grid->columns[c];
    if (!grid->widths[c])
        return 0;
    return 1 + column->gap + grid->widths[c] + (column->marked ? 1 : 0) +
           (grid->boxed ? BOX_PADDING : 0);
}

int assay_grid_total(const struct assay_grid *grid)
{
    int total = grid->boxed ? 1 : grid->start;
    for (int c = 0; c < grid->n; c++)
        total += taken(grid, c);
    return total;
}

static void narrow(int *width, int too_much, int least)
{
    int want = *width - too_much < least ? least : *width - too_much;
    *width = want < *width ? want : *width;
}

static void grow(struct assay_grid *grid, int c, int most, int width)
{
    int left = width - assay_grid_total(grid), wanted = most - grid->widths[c];
    if (left > 0 && wanted > 0)
        grid->widths[c] += left < wanted ? left : wanted;
}

void assay_grid_fit(struct assay_grid *grid, const struct assay_shrink *steps, int n, int width)
{
    int whole[ASSAY_MOST_COLUMNS];
    memcpy(whole, grid->widths, sizeof whole);
    for (int i = 0; i < n; i++) {
        int *column = &grid->widths[steps[i].column], least = steps[i].least;
        int too_much = assay_grid_total(grid) - width;
        if (too_much <= 0 && least != ASSAY_DROP_TOO)
            break;
        if (least > 0)
            narrow(column, too_much, least);
        else
            *column = 0;
    }
    for (int i = n - 1; i >= 0;
         i--) { /* a column that was dropped may leave more than was needed */
        int c = steps[i].column;
        if (grid->widths[c] && grid->columns[c].width == ASSAY_COLUMN_CONTENTS)
            grow(grid, c, whole[c], width);
    }
    for (int c = 0; c < grid->n; c++)
        grow(grid, c, grid->columns[c].most, width);
    grid->width = assay_grid_total(grid);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* What stands before a column: blanks, or the line of a box. */
static void put_gap(struct assay_grid *grid, int c)
{
    struct assay_line *line = &grid->page->line;
    if (grid->boxed)
        assay_line_put(line, "│ ", 2, ASSAY_INK_DIM);
    else
        assay_line_to(line, (c ? line->columns : grid->start) + 1 + grid->columns[c].gap);
}

static void put_text(struct assay_line *line, bool right, const char *text, int width,
                     enum assay_line_ink ink)
{
    if (right)
        assay_line_right(line, text, width, ink);
    else
        assay_line_left(line, text, width, ink);
}

static void put_mark(struct assay_grid *grid, int c, const char *mark)
{
    if (grid->columns[c].marked)
        assay_line_left(&grid->page->line, mark ? mark : "", 1, ASSAY_INK_WARN);
    if (grid->boxed)
        assay_line_put(&grid->page->line, " ", 1, ASSAY_INK_PLAIN);
}

static void put_heading(struct assay_grid *grid, int c, const char *heading, int width,
                        enum assay_line_ink ink)
{
    put_gap(grid, c);
    put_text(&grid->page->line, grid->columns[c].right, heading ? heading : "", width, ink);
    put_mark(grid, c, NULL);
}

/* "Eager ────────" over several columns, up to `end`. */
static void put_upper(struct assay_grid *grid, int c, int end)
{
    struct assay_line *line = &grid->page->line;
    const char *text = grid->columns[c].upper;
    int blanks = (int)strspn(text, " ");
    put_gap(grid, c);
    assay_line_to(line, line->columns + blanks);
    assay_line_put(line, text + blanks, grid->widths[c], ASSAY_INK_BOLD);
    assay_line_put(line, " ", 1, ASSAY_INK_PLAIN);
    assay_line_rule(line, end, ASSAY_INK_DIM);
}

static void write_upper_headings(struct assay_grid *grid)
{
    bool any = false;
    for (int c = 0; c < grid->n; c++)
        any |= grid->widths[c] && grid->columns[c].upper;
    if (!any)
        return;
    for (int c = 0; c < grid->n; c++) {
        const struct assay_column *column = &grid->columns[c];
        int end = grid->page->line.columns;
        if (!grid->widths[c])
            continue;
        for (int k = c; k <= c + column->over; k++)
            end += taken(grid, k);
        if (column->over)
            put_upper(grid, c, end);
        else
            put_heading(grid, c, column->upper, grid->widths[c], ASSAY_INK_DIM);
        c += column->over;
    }
    assay_page_flush(grid->page);
}

static void end_row(struct assay_grid *grid)
{
    if (grid->boxed)
        assay_line_put(&grid->page->line, "│", 1, ASSAY_INK_DIM);
    assay_page_flush(grid->page);
}

void assay_grid_headings(struct assay_grid *grid)
{
    enum assay_line_ink ink = grid->boxed ? ASSAY_INK_BOLD : ASSAY_INK_DIM;
    write_upper_headings(grid);
    for (int c = 0; c < grid->n; c++) {
        const struct assay_column *column = &grid->columns[c];
        bool joint = column->joint && grid->widths[c + 1];
        if (!grid->widths[c])
            continue;
        put_heading(grid, c, joint ? column->joint : column->heading,
                    grid->widths[c] + (joint ? taken(grid, c + 1) : 0), ink);
        c += joint;
    }
    end_row(grid);
}

/* Across its column and the next ones. */
static void put_across(struct assay_grid *grid, const struct assay_figure *f, int end)
{
    struct assay_line *line = &grid->page->line;
    assay_line_left(line, f->lead ? f->lead : "", f->lead_width, f->lead_ink);
    assay_line_put(line, f->cell.text, end - line->columns, f->ink);
    assay_line_to(line, end);
}

static void put_figure(struct assay_grid *grid, int c, const struct assay_figure *f)
{
    struct assay_line *line = &grid->page->line;
    const struct assay_column *column = &grid->columns[c];
    if (column->led)
        assay_line_left(line, f->lead ? f->lead : "", 1, f->lead_ink);
    put_text(line, column->right, f->cell.text, grid->widths[c] - column->led, f->ink);
    put_mark(grid, c, f->mark);
}

void assay_grid_cells(struct assay_grid *grid, const void *row, int first, int last)
{
    for (int c = first; c < last; c++) {
        if (!grid->widths[c])
            continue;
        struct assay_figure f = figure_of(grid, row, c, grid->widths[c], &grid->page->legend);
        int end = grid->page->line.columns;
        for (int k = c; k <= c + f.span; k++)
            end += taken(grid, k);
        put_gap(grid, c);
        if (f.span)
            put_across(grid, &f, end);
        else
            put_figure(grid, c, &f);
        c += f.span;
    }
}

void assay_grid_row(struct assay_grid *grid, const void *row)
{
    assay_grid_cells(grid, row, 0, grid->n);
    end_row(grid);
}

void assay_grid_rule(struct assay_grid *grid, enum assay_grid_edge edge)
{
    static const char *const corners[][3] = {[ASSAY_GRID_TOP] = {"┌", "┬", "┐"},
                                             [ASSAY_GRID_MIDDLE] = {"├", "┼", "┤"},
                                             [ASSAY_GRID_BOTTOM] = {"└", "┴", "┘"}};
    struct assay_line *line = &grid->page->line;
    const char *corner = corners[edge][0];
    for (int c = 0; c < grid->n; c++) {
        if (!grid->widths[c])
            continue;
        int end = line->columns + taken(grid, c);
        assay_line_put(line, corner, 1, ASSAY_INK_DIM);
        assay_line_rule(line, end, ASSAY_INK_DIM);
        corner = corners[edge][1];
    }
    assay_line_put(line, corners[edge][2], 1, ASSAY_INK_DIM);
    assay_page_flush(grid->page);
}

void assay_grid_no_figures(struct assay_grid *grid, const struct assay_record *record)
{
    struct assay_page *page = grid->page;
    int mark = assay_line_columns_of("✓", page->line.ascii) + 1;
    assay_line_to(&page->line, page->line.columns + 1);
    if (record->outcome != ASSAY_OUTCOME_OK)
        page->lines += assay_row_reason(&page->line, &page->sink, record, mark, grid->width);
    else if (record->verification.done)
        page->lines += assay_row_check(&page->line, &page->sink, record, mark, grid->width);
    else
        assay_line_put(&page->line, "-", 1, ASSAY_INK_DIM);
}

/* ---- cells that several tables have -------------------------------------------------------- */

struct assay_figure assay_figure_plain(struct assay_cell cell)
{
    return (struct assay_figure){.cell = cell, .ink = ASSAY_INK_PLAIN};
}

struct assay_figure assay_figure_text(const char *text, enum assay_line_ink ink)
{
    struct assay_figure f = {.ink = ink};
    assay_cell_add(&f.cell, "%s", text);
    return f;
}

struct assay_figure assay_figure_time(const struct assay_measurement *m, struct assay_cell text,
                                      struct assay_legend *legend)
{
    if (!m->measured)
        return assay_figure_text("-", ASSAY_INK_DIM);
    legend->fastest |= m->fastest;
    return (struct assay_figure){
        .cell = text,
        .ink = m->fastest ? ASSAY_INK_BEST : ASSAY_INK_PLAIN,
        .lead = m->fastest ? "▸" : "",
        .lead_ink = ASSAY_INK_BEST,
    };
}

struct assay_figure assay_figure_marked_time(const struct assay_measurement *m,
                                             struct assay_cell text, struct assay_legend *legend)
{
    struct assay_figure f = assay_figure_time(m, text, legend);
    f.mark = m->measured ? assay_row_mark(m, legend) : "";
    return f;
}

struct assay_figure assay_figure_speedup(const struct assay_cell_request *q,
                                         const struct assay_measurement *m)
{
    struct assay_figure f = {.cell = assay_cell_speedup(q->record, m, q->width, q->ascii),
                             .ink = assay_row_speedup_ink(q->record, m)};
    q->legend->interval |= strchr(f.cell.text, '[') != NULL;
    return f;
}

struct assay_figure assay_figure_check(bool verified)
{
    return assay_figure_text(verified ? "✓" : "-", ASSAY_INK_GOOD);
}

struct assay_figure assay_figure_verified(const struct assay_cell_request *q)
{
    return assay_figure_check(q->record->verification.done);
}

enum assay_line_ink assay_figure_ratio_ink(const struct assay_ratio *ratio)
{
    int direction = assay_cell_ratio_direction(ratio);
    return direction > 0 ? ASSAY_INK_GOOD : direction < 0 ? ASSAY_INK_WARN : ASSAY_INK_DIM;
}
