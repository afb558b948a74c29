/* breakeven.c: the chart "breakeven": along a sweep, from which shape on each recipe pays. A row is
 * a recipe of an op; its bar is coloured from the shape on from which it pays, striped where the
 * break-even lies, and has a mark at each shape that was measured. */
#include "base/alloc.h"
#include "report/chart/chart_rows.h"
#include "report/chart/chart_words.h"
#include "report/report_breakeven.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct breakevens {
    struct assay_breakevens all;
    struct assay_chart_rows rows;
    const struct assay_breakeven *items[ASSAY_CHART_MOST_ROWS]; /* of rows */
    struct assay_scale scale;
};

/* False without memory. */
static bool find(const struct assay_book *book, const struct assay_chart_request *request,
                 struct assay_breakevens *all)
{
    struct assay_book_view view = {0};
    bool found = !book->failed;
    for (int64_t g = 0; g < book->n_groups && found; g++) {
        found = assay_book_open(book, g, &view);
        all->run = book->groups[g].run;
        if (found)
            assay_breakevens_add(all, view.records, view.n);
    }
    assay_book_view_fini(&view);
    for (int64_t i = 0; i < all->n_points && request->has_state; i++)
        if (all->points[i].state != request->state) /* the other state's last for good */
            all->points[i--] = all->points[--all->n_points];
    assay_breakevens_find(all);
    return found && !all->failed;
}

static int breakeven_fits(const struct assay_book *book, const struct assay_chart_request *request,
                          char *why, size_t size)
{
    struct assay_breakevens all = {0};
    int fit = ASSAY_CHART_UNFIT;
    if (!assay_chart_rows_suit(request, "speedup", why, size))
        return fit;
    if (!find(book, request, &all))
        snprintf(why, size, ASSAY_CHART_NO_MEMORY);
    else if (all.n == 0)
        snprintf(why, size, "no recipe was measured along a sweep");
    else
        fit =
            ASSAY_CHART_GOOD - 10; /* speedups themselves are more to see, where nothing is asked */
    assay_breakevens_fini(&all);
    return fit;
}

/* Where a point lies: its size, or, where several sizes grow, their geometric mean. */
static double position(const struct breakevens *b, const struct assay_breakeven *item, int64_t i)
{
    const struct assay_breakeven_point *point = &b->all.points[item->point + i];
    double number = strtod(assay_breakeven_size(&b->all, item, i).text, NULL), logs = 0;
    if (strchr(assay_breakeven_size(&b->all, item, i).text, 'x') == NULL)
        return number;
    for (int32_t a = 0; a < point->n_axes; a++)
        logs += log((double)point->axes[a]) / point->n_axes;
    return exp(logs);
}

static enum assay_ink ink_of(int direction)
{
    return direction > 0 ? ASSAY_DRAW_FASTER : direction < 0 ? ASSAY_DRAW_SLOWER : ASSAY_DRAW_EVEN;
}

/* Between two shapes the bar is of one colour where both go the same way, else striped. */
static void draw_bar(struct assay_drawing *d, const struct assay_plot *plot, int64_t row, double y,
                     const void *user)
{
    const struct breakevens *b = user;
    const struct assay_breakeven *item = b->items[row];
    const struct assay_breakeven_point *points = &b->all.points[item->point];
    double top = y - ASSAY_CHART_BAR / 2.0;
    (void)plot;
    for (int64_t i = 0; i + 1 < item->n; i++) {
        double from = assay_scale_at(&b->scale, position(b, item, i));
        double to = assay_scale_at(&b->scale, position(b, item, i + 1));
        int left = assay_breakeven_direction(&points[i]);
        int right = assay_breakeven_direction(&points[i + 1]);
        if (left == right && left != 0)
            assay_draw_rect(d, from, top, to - from, ASSAY_CHART_BAR, ink_of(left));
        else
            assay_draw_hatched(d, from, top, to - from, ASSAY_CHART_BAR, ASSAY_DRAW_EVEN);
    }
    for (int64_t i = 0; i < item->n; i++)
        assay_draw_marker(d, assay_scale_at(&b->scale, position(b, item, i)), y, 7,
                          assay_draw_series_marker(0),
                          ink_of(assay_breakeven_direction(&points[i])), true);
}

/* "512: 0.72x, 1024: 1.31x [1.29 1.33]": what only a tip has space for. */
static void tell_points(const struct breakevens *b, const struct assay_breakeven *item,
                        struct assay_chart_row *row)
{
    size_t used = 0;
    for (int64_t i = 0; i < item->n && used < sizeof row->more; i++) {
        const struct assay_breakeven_point *point = &b->all.points[item->point + i];
        used += (size_t)snprintf(
            row->more + used, sizeof row->more - used, "%s%s: %.2fx [%.2f %.2f]", i ? ", " : "",
            assay_breakeven_size(&b->all, item, i).text, point->ratio, point->ci.lo, point->ci.hi);
    }
}

static void add_rows(struct breakevens *b)
{
    assay_scale_init(&b->scale, ASSAY_SCALE_LOG);
    for (int64_t first = 0, end; first < b->all.n; first = end) {
        struct assay_cell heading = assay_breakeven_heading(&b->all.items[first]);
        assay_chart_rows_group(&b->rows);
        for (end = first; end < b->all.n; end++) {
            const struct assay_breakeven *item = &b->all.items[end];
            if (strcmp(assay_breakeven_heading(item).text, heading.text) != 0)
                break;
            struct assay_chart_row *row = assay_chart_rows_add(&b->rows);
            if (!row)
                continue;
            bool pays = item->from.text[0], between = item->verdict == ASSAY_PAYS_BETWEEN;
            row->heading = heading;
            row->label = item->variant;
            row->ink = pays ? ASSAY_DRAW_FASTER : ASSAY_DRAW_MUTED;
            if (pays)
                assay_cell_add(&row->figure, "from %s on", item->from.text);
            else
                assay_cell_add(&row->figure, "%s", assay_breakeven_word(item->verdict));
            if (between)
                assay_cell_add(&row->aside, "not at %s", item->below.text);
            tell_points(b, item, row);
            b->items[b->rows.n - 1] = item;
            for (int64_t i = 0; i < item->n; i++)
                assay_scale_see(&b->scale, position(b, item, i));
        }
        assay_chart_rows_group_end(&b->rows);
    }
    assay_scale_round(&b->scale);
}

static void draw_rows(const struct assay_book *book, struct breakevens *b,
                      struct assay_drawing *drawing)
{
    static const struct assay_legend_entry legend[] = {
        {.ink = ASSAY_DRAW_FASTER, .text = "pays"},
        {.ink = ASSAY_DRAW_SLOWER, .text = "does not pay"},
        {.shape = ASSAY_LEGEND_HATCHED,
         .ink = ASSAY_DRAW_EVEN,
         .text = "between, the same, or unclear"}};
    struct assay_cell subject = assay_chart_subject(book), place = assay_chart_place(book);
    struct assay_axis axis = {
        .scale = &b->scale, .label = assay_axis_number, .grid = true, .name = "size"};
    assay_cell_add(&subject, ": break-even");
    struct assay_chart_rows_style style = {
        .title = subject.text,
        .subtitle = place.text,
        .scale = &b->scale,
        .axis = &axis,
        .line = (double)NAN,
        .bar = draw_bar,
        .user = b,
        .legend = legend,
        .n_legend = sizeof legend / sizeof legend[0],
        .note = "A recipe pays where its speedup's 95% interval lies wholly above 1, there and at "
                "all larger shapes."};
    for (int64_t i = 0; i < b->rows.n; i++)
        assay_text_format(&drawing->summary, "%s%s: %s", i ? "; " : "", b->items[i]->variant.text,
                          assay_breakeven_text(b->items[i]).text);
    assay_chart_rows_draw(&b->rows, &style, drawing);
}

static void breakeven_draw(const struct assay_book *book, const struct assay_chart_request *request,
                           struct assay_drawing *drawing)
{
    struct breakevens *b = assay_calloc(1, sizeof *b);
    if (b && find(book, request, &b->all)) {
        add_rows(b);
        draw_rows(book, b, drawing);
    } else {
        drawing->body.failed = true;
    }
    if (b)
        assay_breakevens_fini(&b->all);
    assay_free(b);
}

const struct assay_chart assay_chart_breakeven = {
    .name = "breakeven",
    .summary = "from which shape on each recipe pays, along a sweep",
    .fits = breakeven_fits,
    .draw = breakeven_draw,
};
