#include "model/graph.h"

#include "base/alloc.h"
#include "model/gradient.h"
#include "op/node.h"

#include <math.h>
#include <string.h>

struct assay_graph *assay_graph_create(enum assay_dtype dtype, int32_t threads)
{
    struct assay_graph *g = assay_calloc(1, sizeof *g);
    if (g)
        *g = (struct assay_graph){.dtype = dtype, .threads = threads, .output = -1};
    return g;
}

static bool failed(const struct assay_graph *g) { return g->error.code != ASSAY_OK; }

static int32_t fail(struct assay_graph *g, const char *message)
{
    if (!failed(g))
        assay_error_set(&g->error, ASSAY_ERR_INVALID, NULL, "%s", message);
    return -1;
}

int32_t assay_graph_value(struct assay_graph *g, enum assay_value_kind kind,
                          const struct assay_tensor *tensor)
{
    bool of_the_model = kind <= ASSAY_VALUE_SCALE;
    if (failed(g))
        return -1;
    if (g->n_values == ASSAY_GRAPH_VALUES || (of_the_model && g->n_inputs == ASSAY_MAX_INPUTS))
        return fail(g, "the model has too many values");
    g->values[g->n_values] = (struct assay_value){
        .kind = kind, .tensor = *tensor, .input = of_the_model ? g->n_inputs++ : -1, .output = -1};
    return g->n_values++;
}

int32_t assay_graph_maker(const struct assay_graph *g, int32_t value)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].problem.n_outputs; j++)
            if (g->nodes[i].out[j] == value)
                return i;
    return -1;
}

int32_t assay_graph_first_timed(const struct assay_graph *g)
{
    return g->runs_backward ? g->n_forward : 0;
}

/* The sum is the last of the forward pass, and is there for the backward pass alone. */
const char *assay_graph_phase(const struct assay_graph *graph, int32_t node)
{
    const struct assay_node *n = &graph->nodes[node];
    bool sums = graph->n_nodes > graph->n_forward && !graph->runs_backward;
    if (node < graph->n_forward)
        return sums && node == graph->n_forward - 1 && strcmp(n->op->name, "sum") == 0 ? "loss"
                                                                                       : "forward";
    for (int i = 0; i < ASSAY_OPTIMIZERS; i++)
        if (strcmp(n->op->name, assay_optimizer_name((enum assay_optimizer)i)) == 0)
            return "optimizer";
    return "backward";
}

static int32_t add_value(struct assay_graph *g, enum assay_value_kind kind,
                         const struct assay_tensor *tensor)
{
    if (!failed(g) && g->n_values == ASSAY_MODEL_VALUES)
        return fail(g, "the model has too many values");
    return assay_graph_value(g, kind, tensor);
}

static struct assay_tensor matrix(const struct assay_graph *g, int64_t rows, int64_t columns)
{
    return (struct assay_tensor){.dtype = g->dtype, .rank = 2, .dims = {rows, columns}};
}

static int64_t rows_of(const struct assay_graph *g, int32_t value)
{
    return g->values[value].tensor.dims[0];
}

static int64_t columns_of(const struct assay_graph *g, int32_t value)
{
    return g->values[value].tensor.dims[1];
}

static int32_t add_vector(struct assay_graph *g, enum assay_value_kind kind, int64_t length,
                          bool around_one)
{
    struct assay_tensor vector = {.dtype = g->dtype, .rank = 1, .dims = {length}};
    int32_t value = add_value(g, kind, &vector);
    if (value >= 0)
        g->values[value].around_one = around_one;
    return value;
}

/* The output of an op as a matrix. */
static struct assay_tensor output_of(const struct assay_graph *g, const struct assay_node *node)
{
    const struct assay_tensor *out = &node->problem.outputs[0];
    int64_t columns = 1;
    for (int32_t i = 0; i < (node->op->node->joined ? node->op->node->joined : 1); i++)
        columns *= out->dims[out->rank - 1 - i];
    return matrix(g, assay_tensor_count(out) / columns, columns);
}

/* An input of a node that no other node gives: a weight, a filter, or a vector of ones and zeros or
 * of the model's own. */
static int32_t add_operand(struct assay_graph *g, const struct assay_node *node, int32_t index,
                           bool weights)
{
    const struct assay_tensor *tensor = &node->problem.inputs[index];
    const struct assay_tensor *out = &node->problem.outputs[0];
    bool gain = index == node->op->node->gain;
    if (node->op->is_weight && node->op->is_weight(&node->problem, index)) {
        int32_t value =
            add_value(g, node->op->takes_recipes ? ASSAY_VALUE_WEIGHT : ASSAY_VALUE_FILTER, tensor);
        double outputs = (double)out->dims[out->rank - 1];
        if (value >= 0)
            g->values[value].deviation = 1 / sqrt((double)assay_tensor_count(tensor) / outputs);
        return value;
    }
    return add_vector(g,
                      weights ? ASSAY_VALUE_SCALE
                      : gain  ? ASSAY_VALUE_ONES
                              : ASSAY_VALUE_ZEROS,
                      tensor->dims[0], gain);
}

/* From here on rows are verified in `parts` equal blocks. */
static bool divide(struct assay_graph *g, int64_t parts)
{
    if (g->parts && g->parts != parts) {
        fail(g, "every attention node of a model must see the same number of sequences, and every "
                "convolution and groupnorm the same number of images");
        return false;
    }
    g->parts = parts;
    return true;
}

/* The problem of a node over these values. */
static bool make_problem(struct assay_graph *g, struct assay_node *node, const char *mode,
                         const struct assay_node_sizes *sizes)
{
    const struct assay_op_node *how = node->op->node;
    int64_t axes[ASSAY_MAX_AXES] = {1, sizes->rows, sizes->columns};
    if (how->axes && how->axes(sizes, axes, &g->error) != ASSAY_OK)
        return false;
    if (how->mixes_rows && !divide(g, axes[how->rows_axis]))
        return false;
    if (assay_op_problem(node->op, g->dtype, mode, axes, g->threads, &node->problem, &g->error) !=
        ASSAY_OK)
        return false;
    const char *refused = how->refuse ? how->refuse(&node->problem) : NULL;
    if (refused)
        fail(g, refused);
    return !refused;
}

/* A node over `values`. `sizes` are those of its keys; without `weights` the vectors of a norm are
 * ones and zeros. */
static int32_t add_node(struct assay_graph *g, const struct assay_op *op, const char *mode,
                        const int32_t *values, const int64_t *sizes, bool weights)
{
    if (!op || !op->node)
        return fail(g, "no op that a model can have");
    if (failed(g) || values[0] < 0 || (op->node->values > 1 && values[1] < 0))
        return -1;
    struct assay_node node = {.op = op};
    struct assay_node_sizes given = {.rows = rows_of(g, values[0]),
                                     .columns = columns_of(g, values[0])};
    for (int i = 0; i < ASSAY_NODE_KEYS && op->node->keys[i].name; i++)
        given.given[i] = sizes[i];
    if (op->node->values > 1 &&
        (rows_of(g, values[1]) != given.rows || columns_of(g, values[1]) != given.columns))
        return fail(g, "two matrices of different sizes");
    if (!make_problem(g, &node, mode, &given))
        return -1;
    for (int32_t i = 0; i < node.problem.n_inputs; i++)
        node.in[i] = i < op->node->values ? values[i] : add_operand(g, &node, i, weights);
    if (!failed(g) && g->n_nodes == ASSAY_MODEL_NODES)
        return fail(g, "the model has too many nodes");
    struct assay_tensor out = output_of(g, &node);
    node.out[0] = add_value(g, ASSAY_VALUE_INNER, &out);
    if (failed(g))
        return -1;
    g->nodes[g->n_nodes++] = node;
    g->n_forward = g->n_nodes;
    return node.out[0];
}

int32_t assay_graph_node(struct assay_graph *g, const struct assay_op *op, const char *mode,
                         const int32_t *values, const int64_t *sizes)
{
    bool weights = !(op && op->node && op->node->unit_weights);
    return add_node(g, op, mode, values, sizes, weights);
}

/* The same of one value, by the op's name. */
static int32_t add_named(struct assay_graph *g, const char *op, const char *mode, int32_t x,
                         const int64_t *sizes)
{
    return assay_graph_node(g, assay_op_find(op), mode, &x, sizes);
}

int32_t assay_graph_input(struct assay_graph *g, int64_t rows, int64_t columns)
{
    struct assay_tensor tensor = matrix(g, rows, columns);
    for (int32_t i = 0; i < g->n_values; i++)
        if (g->values[i].kind == ASSAY_VALUE_INPUT && rows_of(g, i) != rows)
            return fail(g, "all inputs of a model have the same number of rows");
    return add_value(g, ASSAY_VALUE_INPUT, &tensor);
}

int32_t assay_graph_linear(struct assay_graph *g, int32_t x, int64_t features, const char *mode)
{
    return add_named(g, "linear", mode, x, &features);
}

int32_t assay_graph_layernorm(struct assay_graph *g, int32_t x)
{
    return add_named(g, "layernorm", NULL, x, NULL);
}

int32_t assay_graph_layernorm_affine(struct assay_graph *g, int32_t x)
{
    return add_node(g, assay_op_find("layernorm"), NULL, &x, NULL, true);
}

int32_t assay_graph_rmsnorm(struct assay_graph *g, int32_t x)
{
    return add_named(g, "rmsnorm", NULL, x, NULL);
}

int32_t assay_graph_rmsnorm_eps(struct assay_graph *g, int32_t x, double eps)
{
    int32_t out = assay_graph_rmsnorm(g, x);
    if (out >= 0)
        g->nodes[g->n_nodes - 1].problem.params[0] = eps;
    return out;
}

int32_t assay_graph_swiglu(struct assay_graph *g, int32_t x)
{
    return add_named(g, "swiglu", NULL, x, NULL);
}

int32_t assay_graph_unary(struct assay_graph *g, const char *op, int32_t x)
{
    return add_named(g, op, NULL, x, NULL);
}

int32_t assay_graph_binary(struct assay_graph *g, const char *op, int32_t x, int32_t y)
{
    int32_t values[] = {x, y};
    return assay_graph_node(g, assay_op_find(op), NULL, values, NULL);
}

int32_t assay_graph_attention(struct assay_graph *g, int32_t qkv, int64_t seq, int64_t heads,
                              bool causal)
{
    int64_t sizes[] = {seq, heads};
    return add_named(g, "attention", causal ? "qkv+causal" : "qkv", qkv, sizes);
}

int32_t assay_graph_conv2d(struct assay_graph *g, int32_t x, struct assay_image image, int64_t out,
                           int64_t kernel, int64_t stride, const char *mode)
{
    int64_t sizes[] = {image.batch, image.height, image.width, out, kernel, stride};
    return add_named(g, "conv2d", mode, x, sizes);
}

int32_t assay_graph_depthwise(struct assay_graph *g, int32_t x, struct assay_image image,
                              int64_t kernel, int64_t stride, const char *mode)
{
    int64_t sizes[] = {image.batch, image.height, image.width, kernel, stride};
    return add_named(g, "depthwise_conv2d", mode, x, sizes);
}

int32_t assay_graph_groupnorm(struct assay_graph *g, int32_t x, struct assay_image image,
                              int64_t groups, const char *mode)
{
    int64_t sizes[] = {image.batch, image.height, image.width, groups};
    return add_named(g, "groupnorm", mode, x, sizes);
}

void assay_graph_output(struct assay_graph *g, int32_t value)
{
    if (failed(g) || value < 0)
        return;
    if (g->values[value].kind != ASSAY_VALUE_INNER)
        fail(g, "the output of a model must be made by a node");
    if (g->output >= 0)
        g->values[g->output].output = -1;
    g->values[value].output = 0;
    g->n_outputs = 1;
    g->output = value;
}
