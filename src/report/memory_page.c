#include "report/memory_page.h"

#include "base/alloc.h"
#include "base/version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_ROWS = 24 };

static const char style[] =
    "*{box-sizing:border-box}"
    "html{background:var(--ink-background);color:var(--ink-text);font:15px/1.5 system-ui,"
    "-apple-system,\"Segoe UI\",\"Noto Sans\",Arial,sans-serif;font-variant-numeric:tabular-nums}"
    "body{margin:0 auto;max-width:76rem;padding:2rem 1.5rem 4rem}"
    "h1{font-size:1.5rem;margin:0;overflow-wrap:anywhere}"
    "h2{font-size:1.15rem;margin:2.5rem 0 .25rem;padding-top:.75rem;"
    "border-top:1px solid var(--ink-border);overflow-wrap:anywhere}"
    "h3{font-size:1rem;margin:1.5rem 0 .25rem}"
    "p{margin:.25rem 0 .75rem;max-width:60rem;overflow-wrap:anywhere}"
    ".muted,figcaption,summary{color:var(--ink-muted)}figure{margin:0;overflow-x:auto}"
    "svg{max-width:100%;height:auto}table{border-collapse:collapse;font-size:.875rem}"
    ".scroll{overflow-x:auto}"
    "th,td{padding:.2rem .6rem;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid var(--ink-grid)}"
    "th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal}"
    "thead th{color:var(--ink-muted)}th{font-weight:normal}";

void assay_memory_page_begin(const char *about, struct assay_text *out)
{
    assay_text_add(out,
                   "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"generator\" content=\"assay " ASSAY_VERSION "\">\n"
                   "<title>Memory: ");
    assay_draw_escape(out, about);
    assay_text_add(out, "</title>\n<style>:root{color-scheme:light;");
    assay_draw_style(ASSAY_DRAW_LIGHT, out);
    assay_text_add(out, "}@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;");
    assay_draw_style(ASSAY_DRAW_DARK, out);
    assay_text_add(out, "}}");
    assay_text_add(out, style);
    assay_text_add(
        out,
        "</style>\n</head>\n<body>\n<main>\n<h1>What holds the memory</h1>\n<p class=\"muted\">");
    assay_draw_escape(out, about);
    assay_text_add(out, "</p>\n");
}

void assay_memory_page_end(struct assay_text *out)
{
    assay_text_add(out,
                   "<p class=\"muted\">Held is what is allocated: of a model, whole blocks; the "
                   "dashed line. In use is of a block what is needed at that moment. Weights "
                   "that a kernel has in a form of its own are counted in that alone. Along "
                   "the timeline are moments, in their order, not time.</p>\n"
                   "</main>\n</body>\n</html>\n");
}

/* ---- tables ---- */

/* Wider than a window they scroll, with the keyboard too. */
static void begin_table(const char *name, const char *const *heads, int n, struct assay_text *out)
{
    assay_text_format(out,
                      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">"
                      "<table aria-label=\"%s\"><thead><tr>",
                      name, name);
    for (int i = 0; i < n; i++)
        if (heads[i])
            assay_text_format(out, "<th scope=\"col\">%s</th>", heads[i]);
    assay_text_add(out, "</tr></thead>\n<tbody>\n");
}

static void end_table(struct assay_text *out) { assay_text_add(out, "</tbody></table></div>\n"); }

static void put_row_head(struct assay_text *out, const char *text)
{
    assay_text_add(out, "<tr><th scope=\"row\">");
    assay_draw_escape(out, text);
    assay_text_add(out, "</th>");
}

static void put_cell(struct assay_text *out, const char *text)
{
    assay_text_add(out, "<td>");
    assay_draw_escape(out, text);
    assay_text_add(out, "</td>");
}

static void put_bytes(struct assay_text *out, double bytes)
{
    char text[32] = "";
    if (bytes > 0)
        assay_text_bytes(bytes, text, sizeof text);
    put_cell(out, text);
}

/* What one owner holds: of a kernel's state that may be several allocations. */
struct holder {
    const struct assay_memory_item *first;
    int64_t bytes, count;
};

static int compare_holders(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->first->from > y->first->from) - (x->first->from < y->first->from);
}

static bool is_block(const struct assay_memory_item *item)
{
    return item->held == ASSAY_HELD_PLANNED || item->held == ASSAY_HELD_SAVED;
}

static bool same_owner(const struct assay_memory_item *a, const struct assay_memory_item *b)
{
    return a->held == b->held && a->node == b->node && a->output == b->output &&
           (a->buffer >= 0) == (b->buffer >= 0);
}

/* Those of the peak, the largest first; for assay_free. */
static struct holder *find_holders(const struct assay_memory_items *items, int64_t *n)
{
    struct holder *all = assay_calloc((size_t)items->n + 1, sizeof *all);
    *n = 0;
    for (int64_t i = 0; all && i < items->n; i++) {
        const struct assay_memory_item *item = &items->items[i];
        int64_t at = 0;
        if (!item->counts || is_block(item) || !assay_memory_item_lives(item, items->peak))
            continue;
        while (at < *n && !same_owner(all[at].first, item))
            at++;
        if (at == *n)
            all[(*n)++].first = item;
        all[at].bytes += item->bytes;
        all[at].count++;
    }
    if (*n > 1)
        qsort(all, (size_t)*n, sizeof *all, compare_holders);
    return all;
}

static void put_holder(const struct assay_memory_profile *p, const struct holder *holder,
                       double all, struct assay_text *out)
{
    struct assay_text owner = {0}, since = {0};
    char share[32];
    assay_memory_owner(p, holder->first, &owner);
    if (holder->count > 1)
        assay_text_format(&owner, " (%lld allocations)", (long long)holder->count);
    assay_memory_moment(p, holder->first->from, &since);
    snprintf(share, sizeof share, "%.1f %%", all > 0 ? (double)holder->bytes / all * 100 : 0);
    put_row_head(out, owner.data ? owner.data : "");
    put_bytes(out, (double)holder->bytes);
    put_cell(out, share);
    put_cell(out, since.data ? since.data : "");
    assay_text_add(out, "</tr>\n");
    assay_text_fini(&owner);
    assay_text_fini(&since);
}

/* The largest; the rest in one row. */
static void put_holders(const struct assay_memory_profile *p,
                        const struct assay_memory_items *items, struct assay_text *out)
{
    static const char *const heads[] = {"owner", "size", "share", "since"};
    int64_t n;
    double peak = items->in_use[items->peak], rest = 0;
    struct holder *all = find_holders(items, &n);
    out->failed |= !all;
    assay_text_add(out, "<h3>What holds the peak</h3>\n");
    begin_table("What holds the peak", heads, 4, out);
    for (int64_t i = 0; i < n && i < MOST_ROWS; i++)
        put_holder(p, &all[i], peak, out);
    for (int64_t i = MOST_ROWS; i < n; i++)
        rest += (double)all[i].bytes;
    if (n > MOST_ROWS) {
        assay_text_format(out, "<tr><th scope=\"row\">%lld more</th>", (long long)(n - MOST_ROWS));
        put_bytes(out, rest);
        assay_text_add(out, "<td></td><td></td></tr>\n");
    }
    end_table(out);
    assay_free(all);
}

/* What is in use at each node in the last call; of it, what lies between nodes, and what the node's
 * own kernel holds. */
struct at_node {
    double in_use, between, own;
};

static void find_node(const struct assay_memory_profile *p, const struct assay_memory_items *items,
                      int32_t node, struct at_node *out)
{
    int64_t event = -1;
    *out = (struct at_node){0};
    for (int64_t i = 0; i < p->n_events; i++)
        if (p->events[i].what == ASSAY_MEMORY_NODE && p->events[i].node == node)
            event = i;
    for (int64_t i = 0; i < items->n && event >= 0; i++) {
        const struct assay_memory_item *item = &items->items[i];
        if (!item->counts || is_block(item) || !assay_memory_item_lives(item, event))
            continue;
        out->between += item->buffer >= 0 ? (double)item->bytes : 0;
        bool own = item->buffer < 0 && item->node == node && item->held > ASSAY_HELD_OUTPUT;
        out->own += own ? (double)item->bytes : 0;
    }
    if (event >= 0)
        out->in_use = items->in_use[event];
}

static void put_nodes(const struct assay_memory_profile *p, const struct assay_memory_items *items,
                      struct assay_text *out)
{
    bool phases = p->nodes[p->n_nodes - 1].phase[0] != '\0';
    const char *const heads[] = {"node",          phases ? "phase" : NULL, "in use",
                                 "between nodes", "its kernel's own",      "kernel"};
    assay_text_add(out, "<h3>What is in use, node by node</h3>\n");
    begin_table("What is in use, node by node", heads, 6, out);
    for (int32_t i = 0; i < p->n_nodes; i++) {
        struct at_node at;
        char name[160];
        find_node(p, items, i, &at);
        snprintf(name, sizeof name, "%d %.60s %.60s", (int)i, p->nodes[i].op, p->nodes[i].shape);
        put_row_head(out, name);
        if (phases)
            put_cell(out, p->nodes[i].phase);
        put_bytes(out, at.in_use);
        put_bytes(out, at.between);
        put_bytes(out, at.own);
        put_cell(out, p->nodes[i].kernel);
        assay_text_add(out, "</tr>\n");
    }
    end_table(out);
}

/* ---- a variant ---- */

/* "3.1 MB are planned; the most that is needed at once is 2.9 MB: 7 % is lost to where they lie".
 */
static void put_plan_words(const struct assay_memory_profile *p,
                           const struct assay_memory_items *items, struct assay_text *out)
{
    char planned[32], least[32];
    double block = (double)p->planned_bytes;
    assay_text_bytes(block, planned, sizeof planned);
    assay_text_bytes(items->least, least, sizeof least);
    assay_text_format(out,
                      "<p>The block takes %s. The most that is needed at once is %s, in node "
                      "%d, and no plan takes less: ",
                      planned, least, (int)items->fullest);
    if (block > items->least)
        assay_text_format(out, "this one takes %.3g times as much.</p>\n", block / items->least);
    else
        assay_text_add(out, "this one has no gaps.</p>\n");
}

static void put_plan(int64_t number, const struct assay_memory_profile *p,
                     const struct assay_memory_items *items, struct assay_text *out)
{
    char id[48];
    if (p->planned_bytes > 0 && items->least > 0) {
        assay_text_add(out, "<h3>The plan: where each value between nodes lies</h3>\n");
        put_plan_words(p, items, out);
        snprintf(id, sizeof id, "plan%lld", (long long)number);
        assay_text_add(out, "<figure>");
        assay_memory_draw_plan(p, items, false, id, out);
        assay_text_add(out, "</figure>\n");
    }
    if (p->apart_bytes > 0) {
        assay_text_add(out, "<h3>What the forward pass has saved</h3>\n<figure>");
        snprintf(id, sizeof id, "saved%lld", (long long)number);
        assay_memory_draw_plan(p, items, true, id, out);
        assay_text_add(out, "</figure>\n");
    }
}

static void put_sentence(const struct assay_memory_profile *p,
                         const struct assay_memory_items *items, struct assay_text *out)
{
    struct assay_text text = {0};
    assay_memory_sentence(p, items, &text);
    if (text.data && text.data[0] >= 'a' && text.data[0] <= 'z')
        text.data[0] = (char)(text.data[0] - 'a' + 'A');
    assay_text_add(out, "<p>");
    assay_draw_escape(out, text.data ? text.data : "");
    assay_text_add(out, ".</p>\n");
    out->failed |= text.failed;
    assay_text_fini(&text);
}

static void put_totals(const struct assay_memory_items *items, struct assay_text *out)
{
    char total[32], held[32], host[32];
    assay_text_bytes(items->total, total, sizeof total);
    assay_text_bytes(items->peak_held, held, sizeof held);
    assay_text_bytes(items->host_peak, host, sizeof host);
    assay_text_format(out,
                      "<p class=\"muted\">%lld allocation%s of %s in all; at most %s held at "
                      "once",
                      (long long)items->allocations, items->allocations == 1 ? "" : "s", total,
                      held);
    if (items->host_peak > 0)
        assay_text_format(out, ", and %s of the host's memory", host);
    assay_text_add(out, ".</p>\n");
}

void assay_memory_page_add(int64_t number, const struct assay_memory_profile *p,
                           const struct assay_memory_items *items, struct assay_text *out)
{
    char id[48];
    assay_text_add(out, "<section>\n<h2>");
    assay_draw_escape(out, p->title);
    assay_text_format(out, " <small class=\"muted\">");
    assay_draw_escape(out, p->kernel);
    assay_text_add(out, "</small></h2>\n");
    put_sentence(p, items, out);
    if (p->missing[0]) {
        assay_text_add(out, "<p class=\"muted\">Missing: ");
        assay_draw_escape(out, p->missing);
        assay_text_add(out, ".</p>\n");
    }
    if (items->peak >= 0) {
        put_totals(items, out);
        snprintf(id, sizeof id, "time%lld", (long long)number);
        assay_text_add(out, "<figure>");
        assay_memory_draw_timeline(p, items, id, out);
        assay_text_add(out, "</figure>\n");
        put_holders(p, items, out);
        if (p->n_nodes > 0)
            put_nodes(p, items, out);
        put_plan(number, p, items, out);
    }
    assay_text_add(out, "</section>\n");
}
