#include "model/fuse.h"

#include "op/conv.h"
#include "op/groupnorm.h"
#include "op/linear.h"

#include <stdio.h>
#include <string.h>

static bool is(const struct assay_node *node, const char *op)
{
    return strcmp(node->op->name, op) == 0;
}

/* The one node that uses a value; -1 where there are several, none, or it is the answer. */
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
    return value == g->output ? -1 : user;
}

static int32_t maker(const struct assay_graph *g, int32_t value)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].out == value)
            return i;
    return -1;
}

static void remove_node(struct assay_graph *g, int32_t index)
{
    memmove(&g->nodes[index], &g->nodes[index + 1],
            (size_t)(g->n_nodes - index - 1) * sizeof g->nodes[0]);
    g->n_nodes--;
}

/* The node of this op with another param; optional inputs are found again by their functions. */
static bool with_param(const struct assay_node *node, const char *op, int param, int value,
                       struct assay_node *out)
{
    if (!is(node, op) || node->problem.params[param] != 0)
        return false;
    *out = *node;
    out->problem.params[param] = value;
    out->op->shapes(&out->problem);
    return true;
}

/* Puts the linear's optional inputs where the new problem has them. `norm` and `residual` are those
 * it did not have before. */
static void place_inputs(const struct assay_node *from, struct assay_node *to, int32_t norm,
                         int32_t residual)
{
    int32_t old_norm = assay_linear_norm_input(&from->problem);
    int32_t old_residual = assay_linear_residual_input(&from->problem);
    int32_t new_norm = assay_linear_norm_input(&to->problem);
    int32_t new_residual = assay_linear_residual_input(&to->problem);
    if (new_norm >= 0)
        to->in[new_norm] = old_norm >= 0 ? from->in[old_norm] : norm;
    if (new_residual >= 0)
        to->in[new_residual] = old_residual >= 0 ? from->in[old_residual] : residual;
}

static bool fuse_activation(struct assay_graph *g, int32_t index, assay_fuse_can can, void *user)
{
    int32_t next = only_user(g, g->nodes[index].out);
    struct assay_node fused;
    for (int a = 1; a < ASSAY_LINEAR_ACTIVATIONS && next >= 0; a++) {
        if (!is(&g->nodes[next], assay_linear_activation_name((enum assay_linear_activation)a)) ||
            g->nodes[index].problem.params[ASSAY_LINEAR_ADD] != 0 ||
            !with_param(&g->nodes[index], "linear", ASSAY_LINEAR_ACTIVATION, a, &fused) ||
            !can(user, &fused.problem))
            continue;
        fused.out = g->nodes[next].out;
        g->nodes[index] = fused;
        remove_node(g, next);
        return true;
    }
    return false;
}

/* A layernorm counts only without weights of its own: that is the one linear has. */
static bool fuse_norm(struct assay_graph *g, int32_t index, assay_fuse_can can, void *user)
{
    struct assay_node fused;
    int32_t before = maker(g, g->nodes[index].in[ASSAY_LINEAR_X]);
    if (!is(&g->nodes[index], "linear") || before < 0 ||
        only_user(g, g->nodes[before].out) != index)
        return false;
    const struct assay_node *norm = &g->nodes[before];
    bool ln = is(norm, "layernorm") && g->values[norm->in[1]].kind == ASSAY_VALUE_ONES;
    if (!(ln || is(norm, "rmsnorm")) || norm->problem.params[0] != ASSAY_LINEAR_EPS)
        return false;
    if (!with_param(&g->nodes[index], "linear", ASSAY_LINEAR_NORM,
                    ln ? ASSAY_LINEAR_LN : ASSAY_LINEAR_RMS, &fused) ||
        !can(user, &fused.problem))
        return false;
    place_inputs(&g->nodes[index], &fused, norm->in[1], -1);
    fused.in[ASSAY_LINEAR_X] = norm->in[0];
    g->nodes[index] = fused;
    remove_node(g, before);
    return true;
}

/* The other value must be there when the product runs, and not be what it gives. */
static bool fuse_residual(struct assay_graph *g, int32_t index, assay_fuse_can can, void *user)
{
    int32_t next = only_user(g, g->nodes[index].out);
    struct assay_node fused;
    if (next < 0 || !is(&g->nodes[next], "add"))
        return false;
    const struct assay_node *add = &g->nodes[next];
    int32_t other = add->in[0] == g->nodes[index].out ? add->in[1] : add->in[0];
    bool linear = with_param(&g->nodes[index], "linear", ASSAY_LINEAR_ADD, 1, &fused);
    if (maker(g, other) >= index ||
        !(linear || with_param(&g->nodes[index], "conv2d", ASSAY_CONV_ADD, 1, &fused)) ||
        !can(user, &fused.problem))
        return false;
    if (linear)
        place_inputs(&g->nodes[index], &fused, -1, other);
    else
        fused.in[assay_conv_of(&fused.problem).residual] = other;
    fused.out = add->out;
    g->nodes[index] = fused;
    remove_node(g, next);
    return true;
}

static bool fuse_silu(struct assay_graph *g, int32_t index, assay_fuse_can can, void *user)
{
    int32_t next = only_user(g, g->nodes[index].out);
    struct assay_node fused;
    if (next < 0 || !is(&g->nodes[next], "silu") ||
        !with_param(&g->nodes[index], "groupnorm", ASSAY_GROUPNORM_SILU, 1, &fused) ||
        !can(user, &fused.problem))
        return false;
    fused.out = g->nodes[next].out;
    g->nodes[index] = fused;
    remove_node(g, next);
    return true;
}

void assay_graph_fuse(struct assay_graph *g, assay_fuse_can can, void *user)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = 0; i < g->n_nodes && !changed; i++)
            changed = fuse_activation(g, i, can, user) || fuse_residual(g, i, can, user) ||
                      fuse_norm(g, i, can, user) || fuse_silu(g, i, can, user);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

enum { ALIGN = 256 };

/* From the node that makes a value to the last that uses it. */
struct life {
    int32_t first, last;
    int64_t bytes;
};

static struct life life_of(const struct assay_graph *g, int32_t value)
{
    struct life life = {maker(g, value), -1, 0};
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].problem.n_inputs; j++)
            if (g->nodes[i].in[j] == value)
                life.last = i;
    size_t bytes = assay_tensor_bytes(&g->values[value].tensor);
    life.bytes = (int64_t)((bytes + ALIGN - 1) / ALIGN * ALIGN);
    return life;
}

static bool meet(const struct life *a, const struct life *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest place that is free all the value's life: tries 0 and behind every placed value. */
static int64_t find_place(const struct life *lives, const int64_t *offsets, int32_t n,
                          int32_t value)
{
    int64_t place = 0;
    for (int32_t i = 0; i < n; i++) {
        if (offsets[i] < 0 || !meet(&lives[i], &lives[value]))
            continue;
        bool clear =
            place + lives[value].bytes <= offsets[i] || offsets[i] + lives[i].bytes <= place;
        if (!clear) {
            place = offsets[i] + lives[i].bytes;
            i = -1; /* look at all of them again from there */
        }
    }
    return place;
}

int64_t assay_graph_place(const struct assay_graph *g, bool reuse, int64_t *offsets)
{
    struct life lives[ASSAY_GRAPH_VALUES];
    int64_t bytes = 0;
    for (int32_t i = 0; i < g->n_values; i++) {
        lives[i] = life_of(g, i);
        offsets[i] = -1;
    }
    for (int32_t i = 0; i < g->n_nodes; i++) {
        int32_t value = g->nodes[i].out;
        if (value == g->output)
            continue;
        offsets[value] = reuse ? find_place(lives, offsets, g->n_values, value) : bytes;
        int64_t end = offsets[value] + lives[value].bytes;
        bytes = end > bytes ? end : bytes;
    }
    return bytes;
}
