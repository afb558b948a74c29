/* model_op.c: a model as an op: its tensors, fills, cost and tolerance, from its graph. */
#include "model/model_op.h"

#include "op/linear.h"
#include "op/node.h"

#include <math.h>
#include <string.h>

enum { M, K, N };

/* The largest size accepted: the product of two, times a small factor, fits in int64_t. Of more
 * than three sizes the product of all is bounded. */
static const int64_t MOST_SIZE = INT64_C(1) << 28;
static const double MOST_PRODUCT = 0x1p56;

static void build(const struct assay_problem *p, struct assay_graph *g)
{
    const struct assay_model *model = NULL;
    *g = (struct assay_graph){.dtype = p->dtype, .threads = p->threads, .output = -1};
    if (assay_model_find(p->op, &model, &g->error) == ASSAY_OK) {
        if (model->build)
            model->build(g, p->axes[M], p->axes[K], p->axes[N]);
        else
            model->build_from(g, model, p->axes);
    }
    if (g->error.code == ASSAY_OK && g->output < 0)
        assay_error_set(&g->error, ASSAY_ERR_INVALID, NULL, "a model without an output");
}

enum assay_status assay_model_graph(const struct assay_problem *problem, struct assay_graph *out,
                                    struct assay_error *err)
{
    build(problem, out);
    if (out->error.code != ASSAY_OK)
        return assay_error_set(err, out->error.code, NULL, "%s", out->error.message);
    return ASSAY_OK;
}

struct assay_recipe assay_model_recipe(const struct assay_problem *problem)
{
    struct assay_recipe recipe;
    if (assay_recipe_parse(problem->recipe, &recipe, NULL) != ASSAY_OK)
        recipe = (struct assay_recipe){.name = "baseline"};
    return recipe;
}

/* In the caller's 44 kB: most callers have no way to report a lack of memory. */
static struct assay_graph *graph_of(const struct assay_problem *p, struct assay_graph *storage)
{
    *storage = (struct assay_graph){0};
    build(p, storage);
    return storage;
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
    struct assay_graph storage, *g = graph_of(p, &storage);
    enum assay_status status =
        g->error.code != ASSAY_OK
            ? assay_error_set(err, g->error.code, assay_op_shown(p->op), "%s", g->error.message)
            : ASSAY_OK;
    return status;
}

static void shapes(struct assay_problem *p)
{
    struct assay_graph storage, *g = graph_of(p, &storage);
    p->n_inputs = g->n_inputs;
    p->n_outputs = 1;
    for (int32_t i = 0; i < g->n_values; i++)
        if (g->values[i].input >= 0)
            p->inputs[g->values[i].input] = g->values[i].tensor;
    p->outputs[0] = g->values[g->output].tensor;
}

static const struct assay_value *input_value(const struct assay_graph *g, int32_t input)
{
    for (int32_t i = 0; i < g->n_values; i++)
        if (g->values[i].input == input)
            return &g->values[i];
    return NULL;
}

/* As the ops themselves fill theirs: x with deviation 1, weights 1 / sqrt(k), a norm's around 1. */
static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    struct assay_graph storage, *g = graph_of(p, &storage);
    const struct assay_value *value = input_value(g, index);
    if (value) {
        double deviation = value->deviation > 0 ? value->deviation : value->around_one ? 0.25 : 1;
        double first = 1.5 * deviation + value->around_one;
        assay_tensor_fill_scaled(&value->tensor, data, seed, deviation, value->around_one);
        assay_dtype_store(value->tensor.dtype, &first, data, 0, 1);
    }
}

static bool is_weight(const struct assay_problem *p, int32_t input)
{
    struct assay_graph storage, *g = graph_of(p, &storage);
    const struct assay_value *value = input_value(g, input);
    bool weight = value && (value->kind == ASSAY_VALUE_WEIGHT || value->kind == ASSAY_VALUE_FILTER);
    return weight;
}

static bool is_constant(const struct assay_problem *p, int32_t input)
{
    struct assay_graph storage, *g = graph_of(p, &storage);
    const struct assay_value *value = input_value(g, input);
    bool constant = value && value->kind != ASSAY_VALUE_INPUT;
    return constant;
}

static int64_t row_block(const struct assay_problem *p)
{
    struct assay_graph storage, *g = graph_of(p, &storage);
    int64_t rows = g->parts ? g->values[g->output].tensor.dims[0] / g->parts : 1;
    return rows;
}

/* The least: x and the weights once in, the output once out. What lies between need not leave the
 * chip. The kind of arithmetic is that of the layers with weights. */
static struct assay_cost cost(const struct assay_problem *p)
{
    struct assay_cost sum = {0};
    struct assay_graph storage, *g = graph_of(p, &storage);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        struct assay_problem node = g->nodes[i].problem;
        bool linear = g->nodes[i].op->takes_recipes;
        node.recipe = linear ? p->recipe : NULL;
        struct assay_cost one = g->nodes[i].op->cost(&node);
        sum.flops += one.flops;
        sum.weight_bytes += one.weight_bytes;
        if (one.weight_bytes > 0)
            sum.math = one.math;
    }
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
    struct assay_graph storage, *g = graph_of(p, &storage);
    for (int32_t i = 0; i < g->n_nodes; i++) {
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
    return sum;
}

void assay_model_op_fill(const struct assay_model *model, const char *name, struct assay_op *out)
{
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
}
