/* model_op.c: a model as an op: its tensors, fills, cost and tolerance, from its graph. */
#include "model/model_op.h"

#include "base/alloc.h"
#include "base/text.h"
#include "op/common.h"
#include "op/linear.h"
#include "op/node.h"

#include <math.h>
#include <string.h>

enum { M, K, N };

/* The largest size accepted: the product of two, times a small factor, fits in int64_t. Of more
 * than three sizes the product of all is bounded. */
static const int64_t MOST_SIZE = INT64_C(1) << 28;
static const double MOST_PRODUCT = 0x1p56;

enum { OPTIMIZER }; /* param of a step */

enum assay_status assay_model_forward_graph(const struct assay_problem *problem,
                                            struct assay_graph **out, struct assay_error *err)
{
    struct assay_model_pass of;
    struct assay_graph *g = assay_graph_create(problem->dtype, problem->threads);
    *out = g;
    if (!g)
        return assay_error_nomem(err);
    if (assay_model_find_pass(problem->op, &of, &g->error) == ASSAY_OK) {
        if (of.model->build)
            of.model->build(g, problem->axes[M], problem->axes[K], problem->axes[N]);
        else
            of.model->build_from(g, of.model, problem->axes);
    }
    if (g->error.code == ASSAY_OK && g->output < 0)
        assay_error_set(&g->error, ASSAY_ERR_INVALID, NULL, "a model without an output");
    return g->error.code == ASSAY_OK
               ? ASSAY_OK
               : assay_error_set(err, g->error.code, NULL, "%s", g->error.message);
}

enum assay_status assay_model_train(const struct assay_problem *problem, bool recompute,
                                    struct assay_graph **graph, struct assay_error *err)
{
    struct assay_model_pass of;
    enum assay_status status = assay_model_find_pass(problem->op, &of, err);
    if (status != ASSAY_OK || !of.trains)
        return status;
    struct assay_training how = {.pass = of.pass,
                                 .optimizer = (enum assay_optimizer)problem->params[OPTIMIZER],
                                 .recompute = recompute,
                                 .casts = assay_model_recipe(problem).trains};
    struct assay_graph *forward = *graph;
    *graph = assay_malloc(sizeof **graph);
    status = *graph ? assay_graph_train(forward, &how, *graph, err) : assay_error_nomem(err);
    assay_free(forward);
    return status;
}

enum assay_status assay_model_graph(const struct assay_problem *problem, struct assay_graph **out,
                                    struct assay_error *err)
{
    enum assay_status status = assay_model_forward_graph(problem, out, err);
    return status == ASSAY_OK ? assay_model_train(problem, false, out, err) : status;
}

struct assay_recipe assay_model_recipe(const struct assay_problem *problem)
{
    struct assay_recipe recipe;
    if (assay_recipe_parse(problem->recipe, &recipe, NULL) != ASSAY_OK)
        recipe = (struct assay_recipe){.name = "baseline"};
    return recipe;
}

/* For functions that have no way to report a lack of memory: NULL then. assay_op_problem has built
 * the graph by then, and reports it. */
static struct assay_graph *graph_of(const struct assay_problem *p)
{
    struct assay_graph *g = NULL;
    if (assay_model_graph(p, &g, NULL) == ASSAY_OK)
        return g;
    assay_free(g);
    return NULL;
}

static enum assay_status check(const struct assay_problem *p, struct assay_error *err)
{
    const struct assay_op *op = assay_model_op(p->op);
    double product = 1;
    for (int32_t i = 0; i < p->n_axes; i++) {
        product *= fmax((double)p->axes[i], 1);
        if (p->axes[i] > MOST_SIZE)
            return assay_error_set(err, ASSAY_ERR_INVALID, assay_op_shown(p->op),
                                   "%s = %lld is too large: %lld at the most", op->axis_names[i],
                                   (long long)p->axes[i], (long long)MOST_SIZE);
    }
    if (p->n_axes > 3 && product > MOST_PRODUCT)
        return assay_error_set(err, ASSAY_ERR_INVALID, assay_op_shown(p->op),
                               "these sizes make a model too large for any machine");
    struct assay_graph *g = NULL;
    struct assay_error why = {0};
    enum assay_status status = assay_model_graph(p, &g, &why);
    assay_free(g);
    return status == ASSAY_OK
               ? ASSAY_OK
               : assay_error_set(err, status, assay_op_shown(p->op), "%s", why.message);
}

/* Without memory it has no outputs. */
static void shapes(struct assay_problem *p)
{
    struct assay_graph *g = graph_of(p);
    p->n_inputs = g ? g->n_inputs : 0;
    p->n_outputs = g ? g->n_outputs : 0;
    for (int32_t i = 0; g && i < g->n_values; i++) {
        const struct assay_value *value = &g->values[i];
        if (value->input >= 0)
            p->inputs[value->input] = value->tensor;
        if (value->output >= 0)
            p->outputs[value->output] = value->tensor;
    }
    assay_free(g);
}

/* What is an input of the model; a kind of INNER without memory. */
static struct assay_value input_value(const struct assay_problem *p, int32_t input)
{
    struct assay_value found = {.kind = ASSAY_VALUE_INNER};
    struct assay_graph *g = graph_of(p);
    for (int32_t i = 0; g && i < g->n_values; i++)
        if (g->values[i].input == input)
            found = g->values[i];
    assay_free(g);
    return found;
}

/* As the ops themselves fill theirs: x with deviation 1, weights 1 / sqrt(k), a norm's around 1. */
static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    struct assay_value value = input_value(p, index);
    if (value.kind != ASSAY_VALUE_INNER) {
        double deviation = value.deviation > 0 ? value.deviation : value.around_one ? 0.25 : 1;
        double first = 1.5 * deviation + value.around_one;
        assay_tensor_fill_scaled(&value.tensor, data, seed, deviation, value.around_one);
        assay_dtype_store(value.tensor.dtype, &first, data, 0, 1);
    }
}

static bool is_weight(const struct assay_problem *p, int32_t input)
{
    enum assay_value_kind kind = input_value(p, input).kind;
    return kind == ASSAY_VALUE_WEIGHT || kind == ASSAY_VALUE_FILTER;
}

static bool is_constant(const struct assay_problem *p, int32_t input)
{
    enum assay_value_kind kind = input_value(p, input).kind;
    return kind != ASSAY_VALUE_INPUT && kind != ASSAY_VALUE_INNER;
}

static int64_t row_block(const struct assay_problem *p)
{
    struct assay_graph *g = graph_of(p);
    int64_t rows = g && g->parts ? g->values[g->output].tensor.dims[0] / g->parts : 1;
    assay_free(g);
    return rows;
}

/* The least: x and the weights once in, the output once out. What lies between need not leave the
 * chip. The kind of arithmetic is that of the layers with weights. */
static struct assay_cost cost(const struct assay_problem *p)
{
    struct assay_cost sum = {0};
    struct assay_graph *g = graph_of(p);
    for (int32_t i = 0; g && i < g->n_nodes; i++) {
        struct assay_problem node = g->nodes[i].problem;
        bool linear = g->nodes[i].op->takes_recipes;
        node.recipe = linear ? p->recipe : NULL;
        struct assay_cost one = g->nodes[i].op->cost(&node);
        sum.flops += one.flops;
        sum.weight_bytes += one.weight_bytes;
        if (one.weight_bytes > 0)
            sum.math = one.math;
    }
    assay_free(g);
    sum.bytes_read = sum.weight_bytes;
    for (int32_t i = 0; i < p->n_inputs; i++)
        if (!is_weight(p, i))
            sum.bytes_read += (double)assay_tensor_bytes(&p->inputs[i]);
    sum.bytes_written = (double)assay_tensor_bytes(&p->outputs[0]);
    return sum;
}

/* How large the partial sums of a node become, for values of the order of 1. */
static double node_size(const struct assay_node *node)
{
    const struct assay_op_node *how = node->op->node;
    return how->size ? how->size(&node->problem) : 4;
}

/* The reference rounds what one node hands to the next; an executor may keep more, and sums in
 * another order. Values are of the order of 1, up to 4 or so.
 *   Each node: k independent roundings of half a unit of its inputs, as for the op linear.
 *   Each linear whose input is quantised at run time: codes that come out differently. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    struct assay_recipe recipe = assay_model_recipe(p);
    const struct assay_dtype_info *info = assay_dtype_info(p->dtype);
    struct assay_tolerance sum = {.relative = 2 * info->unit + 0x1p-22, .absolute = info->tiny};
    double flips = 0; /* of several layers: independent */
    int layers = 0;
    struct assay_graph *g = graph_of(p);
    for (int32_t i = 0; g && i < g->n_nodes; i++) {
        struct assay_problem node = g->nodes[i].problem;
        bool linear = g->nodes[i].op->takes_recipes, first = i == 0;
        node.recipe = linear ? p->recipe : NULL;
        struct assay_tolerance t = g->nodes[i].op->tolerance(&node);
        sum.absolute += t.absolute + node_size(&g->nodes[i]) * t.summed;
        sum.absolute += (g->n_nodes > 1 ? 3 : 0) * info->unit;
        if (linear && !first) { /* behind a layer with a flip its values have few bits in common */
            enum assay_dtype dtype = layers > 0 ? ASSAY_DTYPE_BF16 : p->dtype;
            double one = assay_linear_flips(&recipe, dtype, node.axes[ASSAY_LINEAR_K]);
            flips += one * one;
        }
        layers += linear;
    }
    sum.absolute += sqrt(flips);
    assay_free(g);
    return sum;
}

/* ---- in training ----------------------------------------------------------------------------- */

/* Weights change with every step: a kernel may keep nothing of them. */
static bool is_no_weight(const struct assay_problem *p, int32_t input)
{
    (void)p, (void)input;
    return false;
}

/* What the forward pass reads is what the saved tensors were made of, before the timed pass. */
static bool is_not_the_gradient(const struct assay_problem *p, int32_t input)
{
    (void)p;
    return input > 0;
}

/* The least: the inputs once in, the outputs once out. What is saved could be computed again. */
static struct assay_cost training_cost(const struct assay_problem *p)
{
    struct assay_cost sum = assay_op_cost_streaming(p, 0);
    struct assay_graph *g = graph_of(p);
    double most = 0;
    sum.flops = 0;
    for (int32_t i = g ? assay_graph_first_timed(g) : 0; g && i < g->n_nodes; i++) {
        struct assay_problem node = g->nodes[i].problem;
        node.recipe = g->nodes[i].op->trains ? p->recipe : NULL;
        struct assay_cost one = g->nodes[i].op->cost(&node);
        sum.flops += one.flops;
        if (one.flops > most)
            sum.math = one.math;
        most = fmax(most, one.flops);
    }
    assay_free(g);
    return sum;
}

static enum assay_status set_optimizer(struct assay_problem *p, const char *mode,
                                       struct assay_error *err)
{
    for (int i = 0; i < ASSAY_OPTIMIZERS; i++)
        if (assay_text_same(mode[0] ? mode : "adamw",
                            assay_optimizer_name((enum assay_optimizer)i))) {
            p->params[OPTIMIZER] = i;
            return ASSAY_OK;
        }
    return assay_error_set(err, ASSAY_ERR_INVALID, assay_op_shown(p->op),
                           "\"%.60s\" is no optimizer; there are adamw and sgd", mode);
}

static void make_training(struct assay_op *op, enum assay_pass pass)
{
    op->in_training = true;
    op->trains = true;
    op->pass = pass;
    op->cost = training_cost;
    op->is_weight = is_no_weight;
    op->is_constant = pass == ASSAY_PASS_BACKWARD ? is_not_the_gradient : is_no_weight;
    op->row_block = NULL;
    op->reference_blocks = NULL;
    op->reference_all = assay_model_training_reference;
    op->tolerance = NULL;
    if (pass == ASSAY_PASS_STEP) {
        op->param_names[OPTIMIZER] = "optimizer";
        op->modes = "adamw, sgd";
        op->set_mode = set_optimizer;
    }
}

void assay_model_op_fill(const struct assay_model_pass *of, const char *name, struct assay_op *out)
{
    const struct assay_model *model = of->model;
    bool named = model->axis_names[0] != NULL;
    *out = (struct assay_op){
        .name = name,
        .title = model->title,
        .summary = model->summary,
        .axis_names = {"m", "k", "n"},
        .zero_axes = model->zero_axes,
        .check = check,
        .shapes = shapes,
        .fill = fill,
        .cost = cost,
        .tolerance = tolerance,
        .takes_recipes = true,
        .is_weight = is_weight,
        .is_constant = is_constant,
        .row_block = row_block,
        .reference_blocks = assay_model_reference,
    };
    for (int32_t i = 0; named && i < ASSAY_MAX_AXES; i++)
        out->axis_names[i] = model->axis_names[i];
    if (of->trains)
        make_training(out, of->pass);
}
