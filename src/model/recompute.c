#include "model/recompute.h"

#include "base/alloc.h"
#include "model/gradient.h"

#include <string.h>

/* Operations for each element of the output: activations and norms take up to 20, so that memory
 * binds them. */
static const double FEW = 32;

struct work {
    struct assay_graph *g;
    bool chosen[ASSAY_GRAPH_NODES];             /* of the forward nodes: computed again */
    int32_t again[ASSAY_GRAPH_VALUES];          /* the value as computed again; -1: not yet */
    struct assay_node nodes[ASSAY_GRAPH_NODES]; /* the new ones */
    int32_t n_nodes;
    struct assay_error *err;
};

static enum assay_status too_large(const struct work *w)
{
    return assay_error_set(w->err, ASSAY_ERR_INVALID, NULL,
                           "with what is computed again, this pass has more than %d nodes or %d "
                           "values",
                           ASSAY_GRAPH_NODES, ASSAY_GRAPH_VALUES);
}

static bool is_cheap(const struct assay_node *node)
{
    double elements = (double)assay_tensor_count(&node->problem.outputs[0]);
    return !node->op->takes_recipes && node->op->cost(&node->problem).flops <= FEW * elements;
}

/* Is it there in the backward pass without being kept for this? */
static bool is_at_hand(const struct work *w, int32_t value)
{
    int32_t maker = assay_graph_maker(w->g, value);
    return maker < 0 || w->chosen[maker] || w->g->values[value].kept;
}

static void choose(struct work *w)
{
    for (int32_t i = 0; i < w->g->n_forward; i++) {
        const struct assay_node *node = &w->g->nodes[i];
        const struct assay_value *out = &w->g->values[node->out[0]];
        w->chosen[i] = out->kept && out->output < 0 && is_cheap(node);
        for (int32_t j = 0; j < node->problem.n_inputs && w->chosen[i]; j++)
            w->chosen[i] = is_at_hand(w, node->in[j]);
    }
}

static enum assay_status append(struct work *w, const struct assay_node *node)
{
    if (w->n_nodes == ASSAY_GRAPH_NODES)
        return too_large(w);
    w->nodes[w->n_nodes++] = *node;
    return ASSAY_OK;
}

/* The inputs of a node behind the forward pass, as computed again: nodes that do so go before it.
 */
static enum assay_status replace_inputs(struct work *w, struct assay_node *node);

static enum assay_status compute_again(struct work *w, int32_t maker)
{
    struct assay_node copy = w->g->nodes[maker];
    enum assay_status status = replace_inputs(w, &copy);
    for (int32_t i = 0; i < copy.problem.n_outputs && status == ASSAY_OK; i++) {
        int32_t of = copy.out[i];
        struct assay_tensor tensor = w->g->values[of].tensor;
        copy.out[i] = w->again[of] = assay_graph_value(w->g, ASSAY_VALUE_INNER, &tensor);
        if (copy.out[i] < 0)
            status = too_large(w);
    }
    return status == ASSAY_OK ? append(w, &copy) : status;
}

static enum assay_status replace_inputs(struct work *w, struct assay_node *node)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < node->problem.n_inputs && status == ASSAY_OK; i++) {
        int32_t maker = assay_graph_maker(w->g, node->in[i]);
        if (maker < 0 || maker >= w->g->n_forward || !w->chosen[maker])
            continue;
        if (w->again[node->in[i]] < 0)
            status = compute_again(w, maker);
        if (status == ASSAY_OK)
            node->in[i] = w->again[node->in[i]];
    }
    return status;
}

/* As it was before it was to save statistics. */
static const struct assay_node *plain(const struct assay_graph *forward,
                                      const struct assay_node *node)
{
    int32_t index = assay_graph_maker(forward, node->out[0]);
    return index < 0 ? node : &forward->nodes[index];
}

static enum assay_status rebuild(struct work *w, const struct assay_graph *forward)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < w->g->n_nodes && status == ASSAY_OK; i++) {
        struct assay_node node = w->g->nodes[i];
        if (i < w->g->n_forward && w->chosen[i])
            node = *plain(forward, &node);
        if (i >= w->g->n_forward)
            status = replace_inputs(w, &node);
        if (status == ASSAY_OK)
            status = append(w, &node);
    }
    return status;
}

enum assay_status assay_graph_recompute(struct assay_graph *graph,
                                        const struct assay_graph *forward, struct assay_error *err)
{
    struct work *w = assay_calloc(1, sizeof *w);
    if (!w)
        return assay_error_nomem(err);
    w->g = graph;
    w->err = err;
    for (int32_t i = 0; i < ASSAY_GRAPH_VALUES; i++)
        w->again[i] = -1;
    choose(w);
    enum assay_status status = rebuild(w, forward);
    if (status == ASSAY_OK) {
        memcpy(graph->nodes, w->nodes, (size_t)w->n_nodes * sizeof *w->nodes);
        graph->n_nodes = w->n_nodes;
        assay_graph_mark_kept(graph);
    }
    assay_free(w);
    return status;
}
