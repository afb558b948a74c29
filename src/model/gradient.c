#include "model/gradient.h"

#include "model/recompute.h"
#include "op/optimizer.h"

#include <string.h>

const char *assay_optimizer_name(enum assay_optimizer optimizer)
{
    static const char *const names[ASSAY_OPTIMIZERS] = {"adamw", "sgd"};
    return names[optimizer];
}

struct work {
    const struct assay_training *how;
    struct assay_graph *g;
    int32_t gradients[ASSAY_MODEL_VALUES]; /* of each value of the forward graph; -1: none yet */
    bool wanted[ASSAY_MODEL_VALUES];       /* must it have one? */
    struct assay_error *err;
};

static enum assay_status too_large(const struct work *w)
{
    return assay_error_set(w->err, ASSAY_ERR_INVALID, NULL,
                           "a training pass of this model has more than %d nodes or %d values",
                           ASSAY_GRAPH_NODES, ASSAY_GRAPH_VALUES);
}

static bool is_parameter(const struct assay_value *value)
{
    return value->kind == ASSAY_VALUE_WEIGHT || value->kind == ASSAY_VALUE_FILTER ||
           value->kind == ASSAY_VALUE_SCALE;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static enum assay_status add_value(const struct work *w, enum assay_value_kind kind,
                                   const struct assay_tensor *tensor, int32_t *out)
{
    *out = assay_graph_value(w->g, kind, tensor);
    return *out < 0 ? too_large(w) : ASSAY_OK;
}

/* A node whose `in` and problem are made; its outputs become values. */
static enum assay_status add_node(const struct work *w, struct assay_node *node)
{
    enum assay_status status = w->g->n_nodes == ASSAY_GRAPH_NODES ? too_large(w) : ASSAY_OK;
    for (int32_t i = 0; i < node->problem.n_outputs && status == ASSAY_OK; i++)
        status = add_value(w, ASSAY_VALUE_INNER, &node->problem.outputs[i], &node->out[i]);
    if (status == ASSAY_OK)
        w->g->nodes[w->g->n_nodes++] = *node;
    return status;
}

/* A node of an op of rows, over values as large as `like`. */
static enum assay_status add_row_node(const struct work *w, const char *op, int32_t like,
                                      const int32_t *in, struct assay_node *out)
{
    const struct assay_tensor *t = &w->g->values[like].tensor;
    int64_t columns = t->dims[t->rank - 1];
    int64_t axes[ASSAY_MAX_AXES] = {1, assay_tensor_count(t) / columns, columns};
    *out = (struct assay_node){.op = assay_op_find(op)};
    enum assay_status status =
        assay_op_problem(out->op, w->g->dtype, NULL, axes, w->g->threads, &out->problem, w->err);
    if (status != ASSAY_OK)
        return status;
    memcpy(out->in, in, (size_t)out->problem.n_inputs * sizeof *in);
    return add_node(w, out);
}

/* ---- one op's gradient ----------------------------------------------------------------------- */

static int32_t param_named(const struct assay_op *op, const char *name)
{
    for (int32_t i = 0; i < ASSAY_MAX_PARAMS && op->param_names[i]; i++)
        if (strcmp(op->param_names[i], name) == 0)
            return i;
    return -1;
}

/* Those of the same name as the forward op's. */
static void copy_params(const struct assay_problem *from, struct assay_problem *to)
{
    const struct assay_op *op = assay_op_find(from->op), *other = assay_op_find(to->op);
    for (int32_t i = 0; i < from->n_params; i++) {
        int32_t at = param_named(other, op->param_names[i]);
        if (at >= 0)
            to->params[at] = from->params[i];
    }
}

/* What lies in a saved statistic need not be known again. */
bool assay_gradient_covers(const struct assay_problem *forward)
{
    const struct assay_op *op = assay_op_find(forward->op);
    const struct assay_op *backward = assay_op_of_pass(op, ASSAY_PASS_BACKWARD);
    for (int32_t i = 0; backward && i < forward->n_params; i++)
        if (forward->params[i] != op->params[i] && strcmp(op->param_names[i], "eps") != 0 &&
            param_named(backward, op->param_names[i]) < 0)
            return false;
    return backward != NULL;
}

static enum assay_status check_node(const struct work *w, const struct assay_node *node)
{
    const struct assay_op *backward = assay_op_of_pass(node->op, ASSAY_PASS_BACKWARD);
    if (!backward)
        return assay_error_set(w->err, ASSAY_ERR_INVALID, NULL,
                               "cannot be trained: %s has no gradient", node->op->name);
    if (!assay_gradient_covers(&node->problem))
        return assay_error_set(w->err, ASSAY_ERR_INVALID, NULL,
                               "cannot be trained: the gradient of %s has not this mode; make "
                               "activations and residuals nodes of their own",
                               node->op->name);
    for (int32_t i = 0; i < ASSAY_MAX_INPUTS; i++)
        if (backward->gradient->in[i].source == ASSAY_FROM_SAVED && !backward->gradient->training)
            return assay_error_set(w->err, ASSAY_ERR_INVALID, NULL,
                                   "cannot be trained: %s does not save what its gradient needs",
                                   node->op->name);
    return ASSAY_OK;
}

/* The op that saves statistics, or casts what it multiplies, in place of the forward op. */
static enum assay_status replace_node(const struct work *w, struct assay_node *node)
{
    const char *training =
        w->how->casts && node->op->step_op
            ? node->op->step_op
            : assay_op_of_pass(node->op, ASSAY_PASS_BACKWARD)->gradient->training;
    if (!training)
        return ASSAY_OK;
    struct assay_problem forward = node->problem;
    node->op = assay_op_find(training);
    enum assay_status status = assay_op_problem(node->op, w->g->dtype, NULL, forward.axes,
                                                w->g->threads, &node->problem, w->err);
    if (status != ASSAY_OK)
        return status;
    copy_params(&forward, &node->problem);
    node->op->shapes(&node->problem);
    for (int32_t i = 1; i < node->problem.n_outputs && status == ASSAY_OK; i++)
        status = add_value(w, ASSAY_VALUE_INNER, &node->problem.outputs[i], &node->out[i]);
    return status;
}

static int32_t source_value(const struct work *w, const struct assay_node *node,
                            const struct assay_gradient_input *from)
{
    switch (from->source) {
    case ASSAY_FROM_GRADIENT:
        return w->gradients[node->out[from->index]];
    case ASSAY_FROM_INPUT:
        return node->in[from->index];
    case ASSAY_FROM_OUTPUT:
        return node->out[from->index];
    default:
        return node->out[1 + from->index];
    }
}

/* One more user of a value gives its part of the gradient. */
static enum assay_status accumulate(struct work *w, int32_t value, int32_t gradient)
{
    int32_t *sum = &w->gradients[value];
    if (*sum < 0) {
        *sum = gradient;
        return ASSAY_OK;
    }
    struct assay_node node;
    enum assay_status status = add_row_node(w, "add", value, (int32_t[]){*sum, gradient}, &node);
    if (status == ASSAY_OK)
        *sum = node.out[0];
    return status;
}

/* Bit i: input i must have a gradient. */
static uint32_t wanted_inputs(const struct work *w, const struct assay_node *node)
{
    uint32_t wanted = 0;
    for (int32_t i = 0; i < node->problem.n_inputs; i++)
        wanted |= (uint32_t)w->wanted[node->in[i]] << i;
    return wanted;
}

/* The problem of the gradient of a node, and where its operands come from. */
static enum assay_status gradient_problem(const struct work *w, const struct assay_node *forward,
                                          uint32_t wanted, struct assay_node *out,
                                          const struct assay_gradient **how)
{
    enum assay_status status = assay_op_problem(out->op, w->g->dtype, NULL, forward->problem.axes,
                                                w->g->threads, &out->problem, w->err);
    if (status != ASSAY_OK)
        return status;
    copy_params(&forward->problem, &out->problem);
    if (out->op->gradient->only)
        out->op->gradient->only(wanted, out->problem.params);
    out->op->shapes(&out->problem);
    *how = assay_op_gradient(out->op, &out->problem);
    return ASSAY_OK;
}

static enum assay_status pass_on(struct work *w, const struct assay_node *node)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < node->problem.n_inputs && status == ASSAY_OK; i++)
        if (w->wanted[node->in[i]])
            status = accumulate(w, node->in[i], w->gradients[node->out[0]]);
    return status;
}

/* The gradients of a node's inputs from that of its output. `forward` is what the node was before
 * it was to save statistics. */
static enum assay_status differentiate(struct work *w, const struct assay_node *forward,
                                       const struct assay_node *node)
{
    struct assay_node gradient = {.op = assay_op_of_pass(forward->op, ASSAY_PASS_BACKWARD)};
    const struct assay_gradient *how = NULL;
    uint32_t wanted = wanted_inputs(w, node);
    if (w->gradients[node->out[0]] < 0 || !wanted)
        return ASSAY_OK;
    if (gradient.op->gradient->passes_on)
        return pass_on(w, node);
    enum assay_status status = gradient_problem(w, forward, wanted, &gradient, &how);
    if (status != ASSAY_OK)
        return status;
    for (int32_t i = 0; i < gradient.problem.n_inputs; i++)
        gradient.in[i] = source_value(w, node, &how->in[i]);
    status = add_node(w, &gradient);
    for (int32_t i = 0; i < gradient.problem.n_outputs && status == ASSAY_OK; i++) {
        int32_t of = how->of[i] < 0 ? -1 : node->in[how->of[i]];
        if (of < 0 || !w->wanted[of])
            continue;
        w->g->values[gradient.out[i]].tensor = w->g->values[of].tensor;
        status = accumulate(w, of, gradient.out[i]);
    }
    return status;
}

/* ---- the whole graph ------------------------------------------------------------------------- */

/* Does a value change with what is to have gradients? */
static void find_wanted(struct work *w, const struct assay_graph *forward)
{
    for (int32_t i = 0; i < forward->n_values; i++) {
        const struct assay_value *value = &forward->values[i];
        w->wanted[i] = is_parameter(value) ||
                       (value->kind == ASSAY_VALUE_INPUT && w->how->pass != ASSAY_PASS_STEP);
        w->gradients[i] = -1;
    }
    for (int32_t i = 0; i < forward->n_nodes; i++)
        for (int32_t j = 0; j < forward->nodes[i].problem.n_inputs; j++)
            w->wanted[forward->nodes[i].out[0]] |= w->wanted[forward->nodes[i].in[j]];
}

/* The gradient of the output: an input before all others, or ones. */
static enum assay_status seed(struct work *w)
{
    struct assay_graph *g = w->g;
    const struct assay_tensor *y = &g->values[g->output].tensor;
    bool given = w->how->pass == ASSAY_PASS_BACKWARD;
    if (given && g->n_inputs == ASSAY_MAX_INPUTS)
        return assay_error_set(w->err, ASSAY_ERR_INVALID, NULL,
                               "a backward pass has %d inputs at the most, this one %d",
                               ASSAY_MAX_INPUTS, g->n_inputs + 1);
    enum assay_status status =
        add_value(w, given ? ASSAY_VALUE_INPUT : ASSAY_VALUE_ONES, y, &w->gradients[g->output]);
    if (status != ASSAY_OK || !given)
        return status;
    for (int32_t i = 0; i < g->n_values; i++)
        if (g->values[i].input >= 0)
            g->values[i].input = (g->values[i].input + 1) % g->n_inputs;
    return ASSAY_OK;
}

static int32_t value_of_input(const struct assay_graph *g, int32_t input)
{
    for (int32_t i = 0; i < g->n_values; i++)
        if (g->values[i].input == input)
            return i;
    return -1;
}

/* An output of its own: what comes from outside, or is an output already, is copied. */
static enum assay_status add_output(const struct work *w, int32_t value)
{
    struct assay_graph *g = w->g;
    bool own = g->values[value].kind == ASSAY_VALUE_INNER && g->values[value].output < 0;
    struct assay_node node;
    if (g->n_outputs == ASSAY_MAX_OUTPUTS)
        return assay_error_set(w->err, ASSAY_ERR_INVALID, NULL,
                               "a training pass has %d outputs at the most", ASSAY_MAX_OUTPUTS);
    enum assay_status status = own ? ASSAY_OK : add_row_node(w, "copy", value, &value, &node);
    if (status != ASSAY_OK)
        return status;
    if (!own)
        g->values[node.out[0]].tensor = g->values[value].tensor;
    g->values[own ? value : node.out[0]].output = g->n_outputs++;
    return ASSAY_OK;
}

static enum assay_status add_gradient_outputs(const struct work *w)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < w->g->n_inputs && status == ASSAY_OK; i++) {
        int32_t value = value_of_input(w->g, i);
        if (value < ASSAY_MODEL_VALUES && w->wanted[value] && w->gradients[value] >= 0)
            status = add_output(w, w->gradients[value]);
    }
    return status;
}

/* The sum of the output belongs to the forward pass. */
static enum assay_status add_loss(struct work *w)
{
    struct assay_node node;
    enum assay_status status = add_row_node(w, "sum", w->g->output, &w->g->output, &node);
    if (status != ASSAY_OK)
        return status;
    w->g->n_forward = w->g->n_nodes;
    return add_output(w, node.out[0]);
}

/* ---- the optimizer --------------------------------------------------------------------------- */

/* A state that never changes, as inputs do not: no moments yet, and squares of 1. The learning rate
 * is large enough that a parameter that was left as it is would be seen, even in bf16: w is some
 * 1 / sqrt(k), and a gradient of 1 moves it by 0.008 (adamw) or 0.05 (sgd). */
static const double ADAMW_LR = 0.1, ADAMW_STEP = 1000, SGD_LR = 0.05;

static void set_rates(enum assay_optimizer optimizer, struct assay_problem *p)
{
    if (optimizer == ASSAY_OPTIMIZER_SGD) {
        p->params[ASSAY_SGD_LR] = SGD_LR;
        return;
    }
    p->params[ASSAY_ADAMW_LR] = ADAMW_LR;
    p->params[ASSAY_ADAMW_STEP] = ADAMW_STEP;
}

/* Inputs are w, its gradient, and of adamw both moments. */
static enum assay_status update(const struct work *w, int32_t parameter)
{
    struct assay_tensor t = w->g->values[parameter].tensor;
    int32_t in[] = {parameter, w->gradients[parameter], -1, -1};
    bool adamw = w->how->optimizer == ASSAY_OPTIMIZER_ADAMW;
    struct assay_node node;
    enum assay_status status = ASSAY_OK;
    if (adamw)
        status = add_value(w, ASSAY_VALUE_ZEROS, &t, &in[ASSAY_ADAMW_M]);
    if (adamw && status == ASSAY_OK)
        status = add_value(w, ASSAY_VALUE_ONES, &t, &in[ASSAY_ADAMW_V]);
    if (status == ASSAY_OK)
        status = add_row_node(w, assay_optimizer_name(w->how->optimizer), parameter, in, &node);
    if (status != ASSAY_OK)
        return status;
    set_rates(w->how->optimizer, &w->g->nodes[w->g->n_nodes - 1].problem);
    w->g->values[node.out[0]].tensor = t;
    return add_output(w, node.out[0]);
}

static enum assay_status add_updates(const struct work *w)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < w->g->n_inputs && status == ASSAY_OK; i++) {
        int32_t value = value_of_input(w->g, i);
        if (is_parameter(&w->g->values[value]) && w->gradients[value] >= 0)
            status = update(w, value);
    }
    return status;
}

/* ---- what is needed, what is kept ------------------------------------------------------------ */

static bool is_needed(const struct assay_graph *g, const struct assay_node *node,
                      const bool *needed)
{
    for (int32_t i = 0; i < node->problem.n_outputs; i++)
        if (g->values[node->out[i]].output >= 0 || needed[node->out[i]])
            return true;
    return false;
}

static void remove_unneeded(struct assay_graph *g)
{
    bool needed[ASSAY_GRAPH_VALUES] = {0};
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) {
        struct assay_node *node = &g->nodes[i];
        if (is_needed(g, node, needed)) {
            for (int32_t j = 0; j < node->problem.n_inputs; j++)
                needed[node->in[j]] = true;
            continue;
        }
        memmove(node, node + 1, (size_t)(g->n_nodes - i - 1) * sizeof *node);
        g->n_nodes--;
        g->n_forward -= i < g->n_forward;
    }
}

void assay_graph_mark_kept(struct assay_graph *g)
{
    for (int32_t i = 0; i < g->n_values; i++)
        g->values[i].kept = false;
    for (int32_t i = g->n_forward; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].problem.n_inputs; j++) {
            int32_t made_by = assay_graph_maker(g, g->nodes[i].in[j]);
            g->values[g->nodes[i].in[j]].kept |= made_by >= 0 && made_by < g->n_forward;
        }
}

static enum assay_status differentiate_all(struct work *w, const struct assay_graph *forward)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < forward->n_nodes && status == ASSAY_OK; i++)
        status = check_node(w, &forward->nodes[i]);
    for (int32_t i = 0; i < forward->n_nodes && status == ASSAY_OK; i++)
        status = replace_node(w, &w->g->nodes[i]);
    if (status == ASSAY_OK && w->how->pass != ASSAY_PASS_FORWARD &&
        w->how->pass != ASSAY_PASS_BACKWARD)
        status = add_loss(w);
    if (status == ASSAY_OK)
        status = seed(w);
    for (int32_t i = forward->n_nodes - 1; i >= 0 && status == ASSAY_OK; i--)
        status = differentiate(w, &forward->nodes[i], &w->g->nodes[i]);
    return status;
}

/* Of the forward pass alone: marked what the backward pass would need, which is left out then. */
static void leave_out_backward(struct assay_graph *g)
{
    g->n_nodes = g->n_forward;
    for (int32_t i = 0; i < g->n_values; i++)
        g->values[i].output = -1;
    g->values[g->output].output = 0;
    g->n_outputs = 1;
}

enum assay_status assay_graph_train(const struct assay_graph *forward,
                                    const struct assay_training *how, struct assay_graph *out,
                                    struct assay_error *err)
{
    struct work w = {.how = how, .g = out, .err = err};
    *out = *forward;
    out->values[out->output].output = -1;
    out->n_outputs = 0;
    out->n_forward = out->n_nodes;
    out->runs_backward = how->pass == ASSAY_PASS_BACKWARD;
    find_wanted(&w, forward);
    enum assay_status status = differentiate_all(&w, forward);
    if (status == ASSAY_OK)
        status = how->pass == ASSAY_PASS_STEP ? add_updates(&w) : add_gradient_outputs(&w);
    if (status != ASSAY_OK)
        return status;
    if (how->pass == ASSAY_PASS_FORWARD)
        out->values[out->output].output = out->n_outputs;
    remove_unneeded(out);
    assay_graph_mark_kept(out);
    if (how->recompute)
        status = assay_graph_recompute(out, forward, err);
    if (status == ASSAY_OK && how->pass == ASSAY_PASS_FORWARD)
        leave_out_backward(out);
    return status;
}
