/* reference.c: the output of a model, node by node in double. What one node hands to the next is
 * rounded to the model's dtype, as between two ops. Only the requested parts are computed: rows, or
 * sequences or images where rows depend on one another.
 *
 * A recipe with one scale for all rows needs the greatest value of all of them: before the first
 * linear layers that is a cheap pass over the rows; behind them all rows are computed. */
#include "model/model_op.h"

#include "base/alloc.h"
#include "op/linear.h"
#include "op/node.h"
#include "op/reference/product.h"

#include <math.h>
#include <string.h>

struct evaluation {
    const struct assay_graph *graph;
    const struct assay_problem *problem;
    struct assay_recipe recipe;
    const void *const *in;
    const int64_t *parts; /* NULL: all of them */
    int64_t n;            /* how many parts are at hand */
    float *values[ASSAY_MODEL_VALUES];
    double *output;                /* of the node that ran last */
    float amax[ASSAY_MODEL_NODES]; /* of all rows of a linear's input; 0: those at hand are all */
};

/* The operations that computing all rows may take: a minute or so. */
static const double MOST_FLOPS = 2e11;

/* A value's rows in one part, and in those at hand. */
static int64_t part_rows(const struct evaluation *e, int32_t value)
{
    const struct assay_graph *g = e->graph;
    return g->parts ? g->values[value].tensor.dims[0] / g->parts : 1;
}

static int64_t rows_here(const struct evaluation *e, int32_t value)
{
    return e->n * part_rows(e, value);
}

static int64_t columns_of(const struct evaluation *e, int32_t value)
{
    const struct assay_tensor *t = &e->graph->values[value].tensor;
    return t->dims[t->rank - 1];
}

static void load_row(const struct assay_tensor *t, const void *data, int64_t row, float *out)
{
    enum { BLOCK = 512 };
    double part[BLOCK];
    int64_t columns = t->dims[t->rank - 1];
    for (int64_t first = 0; first < columns; first += BLOCK) {
        int64_t n = columns - first < BLOCK ? columns - first : BLOCK;
        assay_dtype_load(t->dtype, data, row * columns + first, n, part);
        for (int64_t i = 0; i < n; i++)
            out[first + i] = (float)part[i];
    }
}

/* A value as f32: the rows at hand, or all of what is constant. Weights come when their linear
 * needs them. */
static enum assay_status gather_value(struct evaluation *e, int32_t v, struct assay_error *err)
{
    const struct assay_value *value = &e->graph->values[v];
    bool divided = value->kind == ASSAY_VALUE_INPUT || value->kind == ASSAY_VALUE_INNER;
    int64_t columns = columns_of(e, v), part = part_rows(e, v);
    int64_t n = divided ? rows_here(e, v) : assay_tensor_count(&value->tensor) / columns;
    if (value->kind == ASSAY_VALUE_WEIGHT)
        return ASSAY_OK;
    float *out = assay_calloc((size_t)(n * columns), sizeof *out);
    e->values[v] = out;
    if (!out)
        return assay_error_nomem(err);
    if (value->kind == ASSAY_VALUE_ONES)
        for (int64_t i = 0; i < columns; i++)
            out[i] = 1;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < (value->input >= 0 ? n : 0); row++) {
        int64_t from = divided && e->parts ? e->parts[row / part] * part + row % part : row;
        load_row(&value->tensor, e->in[value->input], from, out + row * columns);
    }
    return ASSAY_OK;
}

static enum assay_status gather(struct evaluation *e, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t v = 0; v < e->graph->n_values && status == ASSAY_OK; v++)
        status = gather_value(e, v, err);
    return status;
}

/* The node's problem over the parts at hand, in f32. */
static enum assay_status problem_here(const struct evaluation *e, const struct assay_node *node,
                                      struct assay_problem *out, struct assay_error *err)
{
    int64_t axes[ASSAY_MAX_AXES];
    double params[ASSAY_MAX_PARAMS];
    memcpy(axes, node->problem.axes, sizeof axes);
    memcpy(params, node->problem.params, sizeof params);
    const struct assay_op_node *how = node->op->node;
    axes[how->rows_axis] = how->mixes_rows ? e->n : rows_here(e, node->in[0]);
    enum assay_status status =
        assay_op_problem(node->op, ASSAY_DTYPE_F32, NULL, axes, e->problem->threads, out, err);
    if (status != ASSAY_OK)
        return status;
    memcpy(out->params, params, sizeof params); /* the mode */
    node->op->shapes(out);
    return ASSAY_OK;
}

/* The output of a node, in double, row by row. */
static void compute(const struct assay_op *op, const struct assay_problem *p, const void *const *in,
                    double *out)
{
    int64_t rows = assay_op_rows(p), length = assay_op_row_length(p);
#pragma omp parallel for schedule(dynamic, 16)
    for (int64_t row = 0; row < rows; row++)
        op->reference(p, in, row, 0, length, out + row * length);
}

static void round_to(enum assay_dtype dtype, const double *from, float *to, int64_t n)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        double stored, value = from[i];
        assay_dtype_store(dtype, &value, &stored, 0, 1);
        assay_dtype_load(dtype, &stored, 0, 1, &value);
        to[i] = (float)value;
    }
}

/* x [rows, k] quantised as the recipe does it, then dequantised. Where the rows at hand are not
 * all, the greatest value of all is put behind them meanwhile, so that the scale is that of all
 * rows. */
static float *quantised(const struct evaluation *e, const float *x, int64_t rows, int64_t k,
                        float amax)
{
    float *out = assay_calloc((size_t)((rows + 1) * k), sizeof *out);
    if (!out)
        return NULL;
    memcpy(out, x, (size_t)(rows * k) * sizeof *out);
    out[rows * k] = amax;
    assay_quant_activations(&e->recipe, out, rows + (amax > 0), k, out);
    return out;
}

static enum assay_status run_linear(struct evaluation *e, const struct assay_node *node,
                                    const struct assay_problem *p, const void **in,
                                    struct assay_error *err)
{
    const struct assay_value *weight = &e->graph->values[node->in[ASSAY_LINEAR_W]];
    int64_t m = p->axes[ASSAY_LINEAR_M], k = p->axes[ASSAY_LINEAR_K], n = p->axes[ASSAY_LINEAR_N];
    float *w = NULL, *x = NULL;
    enum assay_status status = assay_linear_stored_weights(
        &e->recipe, &weight->tensor, e->in[weight->input], e->problem->threads, &w, err);
    if (status == ASSAY_OK && e->recipe.activation != ASSAY_DTYPE_NONE) {
        x = quantised(e, in[ASSAY_LINEAR_X], m, k, e->amax[node - e->graph->nodes]);
        if (!x)
            status = assay_error_nomem(err);
    }
    if (status == ASSAY_OK) {
        assay_product(x ? x : in[ASSAY_LINEAR_X], w, m, n, k, e->output);
#pragma omp parallel for schedule(static)
        for (int64_t row = 0; row < m; row++)
            assay_linear_finish(p, in, row, 0, n, e->output + row * n);
    }
    assay_free(x);
    assay_free(w);
    return status;
}

static enum assay_status run_blocks(struct evaluation *e, const struct assay_op *op,
                                    const struct assay_problem *p, const void *const *in,
                                    struct assay_error *err)
{
    int64_t length = op->row_block(p) * assay_op_row_length(p);
    int64_t blocks = assay_tensor_count(&p->outputs[0]) / length;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < blocks && status == ASSAY_OK; i++)
        status = op->reference_blocks(p, in, &i, 1, e->output + i * length, NULL, err);
    return status;
}

static enum assay_status run_node(struct evaluation *e, const struct assay_node *node,
                                  struct assay_error *err)
{
    struct assay_problem p;
    const void *in[ASSAY_MAX_INPUTS] = {0};
    enum assay_status status = problem_here(e, node, &p, err);
    if (status != ASSAY_OK)
        return status;
    for (int32_t i = 0; i < p.n_inputs; i++)
        in[i] = e->values[node->in[i]];
    if (node->op->takes_recipes)
        status = run_linear(e, node, &p, in, err);
    else if (node->op->node->whole)
        status = node->op->node->whole(&p, in, e->output, err);
    else if (node->op->reference_blocks)
        status = run_blocks(e, node->op, &p, in, err);
    else
        compute(node->op, &p, in, e->output);
    if (status == ASSAY_OK)
        round_to(e->graph->dtype, e->output, e->values[node->out[0]],
                 rows_here(e, node->out[0]) * columns_of(e, node->out[0]));
    return status;
}

/* Runs the nodes that `target` is made of, in order; the last leaves its output in double. */
static enum assay_status run_until(struct evaluation *e, int32_t target, struct assay_error *err)
{
    const struct assay_graph *g = e->graph;
    bool needed[ASSAY_MODEL_VALUES] = {0};
    enum assay_status status = ASSAY_OK;
    needed[target] = true;
    for (int32_t i = g->n_nodes - 1; i >= 0; i--)
        for (int32_t j = 0; j < g->nodes[i].problem.n_inputs && needed[g->nodes[i].out[0]]; j++)
            needed[g->nodes[i].in[j]] = true;
    for (int32_t i = 0; i < g->n_nodes && status == ASSAY_OK; i++)
        if (needed[g->nodes[i].out[0]])
            status = run_node(e, &g->nodes[i], err);
    return status;
}

static int64_t largest(const struct evaluation *e)
{
    int64_t most = 1;
    for (int32_t i = 0; i < e->graph->n_nodes; i++) {
        int32_t value = e->graph->nodes[i].out[0];
        int64_t elements = rows_here(e, value) * columns_of(e, value);
        most = elements > most ? elements : most;
    }
    return most;
}

static void finish(struct evaluation *e)
{
    for (int32_t v = 0; v < ASSAY_MODEL_VALUES; v++)
        assay_free(e->values[v]);
    assay_free(e->output);
}

/* Evaluates `target` on these parts (NULL: all, n of them). To be finished also where it fails. */
static enum assay_status evaluate(struct evaluation *e, const int64_t *parts, int64_t n,
                                  int32_t target, struct assay_error *err)
{
    e->parts = parts;
    e->n = n;
    e->output = assay_calloc((size_t)largest(e), sizeof *e->output);
    if (!e->output)
        return assay_error_nomem(err);
    enum assay_status status = gather(e, err);
    return status == ASSAY_OK ? run_until(e, target, err) : status;
}

/* Is this value made of what a linear layer gave? */
static bool behind_a_linear(const struct assay_graph *g, int32_t value)
{
    bool behind[ASSAY_MODEL_VALUES] = {0};
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct assay_node *node = &g->nodes[i];
        behind[node->out[0]] = node->op->takes_recipes;
        for (int32_t j = 0; j < node->problem.n_inputs; j++)
            behind[node->out[0]] |= behind[node->in[j]];
    }
    return behind[value];
}

static float greatest(const float *values, int64_t n)
{
    float most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (int64_t i = 0; i < n; i++)
        most = fabsf(values[i]) > most ? fabsf(values[i]) : most;
    return most;
}

/* The greatest magnitude of a value over all rows, some rows at a time. */
static enum assay_status amax_of(const struct evaluation *like, int32_t value, int64_t all,
                                 float *out, struct assay_error *err)
{
    enum { AT_ONCE = 1024 };
    int64_t list[AT_ONCE];
    enum assay_status status = ASSAY_OK;
    for (int64_t first = 0; first < all && status == ASSAY_OK; first += AT_ONCE) {
        struct evaluation e = *like;
        int64_t n = all - first < AT_ONCE ? all - first : AT_ONCE;
        for (int64_t i = 0; i < n; i++)
            list[i] = first + i;
        status = evaluate(&e, list, n, value, err);
        if (status == ASSAY_OK) {
            float most = greatest(e.values[value], rows_here(&e, value) * columns_of(&e, value));
            *out = most > *out ? most : *out;
        }
        finish(&e);
    }
    return status;
}

/* For recipes with one scale for all rows: finds them, or sets *all_rows where they come from
 * linear layers. */
static enum assay_status find_scales(struct evaluation *e, int64_t all, bool *all_rows,
                                     struct assay_error *err)
{
    const struct assay_graph *g = e->graph;
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op->takes_recipes)
            *all_rows |= behind_a_linear(g, g->nodes[i].in[ASSAY_LINEAR_X]);
    for (int32_t i = 0; i < g->n_nodes && !*all_rows && status == ASSAY_OK; i++)
        if (g->nodes[i].op->takes_recipes)
            status = amax_of(e, g->nodes[i].in[ASSAY_LINEAR_X], all, &e->amax[i], err);
    if (*all_rows && assay_model_op(e->problem->op)->cost(e->problem).flops > MOST_FLOPS)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                               "too large to be verified: one scale for all rows of a later "
                               "layer's input takes the reference all rows");
    return status;
}

/* Copies the requested parts out of the output. */
static void pick(const struct evaluation *e, const int64_t *parts, int64_t n, double *out)
{
    int64_t length = part_rows(e, e->graph->output) * columns_of(e, e->graph->output);
    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * length, e->output + (e->parts ? i : parts[i]) * length,
               (size_t)length * sizeof *out);
}

enum assay_status assay_model_reference(const struct assay_problem *problem, const void *const *in,
                                        const int64_t *blocks, int64_t n, double *out,
                                        double *sizes, struct assay_error *err)
{
    (void)sizes; /* the tolerance of a model is for values as they are filled: see model_op.c */
    struct assay_graph *g = NULL;
    enum assay_status status = assay_model_graph(problem, &g, err);
    struct evaluation e = {
        .graph = g, .problem = problem, .recipe = assay_model_recipe(problem), .in = in};
    int64_t all = g && g->parts ? g->parts : problem->outputs[0].dims[0];
    bool all_rows = false;
    if (status == ASSAY_OK && e.recipe.activation_scope == ASSAY_SCOPE_TENSOR)
        status = find_scales(&e, all, &all_rows, err);
    if (status == ASSAY_OK)
        status = evaluate(&e, all_rows ? NULL : blocks, all_rows ? all : n, g->output, err);
    if (status == ASSAY_OK)
        pick(&e, blocks, n, out);
    finish(&e);
    assay_free(g);
    return status;
}
