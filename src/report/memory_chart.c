/* memory_chart.c: the drawings of a memory profile.
 *
 * Along the timeline lie moments, not time: setting up takes a thousand times as long as a call,
 * and what matters is the order. Allocations below a four-hundredth of the peak are drawn as sums.
 */
#include "report/memory_page.h"

#include "base/alloc.h"
#include "report/draw/draw_axis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1120, MOST_DRAWN = 240, BAND = 16 };
static const double LEAST_SHARE = 1.0 / 400;

/* In the order in which they are stacked. */
static const struct {
    enum assay_held held;
    enum assay_ink ink;
    bool hatched;
} kinds[] = {
    {ASSAY_HELD_INPUT, ASSAY_DRAW_SERIES, false},
    {ASSAY_HELD_WEIGHT, ASSAY_DRAW_SERIES + 3, false},
    {ASSAY_HELD_OUTPUT, ASSAY_DRAW_SERIES + 2, false},
    {ASSAY_HELD_PREPARED, ASSAY_DRAW_SERIES + 4, false},
    {ASSAY_HELD_STATE, ASSAY_DRAW_SERIES + 1, false},
    {ASSAY_HELD_CONSTANT, ASSAY_DRAW_EVEN, false},
    {ASSAY_HELD_BOOKS, ASSAY_DRAW_EVEN, true},
    {ASSAY_HELD_ELSEWHERE, ASSAY_DRAW_MUTED, true},
    {ASSAY_HELD_KEPT, ASSAY_DRAW_SERIES + 6, false},
    {ASSAY_HELD_INNER, ASSAY_DRAW_SERIES + 5, false},
    {ASSAY_HELD_GRADIENT, ASSAY_DRAW_SERIES + 7, false},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

struct drawn {
    struct assay_drawing d;
    const struct assay_memory_profile *p;
    const struct assay_memory_items *items;
    struct assay_plot plot;
    struct assay_scale y;
    double *x;    /* of each moment, and of the end */
    double *base; /* what is stacked below, at each */
    double *few;  /* sums of what is too small to be drawn */
    double least; /* bytes: what is smaller is summed up */
};

static int kind_of(enum assay_held held)
{
    for (int k = 0; k < KINDS; k++)
        if (kinds[k].held == held)
            return k;
    return 0;
}

static void fill(struct assay_drawing *d, double x, double y, double width, double height, int kind)
{
    if (kinds[kind].hatched)
        assay_draw_hatched(d, x, y, width, height, kinds[kind].ink);
    else
        assay_draw_rect(d, x, y, width, height, kinds[kind].ink);
    if (width > 3 && height > 3)
        assay_draw_frame(d, x, y, width, height, ASSAY_DRAW_BACKGROUND, 0.75);
}

static double legend(struct assay_drawing *d, double y, const bool *seen)
{
    struct assay_legend_entry entries[KINDS + 1];
    int64_t n = 0;
    for (int k = 0; k < KINDS; k++)
        if (seen[k])
            entries[n++] = (struct assay_legend_entry){
                .shape = kinds[k].hatched ? ASSAY_LEGEND_HATCHED : ASSAY_LEGEND_BOX,
                .ink = kinds[k].ink,
                .text = assay_held_name(kinds[k].held)};
    return assay_legend_draw(d, ASSAY_DRAW_MARGIN, y, d->width - 2 * ASSAY_DRAW_MARGIN, entries, n);
}

/* ---- the timeline --------------------------------------------------------------------------- */

static bool is_block(const struct assay_memory_item *item)
{
    return item->held == ASSAY_HELD_PLANNED || item->held == ASSAY_HELD_SAVED;
}

static bool is_stacked(const struct assay_memory_item *item)
{
    return item->counts && !is_block(item) && item->bytes > 0;
}

static int compare_bytes(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* No more than so many are drawn. */
static bool find_least(struct drawn *g)
{
    double *all = assay_calloc((size_t)g->items->n + 1, sizeof *all);
    int64_t n = 0;
    if (!all)
        return false;
    for (int64_t i = 0; i < g->items->n; i++)
        if (is_stacked(&g->items->items[i]))
            all[n++] = (double)g->items->items[i].bytes;
    if (n > 1)
        qsort(all, (size_t)n, sizeof *all, compare_bytes);
    g->least = g->items->in_use[g->items->peak] * LEAST_SHARE;
    if (n > MOST_DRAWN)
        g->least = fmax(g->least, all[MOST_DRAWN - 1]);
    assay_free(all);
    return true;
}

/* A moment at which little changes is a narrow one. */
static void place_moments(struct drawn *g)
{
    int64_t n = g->p->n_events;
    double before = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        bool changes = g->p->events[i].what == ASSAY_MEMORY_NODE ||
                       fabs(g->items->held[i] - before) >= g->least;
        g->x[i] = sum;
        before = g->items->held[i];
        sum += changes ? 1 : 0.02;
    }
    g->x[n] = sum;
    for (int64_t i = 0; i <= n; i++)
        g->x[i] = g->plot.left + (sum > 0 ? g->x[i] / sum : 0) * (g->plot.right - g->plot.left);
}

/* As long as what lies below stays as it is, one rectangle. */
static void stack(struct drawn *g, const double *bytes, double each, int64_t from, int64_t to,
                  int kind)
{
    for (int64_t i = from, next; i < to; i = next) {
        double size = bytes ? bytes[i] : each, low = g->base[i];
        for (next = i; next < to && g->base[next] == low && (!bytes || bytes[next] == size); next++)
            g->base[next] += size;
        double top = assay_scale_at(&g->y, low + size), bottom = assay_scale_at(&g->y, low);
        if (size > 0 && bottom - top >= 0.1)
            fill(&g->d, g->x[i], top, fmax(g->x[next] - g->x[i], 0.5), bottom - top, kind);
        if (next == i)
            next = i + 1;
    }
}

static void add_bytes(struct assay_text *out, double bytes)
{
    char text[32];
    assay_text_bytes(bytes, text, sizeof text);
    assay_text_add(out, text);
}

/* "node 3 gelu: output 0, 1.05 MB; node 3 gelu to node 5 linear". */
static void tip_of(const struct assay_memory_profile *p, const struct assay_memory_items *items,
                   const struct assay_memory_item *item, struct assay_text *out)
{
    assay_text_clear(out);
    assay_memory_owner(p, item, out);
    assay_text_add(out, ", ");
    add_bytes(out, (double)item->bytes);
    assay_text_add(out, "; from ");
    assay_memory_moment(p, item->from, out);
    if (item->to < items->n_events) {
        assay_text_add(out, " until ");
        assay_memory_moment(p, item->to, out);
    } else {
        bool sum = p->sums || item->held == ASSAY_HELD_ELSEWHERE;
        assay_text_add(out, sum || item->held <= ASSAY_HELD_OUTPUT ? " on" : ", never given back");
    }
}

static void stack_small(struct drawn *g, int kind)
{
    int64_t n = g->p->n_events, count = 0;
    struct assay_text tip = {0};
    memset(g->few, 0, (size_t)(n + 1) * sizeof *g->few);
    for (int64_t i = 0; i < g->items->n; i++) {
        const struct assay_memory_item *item = &g->items->items[i];
        if (!is_stacked(item) || kind_of(item->held) != kind || (double)item->bytes >= g->least)
            continue;
        g->few[item->from] += (double)item->bytes;
        g->few[item->to] -= item->to < n ? (double)item->bytes : 0;
        count++;
    }
    for (int64_t i = 1; i < n; i++)
        g->few[i] += g->few[i - 1];
    assay_text_format(&tip, "%s: the sum of %lld small ones", assay_held_name(kinds[kind].held),
                      (long long)count);
    assay_draw_group(&g->d, 0, tip.data);
    if (count > 0)
        stack(g, g->few, 0, 0, n, kind);
    assay_draw_group_end(&g->d);
    assay_text_fini(&tip);
}

static void draw_items(struct drawn *g, bool *seen)
{
    struct assay_text tip = {0};
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t i = 0; i < g->items->n; i++) {
            const struct assay_memory_item *item = &g->items->items[i];
            if (!is_stacked(item) || kind_of(item->held) != kind)
                continue;
            seen[kind] = true;
            if ((double)item->bytes < g->least)
                continue;
            tip_of(g->p, g->items, item, &tip);
            assay_draw_group(&g->d, 0, tip.data);
            stack(g, NULL, (double)item->bytes, item->from, item->to, kind);
            assay_draw_group_end(&g->d);
        }
        if (seen[kind])
            stack_small(g, kind);
    }
    assay_text_fini(&tip);
}

/* What is held, with all of each block: never less than what is in use. */
static void draw_held(struct drawn *g)
{
    int64_t n = g->p->n_events, points = 0;
    double *x = assay_calloc((size_t)n + 1, 2 * sizeof *x), *y = x ? g->few : NULL;
    double *both = assay_calloc((size_t)n + 1, 2 * sizeof *both);
    for (int64_t i = 0; y && both && i < n; i++) {
        for (int end = 0; end < 2; end++) {
            x[points] = g->x[i + end];
            both[points++] = assay_scale_at(&g->y, g->items->held[i]);
        }
    }
    if (points > 0)
        assay_draw_path(&g->d, x, both, points, ASSAY_DRAW_TEXT, 1, ASSAY_DRAW_DASHED);
    assay_free(x);
    assay_free(both);
}

static void band(struct drawn *g, double y, int64_t from, int64_t to, const char *text, bool strong)
{
    double width = g->x[to] - g->x[from];
    assay_draw_group(&g->d, 0, text);
    assay_draw_frame(&g->d, g->x[from], y, width, BAND - 2, ASSAY_DRAW_GRID, 1);
    assay_draw_text(&g->d, g->x[from] + width / 2, y + BAND - 5, width - 4,
                    (struct assay_draw_font){.size = ASSAY_DRAW_SMALL_SIZE,
                                             .bold = strong,
                                             .ink = strong ? ASSAY_DRAW_TEXT : ASSAY_DRAW_MUTED,
                                             .anchor = ASSAY_DRAW_MIDDLE},
                    text);
    assay_draw_group_end(&g->d);
}

/* What runs at an event: its phase where there are some, else nothing. */
static const char *phase_at(const struct drawn *g, int64_t event)
{
    int32_t node = assay_memory_node_at(g->p, event);
    return node >= 0 && node < g->p->n_nodes ? g->p->nodes[node].phase : "";
}

static void draw_stages(struct drawn *g, double y)
{
    const struct assay_memory_event *e = g->p->events;
    for (int64_t i = 0, to; i < g->p->n_events; i = to) {
        for (to = i; to < g->p->n_events && e[to].stage == e[i].stage; to++)
            continue;
        band(g, y, i, to, e[i].stage == ASSAY_STAGE_BEFORE ? "" : assay_stage_name(e[i].stage),
             true);
    }
}

/* In training; false: there are none. */
static bool draw_phases(struct drawn *g, double y)
{
    bool any = false;
    for (int64_t i = 0, to; i < g->p->n_events; i = to) {
        const char *phase = phase_at(g, i);
        for (to = i + 1; to < g->p->n_events && strcmp(phase_at(g, to), phase) == 0; to++)
            continue;
        if (phase[0])
            band(g, y, i, to, phase, false);
        any = any || phase[0];
    }
    return any;
}

static void draw_peak(struct drawn *g)
{
    double x = (g->x[g->items->peak] + g->x[g->items->peak + 1]) / 2;
    struct assay_text text = {0};
    bool right = x < (g->plot.left + g->plot.right) / 2;
    assay_draw_line(&g->d, x, g->plot.top, x, g->plot.bottom, ASSAY_DRAW_TEXT, 1,
                    ASSAY_DRAW_DOTTED);
    assay_text_add(&text, "peak ");
    add_bytes(&text, g->items->in_use[g->items->peak]);
    assay_text_add(&text, ", ");
    assay_memory_moment(g->p, g->items->peak, &text);
    assay_draw_text(&g->d, x + (right ? 6 : -6), g->plot.top + 12, 400,
                    (struct assay_draw_font){.size = ASSAY_DRAW_SMALL_SIZE,
                                             .bold = true,
                                             .ink = ASSAY_DRAW_TEXT,
                                             .anchor = right ? ASSAY_DRAW_LEFT : ASSAY_DRAW_RIGHT,
                                             .halo = true},
                    text.data ? text.data : "");
    assay_text_fini(&text);
}

static void draw_axis(struct drawn *g)
{
    struct assay_axis axis = {
        .scale = &g->y, .name = "in use", .label = assay_axis_memory, .grid = true};
    g->plot.left = ASSAY_DRAW_MARGIN + assay_axis_width(&axis);
    assay_axis_draw_left(&g->d, &axis, &g->plot);
}

static void draw_timeline(struct drawn *g)
{
    bool seen[KINDS] = {false};
    g->y.from = g->plot.bottom;
    g->y.to = g->plot.top;
    draw_axis(g);
    place_moments(g);
    draw_stages(g, 8);
    draw_phases(g, 8 + BAND);
    draw_items(g, seen);
    draw_held(g);
    draw_peak(g);
    g->d.height = g->plot.bottom + 14 + legend(&g->d, g->plot.bottom + 14, seen) + 8;
}

void assay_memory_draw_timeline(const struct assay_memory_profile *profile,
                                const struct assay_memory_items *items, const char *id,
                                struct assay_text *out)
{
    struct drawn g = {.p = profile, .items = items};
    size_t n = (size_t)profile->n_events + 1;
    if (items->peak < 0)
        return;
    assay_draw_begin(&g.d, ASSAY_DRAW_PAGE, WIDTH);
    assay_text_add(&g.d.title, "What is held, moment by moment");
    assay_memory_sentence(profile, items, &g.d.summary);
    g.plot = (struct assay_plot){60, 14 + 2 * BAND, WIDTH - ASSAY_DRAW_MARGIN, 380};
    assay_scale_init(&g.y, ASSAY_SCALE_LINEAR);
    assay_scale_see(&g.y, 0);
    assay_scale_see(&g.y, items->peak_held);
    assay_scale_round(&g.y);
    g.x = assay_calloc(n, sizeof *g.x);
    g.base = assay_calloc(n, sizeof *g.base);
    g.few = assay_calloc(n, sizeof *g.few);
    if (g.x && g.base && g.few && find_least(&g))
        draw_timeline(&g);
    else
        g.d.body.failed = true;
    assay_draw_svg(&g.d, id, out);
    assay_draw_fini(&g.d);
    assay_free(g.x);
    assay_free(g.base);
    assay_free(g.few);
}

/* ---- the plan ------------------------------------------------------------------------------- */

static void name_node(const void *user, double value, char *text, size_t size)
{
    const struct assay_memory_profile *p = user;
    int64_t node = (int64_t)value;
    snprintf(text, size, "%lld %s", (long long)node,
             node >= 0 && node < p->n_nodes ? p->nodes[node].op : "");
}

static void draw_buffer(struct drawn *g, const struct assay_memory_buffer *b,
                        const struct assay_scale *nodes)
{
    double half = assay_scale_band_width(nodes) / 2;
    int32_t last = b->apart || b->last >= g->p->n_nodes ? (int32_t)g->p->n_nodes - 1 : b->last;
    double left = assay_scale_at(nodes, b->node) - half, right = assay_scale_at(nodes, last) + half;
    double top = assay_scale_at(&g->y, (double)(b->offset + b->bytes));
    struct assay_text tip = {0};
    struct assay_memory_item item = {
        .held = b->held, .node = b->node, .output = b->output, .buffer = 0};
    assay_memory_owner(g->p, &item, &tip);
    assay_text_add(&tip, ", ");
    add_bytes(&tip, (double)b->bytes);
    assay_text_format(&tip, " at offset %lld", (long long)b->offset);
    if (!b->apart && b->last < g->p->n_nodes)
        assay_text_format(&tip, ", needed until node %d %s", (int)b->last, g->p->nodes[b->last].op);
    assay_draw_group(&g->d, 0, tip.data);
    fill(&g->d, left, top, right - left, assay_scale_at(&g->y, (double)b->offset) - top,
         kind_of(b->held));
    assay_draw_group_end(&g->d);
    assay_text_fini(&tip);
}

static void draw_level(struct drawn *g, double bytes, const char *text, enum assay_dash dash,
                       bool below)
{
    double y = assay_scale_at(&g->y, bytes);
    assay_draw_line(&g->d, g->plot.left, y, g->plot.right, y, ASSAY_DRAW_TEXT, 1.25, dash);
    assay_draw_text(&g->d, g->plot.right - 4, below ? y + 13 : y - 4, 500,
                    (struct assay_draw_font){.size = ASSAY_DRAW_SMALL_SIZE,
                                             .ink = ASSAY_DRAW_TEXT,
                                             .anchor = ASSAY_DRAW_RIGHT,
                                             .halo = true},
                    text);
}

static void draw_levels(struct drawn *g, bool apart)
{
    double block = (double)(apart ? g->p->apart_bytes : g->p->planned_bytes);
    struct assay_text text = {0};
    assay_text_add(&text, "the block: ");
    add_bytes(&text, block);
    draw_level(g, block, text.data ? text.data : "", ASSAY_DRAW_SOLID, false);
    if (!apart && g->items->least < block) {
        assay_text_clear(&text);
        assay_text_add(&text, "the most that is needed at once: ");
        add_bytes(&text, g->items->least);
        draw_level(g, g->items->least, text.data ? text.data : "", ASSAY_DRAW_DASHED, true);
    }
    assay_text_fini(&text);
}

void assay_memory_draw_plan(const struct assay_memory_profile *profile,
                            const struct assay_memory_items *items, bool apart, const char *id,
                            struct assay_text *out)
{
    struct drawn g = {.p = profile, .items = items};
    bool seen[KINDS] = {false};
    assay_draw_begin(&g.d, ASSAY_DRAW_PAGE, WIDTH);
    assay_text_add(&g.d.title, "Where buffers lie, node by node");
    assay_text_format(&g.d.summary, "%lld buffers of %lld nodes by their offset in the block",
                      (long long)profile->n_buffers, (long long)profile->n_nodes);
    assay_scale_init(&g.y, ASSAY_SCALE_LINEAR);
    assay_scale_see(&g.y, 0);
    assay_scale_see(&g.y, (double)(apart ? profile->apart_bytes : profile->planned_bytes));
    assay_scale_round(&g.y);
    struct assay_axis left = {
        .scale = &g.y, .name = "offset", .label = assay_axis_memory, .grid = true};
    g.plot = (struct assay_plot){ASSAY_DRAW_MARGIN + assay_axis_width(&left), 24,
                                 WIDTH - ASSAY_DRAW_MARGIN, 324};
    struct assay_scale nodes = assay_scale_bands(profile->n_nodes, g.plot.left, g.plot.right);
    struct assay_axis below = {.scale = &nodes, .label = name_node, .user = profile};
    g.y.from = g.plot.bottom;
    g.y.to = g.plot.top;
    assay_axis_draw_left(&g.d, &left, &g.plot);
    assay_axis_draw_below(&g.d, &below, &g.plot);
    for (int64_t b = 0; b < profile->n_buffers; b++)
        if (profile->buffers[b].apart == apart) {
            draw_buffer(&g, &profile->buffers[b], &nodes);
            seen[kind_of(profile->buffers[b].held)] = true;
        }
    draw_levels(&g, apart);
    double y = g.plot.bottom + assay_axis_height(&below, g.plot.right - g.plot.left) + 10;
    g.d.height = y + legend(&g.d, y, seen) + 8;
    assay_draw_svg(&g.d, id, out);
    assay_draw_fini(&g.d);
}
