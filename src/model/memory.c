#include "model/memory.h"

enum { ALIGN = 256 };

static int64_t padded_bytes(const struct assay_value *value)
{
    return (int64_t)((assay_tensor_bytes(&value->tensor) + ALIGN - 1) / ALIGN * ALIGN);
}

/* Of the forward pass alone, what is kept lives longer than all nodes. */
struct assay_memory_life assay_graph_life(const struct assay_graph *g, int32_t value)
{
    int32_t first = assay_graph_maker(g, value);
    struct assay_memory_life life = {first, first, padded_bytes(&g->values[value])};
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].problem.n_inputs; j++)
            if (g->nodes[i].in[j] == value)
                life.last = i;
    if (g->values[value].kept && life.last < g->n_forward)
        life.last = g->n_forward;
    return life;
}

static bool meet(const struct assay_memory_life *a, const struct assay_memory_life *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset that is free all the value's life: tries 0 and the end of every placed value.
 */
static int64_t find_offset(const struct assay_memory_life *lives,
                           const struct assay_memory_plan *plan, const bool *elsewhere, int32_t n,
                           int32_t value)
{
    const int64_t *offsets = plan->offsets;
    int64_t offset = 0;
    for (int32_t i = 0; i < n; i++) {
        if (offsets[i] < 0 || elsewhere[i] || !meet(&lives[i], &lives[value]))
            continue;
        bool clear =
            offset + lives[value].bytes <= offsets[i] || offsets[i] + lives[i].bytes <= offset;
        if (!clear) {
            offset = offsets[i] + lives[i].bytes;
            i = -1; /* look at all of them again from there */
        }
    }
    return offset;
}

static void place(const struct assay_graph *g, int32_t value, const struct assay_memory_life *lives,
                  const bool *elsewhere, bool reuse, struct assay_memory_plan *out)
{
    int64_t *bytes = elsewhere[value] ? &out->kept_bytes : &out->bytes;
    if (g->values[value].output >= 0)
        return;
    out->offsets[value] = reuse && !elsewhere[value]
                              ? find_offset(lives, out, elsewhere, g->n_values, value)
                              : *bytes;
    int64_t end = out->offsets[value] + lives[value].bytes;
    *bytes = end > *bytes ? end : *bytes;
}

void assay_graph_plan_memory(const struct assay_graph *g, bool reuse, bool apart,
                             struct assay_memory_plan *out)
{
    struct assay_memory_life lives[ASSAY_GRAPH_VALUES];
    bool elsewhere[ASSAY_GRAPH_VALUES];
    out->bytes = out->kept_bytes = 0;
    for (int32_t i = 0; i < g->n_values; i++) {
        lives[i] = assay_graph_life(g, i);
        elsewhere[i] = apart && g->values[i].kept;
        out->offsets[i] = -1;
    }
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].problem.n_outputs; j++)
            place(g, g->nodes[i].out[j], lives, elsewhere, reuse, out);
}

int64_t assay_graph_kept_bytes(const struct assay_graph *g)
{
    int64_t bytes = 0;
    for (int32_t i = 0; i < g->n_values; i++)
        if (g->values[i].kept)
            bytes += (int64_t)assay_tensor_bytes(&g->values[i].tensor);
    return bytes;
}
