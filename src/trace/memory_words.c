/* memory_words.c: memory profiles in words: whose an item is, when something was, what held the
 * peak.
 */
#include "trace/memory_items.h"

#include <stdlib.h>

static void add_node(const struct assay_memory_profile *p, int32_t node, struct assay_text *out)
{
    const struct assay_memory_node *n = node >= 0 && node < p->n_nodes ? &p->nodes[node] : NULL;
    if (n)
        assay_text_format(out, "node %d %s", (int)node, n->op);
}

void assay_memory_owner(const struct assay_memory_profile *p, const struct assay_memory_item *item,
                        struct assay_text *out)
{
    if (item->held <= ASSAY_HELD_OUTPUT && item->node >= 0) {
        assay_text_format(out, item->held == ASSAY_HELD_WEIGHT ? "%s (input %d)" : "%s %d",
                          assay_held_name(item->held), (int)item->node);
        return;
    }
    bool of_node = item->node >= 0 && item->node < p->n_nodes;
    add_node(p, item->node, out);
    if (item->buffer >= 0)
        assay_text_format(out, ": output %d", (int)item->output);
    if (item->buffer < 0 || item->held != ASSAY_HELD_INNER)
        assay_text_format(out, "%s%s", of_node ? item->buffer >= 0 ? ", " : ": " : "",
                          assay_held_name(item->held));
}

void assay_memory_moment(const struct assay_memory_profile *p, int64_t event,
                         struct assay_text *out)
{
    int32_t node = assay_memory_node_at(p, event);
    if (node >= 0 && node < p->n_nodes)
        add_node(p, node, out);
    else
        assay_text_add(out, assay_stage_name(p->events[event].stage));
}

struct part {
    enum assay_held held;
    double bytes;
};

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->held > y->held) - (x->held < y->held);
}

static void add_bytes(double bytes, struct assay_text *out)
{
    char text[32];
    assay_text_bytes(bytes, text, sizeof text);
    assay_text_add(out, text);
}

/* Those that make up more than a hundredth of it, the largest first. */
static void add_parts(const struct assay_memory_items *items, struct assay_text *out)
{
    struct part parts[ASSAY_HELDS];
    double all = items->in_use[items->peak];
    const char *between = ": ";
    for (int i = 0; i < ASSAY_HELDS; i++)
        parts[i] = (struct part){(enum assay_held)i, 0};
    for (int64_t i = 0; i < items->n; i++) {
        const struct assay_memory_item *item = &items->items[i];
        bool block = item->held == ASSAY_HELD_PLANNED || item->held == ASSAY_HELD_SAVED;
        if (item->counts && !block && assay_memory_item_lives(item, items->peak))
            parts[item->held].bytes += (double)item->bytes;
    }
    qsort(parts, ASSAY_HELDS, sizeof parts[0], compare_parts);
    for (int i = 0; i < ASSAY_HELDS && parts[i].bytes > all / 100; i++) {
        assay_text_add(out, between);
        add_bytes(parts[i].bytes, out);
        assay_text_format(out, " %s", assay_held_name(parts[i].held));
        between = ", ";
    }
}

static void add_plan(const struct assay_memory_profile *p, const struct assay_memory_items *items,
                     struct assay_text *out)
{
    if (items->fullest < 0)
        return;
    double planned = (double)p->planned_bytes;
    assay_text_add(out, "; what lies between nodes takes ");
    add_bytes(planned, out);
    if (planned > items->least) {
        assay_text_add(out, ", of which at most ");
        add_bytes(items->least, out);
        assay_text_add(out, " are needed at once, in ");
    } else {
        assay_text_add(out, ", all of it needed at once in ");
    }
    add_node(p, items->fullest, out);
}

/* "in node 3 gelu", "when it is set up". */
static void add_when(const struct assay_memory_profile *p, int64_t event, struct assay_text *out)
{
    static const char *const stages[ASSAY_STAGES] = {"by its operands", "when it is set up",
                                                     "when its weights are prepared", "in a call",
                                                     "when it is taken down"};
    int32_t node = assay_memory_node_at(p, event);
    if (node < 0 || node >= p->n_nodes) {
        assay_text_add(out, stages[p->events[event].stage]);
        return;
    }
    assay_text_add(out, "in ");
    add_node(p, node, out);
}

void assay_memory_sentence(const struct assay_memory_profile *p,
                           const struct assay_memory_items *items, struct assay_text *out)
{
    if (items->peak < 0) {
        assay_text_format(out, "nothing was recorded%s%s", p->missing[0] ? ": " : "", p->missing);
        return;
    }
    assay_text_add(out, "the peak, ");
    add_bytes(items->in_use[items->peak], out);
    assay_text_add(out, " in use, is reached ");
    add_when(p, items->peak, out);
    add_parts(items, out);
    add_plan(p, items, out);
    if (items->left_bytes > 0) {
        assay_text_add(out, "; ");
        add_bytes(items->left_bytes, out);
        assay_text_add(out, " was never given back");
    }
}

void assay_memory_stats(const struct assay_memory_profile *p,
                        const struct assay_memory_items *items, struct assay_text *out)
{
    double peak = items->peak >= 0 ? items->in_use[items->peak] : 0;
    assay_text_format(out,
                      "{\"peak_memory_allocated\": %.0f, \"peak_memory_reserved\": %.0f, "
                      "\"total_memory_allocated\": %.0f, \"total_memory_reserved\": %.0f, "
                      "\"planned\": %lld, \"least_planned\": %.0f}",
                      peak, items->peak_held, items->end_in_use, items->end_held,
                      (long long)p->planned_bytes, items->least);
}
