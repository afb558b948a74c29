#include "model/fuse.h"

#include "op/node.h"

#include <string.h>

/* The one node that uses a value; -1 where there are several, none, or it must be there: as an
 * output, or for a backward pass. */
static int32_t only_user(const struct assay_graph *g, int32_t value)
{
    int32_t user = -1;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].problem.n_inputs; j++) {
            if (g->nodes[i].in[j] != value)
                continue;
            if (user >= 0)
                return -1;
            user = i;
        }
    return g->values[value].output >= 0 || g->values[value].kept ? -1 : user;
}

static void remove_node(struct assay_graph *g, int32_t index)
{
    memmove(&g->nodes[index], &g->nodes[index + 1],
            (size_t)(g->n_nodes - index - 1) * sizeof g->nodes[0]);
    g->n_nodes--;
    if (index < g->n_forward)
        g->n_forward--;
}

/* Is `node`, but for `value`, what a mode can say: the op with its usual constants, and at most one
 * operand that matters, which is *operand then, else -1? */
static bool is_usual(const struct assay_graph *g, const struct assay_node *node, int32_t value,
                     bool takes_operand, int32_t *operand)
{
    const struct assay_problem *p = &node->problem;
    *operand = -1;
    for (int32_t i = 0; i < p->n_params; i++)
        if (p->params[i] != node->op->params[i])
            return false;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        enum assay_value_kind kind = g->values[node->in[i]].kind;
        bool unit = kind == ASSAY_VALUE_ONES || kind == ASSAY_VALUE_ZEROS;
        if (node->in[i] == value || unit)
            continue;
        if (!takes_operand || *operand >= 0)
            return false;
        *operand = node->in[i];
    }
    return !takes_operand || *operand >= 0;
}

/* The node as it is with the neighbour taken in. Optional inputs may have moved: those it had are
 * put where they are now, and `operand` where it is new. */
static struct assay_node fused_node(const struct assay_node *node, const struct assay_absorbed *how,
                                    int32_t operand)
{
    struct assay_node fused = *node;
    fused.problem.params[how->param] = how->value;
    fused.op->shapes(&fused.problem);
    for (const struct assay_absorbed *row = node->op->node->absorbs; row->op; row++) {
        int32_t from = row->input ? row->input(&node->problem) : -1;
        int32_t to = row->input ? row->input(&fused.problem) : -1;
        if (to >= 0)
            fused.in[to] = from >= 0 ? node->in[from] : operand;
    }
    return fused;
}

/* The neighbour that such a row names; -1: there is none, or others need what lies between. */
static int32_t neighbour(const struct assay_graph *g, int32_t index,
                         const struct assay_absorbed *how)
{
    const struct assay_node *node = &g->nodes[index];
    int32_t at = how->before ? assay_graph_maker(g, node->in[0]) : only_user(g, node->out[0]);
    if (at < 0 || g->nodes[at].problem.n_outputs > 1 || strcmp(g->nodes[at].op->name, how->op) != 0)
        return -1;
    return how->before && only_user(g, node->in[0]) != index ? -1 : at;
}

static bool absorb(struct assay_graph *g, int32_t index, const struct assay_absorbed *how,
                   assay_fuse_can can, void *user)
{
    const struct assay_node *node = &g->nodes[index];
    int32_t at = neighbour(g, index, how), operand = -1;
    if (at < 0 || node->problem.params[how->param] != 0)
        return false;
    for (int i = 0; i < ASSAY_MAX_PARAMS; i++)
        if (how->unless >> i & 1 && node->problem.params[i] != 0)
            return false;
    const struct assay_node *other = &g->nodes[at];
    if (!is_usual(g, other, how->before ? other->in[0] : node->out[0], how->input != NULL,
                  &operand))
        return false;
    if (operand >= 0 &&
        assay_graph_maker(g, operand) >= index) /* it must be there when the node runs */
        return false;
    struct assay_node fused = fused_node(node, how, operand);
    if (!can(user, &fused.problem))
        return false;
    if (how->before)
        fused.in[0] = other->in[0];
    else
        fused.out[0] = other->out[0];
    g->nodes[index] = fused;
    remove_node(g, at);
    return true;
}

static bool absorb_any(struct assay_graph *g, int32_t index, assay_fuse_can can, void *user)
{
    const struct assay_absorbed *row =
        g->nodes[index].op->node ? g->nodes[index].op->node->absorbs : NULL;
    for (; row && row->op; row++)
        if (absorb(g, index, row, can, user))
            return true;
    return false;
}

void assay_graph_fuse(struct assay_graph *g, assay_fuse_can can, void *user)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = 0; i < g->n_nodes && !changed; i++)
            changed = absorb_any(g, i, can, user);
    }
}
