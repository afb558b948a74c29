#include "model/graph.h"

#include "op/attention.h"
#include "op/conv.h"
#include "op/linear.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool failed(const struct assay_graph *g) { return g->error.code != ASSAY_OK; }

static int32_t fail(struct assay_graph *g, const char *message)
{
    if (!failed(g))
        assay_error_set(&g->error, ASSAY_ERR_INVALID, NULL, "%s", message);
    return -1;
}

static int32_t add_value(struct assay_graph *g, enum assay_value_kind kind,
                         const struct assay_tensor *tensor)
{
    bool of_the_model = kind <= ASSAY_VALUE_SCALE;
    if (failed(g))
        return -1;
    if (g->n_values == ASSAY_GRAPH_VALUES || (of_the_model && g->n_inputs == ASSAY_MAX_INPUTS))
        return fail(g, "a model of more values than there is room for");
    g->values[g->n_values] = (struct assay_value){
        .kind = kind, .tensor = *tensor, .input = of_the_model ? g->n_inputs++ : -1};
    return g->n_values++;
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

/* The answer of an op as a matrix. */
static struct assay_tensor answer(const struct assay_graph *g, const struct assay_problem *p)
{
    int64_t columns = assay_op_row_length(p);
    if (strcmp(p->op, "attention") == 0) /* its heads stand side by side */
        columns *= p->axes[ASSAY_ATTENTION_HEADS];
    return matrix(g, assay_tensor_count(&p->outputs[0]) / columns, columns);
}

/* A node of `op` with these inputs. */
static int32_t add_node(struct assay_graph *g, const char *op, const char *mode,
                        const int64_t *axes, const int32_t *in, int32_t n_in)
{
    if (failed(g))
        return -1;
    struct assay_node *node = &g->nodes[g->n_nodes];
    if (g->n_nodes == ASSAY_GRAPH_NODES)
        return fail(g, "a model of more nodes than there is room for");
    *node = (struct assay_node){.op = assay_op_find(op)};
    if (!node->op)
        return fail(g, "no such op");
    if (assay_op_problem(node->op, g->dtype, mode, axes, g->threads, &node->problem, &g->error) !=
        ASSAY_OK)
        return -1;
    if (node->problem.n_inputs != n_in)
        return fail(g, "an op with another number of inputs");
    memcpy(node->in, in, (size_t)n_in * sizeof *in);
    struct assay_tensor out = answer(g, &node->problem);
    node->out = add_value(g, ASSAY_VALUE_INNER, &out);
    g->n_nodes++;
    return node->out;
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
    if (failed(g) || x < 0)
        return -1;
    int64_t axes[] = {rows_of(g, x), columns_of(g, x), features};
    struct assay_problem problem;
    const struct assay_op *op = assay_op_find("linear");
    if (assay_op_problem(op, g->dtype, mode, axes, g->threads, &problem, &g->error) != ASSAY_OK)
        return -1;
    if (assay_linear_is_plain(&problem, NULL) != ASSAY_OK)
        return fail(g, "a norm and a residual are nodes of their own; `compiled` fuses them");
    struct assay_tensor weight = matrix(g, features, columns_of(g, x));
    int32_t in[] = {x, add_value(g, ASSAY_VALUE_WEIGHT, &weight), -1};
    bool bias = problem.params[ASSAY_LINEAR_BIAS] != 0;
    if (bias)
        in[2] = add_vector(g, ASSAY_VALUE_SCALE, features, false);
    return add_node(g, "linear", mode, axes, in, 2 + bias);
}

int32_t assay_graph_layernorm(struct assay_graph *g, int32_t x)
{
    if (failed(g) || x < 0)
        return -1;
    int64_t axes[] = {1, rows_of(g, x), columns_of(g, x)};
    int32_t in[] = {x, add_vector(g, ASSAY_VALUE_ONES, axes[2], true),
                    add_vector(g, ASSAY_VALUE_ZEROS, axes[2], false)};
    return add_node(g, "layernorm", NULL, axes, in, 3);
}

int32_t assay_graph_rmsnorm(struct assay_graph *g, int32_t x)
{
    if (failed(g) || x < 0)
        return -1;
    int64_t axes[] = {1, rows_of(g, x), columns_of(g, x)};
    int32_t in[] = {x, add_vector(g, ASSAY_VALUE_SCALE, axes[2], true)};
    return add_node(g, "rmsnorm", NULL, axes, in, 2);
}

int32_t assay_graph_layernorm_affine(struct assay_graph *g, int32_t x)
{
    if (failed(g) || x < 0)
        return -1;
    int64_t axes[] = {1, rows_of(g, x), columns_of(g, x)};
    int32_t in[] = {x, add_vector(g, ASSAY_VALUE_SCALE, axes[2], true),
                    add_vector(g, ASSAY_VALUE_SCALE, axes[2], false)};
    return add_node(g, "layernorm", NULL, axes, in, 3);
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
    if (failed(g) || x < 0)
        return -1;
    if (columns_of(g, x) % 2)
        return fail(g, "swiglu wants rows of two halves, not an odd number of columns");
    int64_t axes[] = {1, rows_of(g, x), columns_of(g, x) / 2};
    return add_node(g, "swiglu", NULL, axes, &x, 1);
}

int32_t assay_graph_unary(struct assay_graph *g, const char *op, int32_t x)
{
    if (failed(g) || x < 0)
        return -1;
    int64_t axes[] = {1, rows_of(g, x), columns_of(g, x)};
    return add_node(g, op, NULL, axes, &x, 1);
}

int32_t assay_graph_binary(struct assay_graph *g, const char *op, int32_t x, int32_t y)
{
    if (failed(g) || x < 0 || y < 0)
        return -1;
    if (columns_of(g, x) != columns_of(g, y) || rows_of(g, x) != rows_of(g, y))
        return fail(g, "two matrices of different sizes");
    int64_t axes[] = {1, rows_of(g, x), columns_of(g, x)};
    int32_t in[] = {x, y};
    return add_node(g, op, NULL, axes, in, 2);
}

/* From here on rows are looked at together that lie in one of so many parts. */
static bool divide(struct assay_graph *g, int64_t parts)
{
    if (g->parts && g->parts != parts) {
        fail(g, "all attention of a model is over as many sequences, and all convolutions and "
                "norms of groups over as many images");
        return false;
    }
    g->parts = parts;
    return true;
}

int32_t assay_graph_attention(struct assay_graph *g, int32_t qkv, int64_t seq, int64_t heads,
                              bool causal)
{
    if (failed(g) || qkv < 0)
        return -1;
    int64_t rows = rows_of(g, qkv), columns = columns_of(g, qkv);
    if (seq < 1 || heads < 1 || rows % seq != 0 || columns % (3 * heads) != 0) {
        char text[160];
        snprintf(text, sizeof text,
                 "attention over sequences of %lld with %lld heads wants rows in multiples of the "
                 "one and columns of three times the other, not %lld x %lld",
                 (long long)seq, (long long)heads, (long long)rows, (long long)columns);
        return fail(g, text);
    }
    if (!divide(g, rows / seq))
        return -1;
    int64_t axes[] = {rows / seq, seq, heads, columns / 3 / heads};
    return add_node(g, "attention", causal ? "qkv+causal" : "qkv", axes, &qkv, 1);
}

/* ---- images -----------------------------------------------------------------------------------
 */

/* Is x such an image? */
static bool is_image(struct assay_graph *g, int32_t x, struct assay_image image)
{
    if (failed(g) || x < 0)
        return false;
    if (image.batch >= 1 && image.height >= 1 && image.width >= 1 &&
        rows_of(g, x) % image.batch == 0 && rows_of(g, x) / image.batch % image.height == 0 &&
        rows_of(g, x) / image.batch / image.height == image.width)
        return divide(g, image.batch);
    char text[128];
    snprintf(text, sizeof text, "%lld images of %lld x %lld are not %lld rows",
             (long long)image.batch, (long long)image.height, (long long)image.width,
             (long long)rows_of(g, x));
    fail(g, text);
    return false;
}

/* A convolution of either op with a filter of its own, and a bias where the mode has one. */
static int32_t add_conv(struct assay_graph *g, const char *op, int32_t x, const int64_t *axes,
                        const char *mode)
{
    struct assay_problem problem;
    if (assay_op_problem(assay_op_find(op), g->dtype, mode, axes, g->threads, &problem,
                         &g->error) != ASSAY_OK)
        return -1;
    struct assay_conv c = assay_conv_of(&problem);
    if (c.residual >= 0)
        return fail(g, "a residual is a node of its own; `compiled` fuses it");
    const struct assay_tensor *filter = &problem.inputs[ASSAY_CONV_W];
    int32_t in[] = {x, add_value(g, ASSAY_VALUE_FILTER, filter), -1};
    if (in[1] >= 0)
        g->values[in[1]].deviation = 1 / sqrt((double)(assay_tensor_count(filter)) / (double)c.out);
    if (c.bias >= 0)
        in[2] = add_vector(g, ASSAY_VALUE_SCALE, c.out, false);
    return add_node(g, op, mode, axes, in, problem.n_inputs);
}

int32_t assay_graph_conv2d(struct assay_graph *g, int32_t x, struct assay_image image, int64_t out,
                           int64_t kernel, int64_t stride, const char *mode)
{
    if (!is_image(g, x, image))
        return -1;
    int64_t axes[] = {image.batch, image.height, image.width, columns_of(g, x),
                      out,         kernel,       stride};
    return add_conv(g, "conv2d", x, axes, mode);
}

int32_t assay_graph_depthwise(struct assay_graph *g, int32_t x, struct assay_image image,
                              int64_t kernel, int64_t stride, const char *mode)
{
    if (!is_image(g, x, image))
        return -1;
    int64_t axes[] = {image.batch, image.height, image.width, columns_of(g, x), kernel, stride};
    return add_conv(g, "depthwise_conv2d", x, axes, mode);
}

int32_t assay_graph_groupnorm(struct assay_graph *g, int32_t x, struct assay_image image,
                              int64_t groups, const char *mode)
{
    if (!is_image(g, x, image))
        return -1;
    int64_t axes[] = {image.batch, image.height, image.width, columns_of(g, x), groups};
    int32_t in[] = {x, add_vector(g, ASSAY_VALUE_SCALE, axes[3], true),
                    add_vector(g, ASSAY_VALUE_SCALE, axes[3], false)};
    return add_node(g, "groupnorm", mode, axes, in, 3);
}

void assay_graph_output(struct assay_graph *g, int32_t value)
{
    if (failed(g) || value < 0)
        return;
    if (g->values[value].kind != ASSAY_VALUE_INNER)
        fail(g, "the answer of a model must be made by a node");
    g->output = value;
}
