/* reference.c: what a model answers, node by node in double. What one node hands to the next is
 * rounded to the model's dtype, as between two ops. Only the blocks of rows asked for are computed.
 *
 * A recipe with one scale for all rows needs the greatest value of all of them: before the first
 * linear layers that is a cheap pass over the rows; behind them all rows are computed. */
#include "model/model_op.h"

#include "base/alloc.h"
#include "op/linear.h"

#include <math.h>
#include <string.h>

struct evaluation {
    const struct assay_graph *graph;
    const struct assay_problem *problem;
    struct assay_recipe recipe;
    const void *const *in;
    const int64_t *blocks; /* NULL: all of them */
    int64_t rows;
    float *values[ASSAY_GRAPH_VALUES];
    double *answer;                /* of the node that ran last */
    float amax[ASSAY_GRAPH_NODES]; /* of all rows of a linear's input; 0: those at hand are all */
};

/* The operations that computing all rows may take: a minute or so. */
static const double MOST_FLOPS = 2e11;

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

/* Inputs and vectors in f32; weights come when their linear needs them. */
static enum assay_status gather(struct evaluation *e, struct assay_error *err)
{
    const struct assay_graph *g = e->graph;
    for (int32_t v = 0; v < g->n_values; v++) {
        const struct assay_value *value = &g->values[v];
        bool rows = value->kind == ASSAY_VALUE_INPUT || value->kind == ASSAY_VALUE_INNER;
        int64_t columns = value->tensor.dims[value->tensor.rank - 1];
        int64_t n = rows ? e->rows : 1;
        if (value->kind == ASSAY_VALUE_WEIGHT)
            continue;
        e->values[v] = assay_calloc((size_t)(n * columns), sizeof(float));
        if (!e->values[v])
            return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
        if (value->kind == ASSAY_VALUE_ONES)
            for (int64_t i = 0; i < columns; i++)
                e->values[v][i] = 1;
#pragma omp parallel for schedule(static)
        for (int64_t row = 0; row < (value->input >= 0 ? n : 0); row++) {
            int64_t from =
                rows && e->blocks ? e->blocks[row / g->block] * g->block + row % g->block : row;
            load_row(&value->tensor, e->in[value->input], from, e->values[v] + row * columns);
        }
    }
    return ASSAY_OK;
}

/* The node's problem over the rows at hand, in f32. Its rows lie in the first axis that counts
 * them: m of linear, seq of [batch, seq, dim] ops, batch of attention. */
static enum assay_status problem_here(const struct evaluation *e, const struct assay_node *node,
                                      struct assay_problem *out, struct assay_error *err)
{
    int64_t axes[ASSAY_MAX_AXES];
    double params[ASSAY_MAX_PARAMS];
    memcpy(axes, node->problem.axes, sizeof axes);
    memcpy(params, node->problem.params, sizeof params);
    if (strcmp(node->op->name, "attention") == 0)
        axes[0] = e->rows / axes[1];
    else
        axes[node->op->takes_recipes ? ASSAY_LINEAR_M : 1] = e->rows;
    enum assay_status status =
        assay_op_problem(node->op, ASSAY_DTYPE_F32, NULL, axes, e->problem->threads, out, err);
    if (status != ASSAY_OK)
        return status;
    memcpy(out->params, params, sizeof params); /* the mode */
    node->op->shapes(out);
    return ASSAY_OK;
}

/* The answer of a node, in double, rows times columns of it. */
static void compute(const struct assay_op *op, const struct assay_problem *p, const void *const *in,
                    double *out)
{
    enum { PIECE = 64 };
    int64_t rows = assay_op_rows(p), length = assay_op_row_length(p);
    int64_t pieces = (length + PIECE - 1) / PIECE;
    if (!op->takes_recipes) /* a norm looks at its whole row for every piece */
        pieces = 1;
#pragma omp parallel for schedule(dynamic, 16)
    for (int64_t i = 0; i < rows * pieces; i++) {
        int64_t row = i / pieces, first = i % pieces * PIECE;
        int64_t n = pieces == 1 || length - first < PIECE ? length - first : PIECE;
        op->reference(p, in, row, first, n, out + row * length + first);
    }
}

static void round_to(enum assay_dtype dtype, const double *from, float *to, int64_t n)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        double room, value = from[i];
        assay_dtype_store(dtype, &value, &room, 0, 1);
        assay_dtype_load(dtype, &room, 0, 1, &value);
        to[i] = (float)value;
    }
}

/* x quantised as the recipe does it, and brought back. Where the rows at hand are not all, the
 * greatest value of all is put behind them for the while, so that the scale is theirs. */
static float *quantised(const struct evaluation *e, const float *x, int64_t k, float amax)
{
    float *out = assay_calloc((size_t)((e->rows + 1) * k), sizeof *out);
    if (!out)
        return NULL;
    memcpy(out, x, (size_t)(e->rows * k) * sizeof *out);
    out[e->rows * k] = amax;
    assay_quant_activations(&e->recipe, out, e->rows + (amax > 0), k, out);
    return out;
}

static enum assay_status run_linear(struct evaluation *e, const struct assay_node *node,
                                    const struct assay_problem *p, const void **in,
                                    struct assay_error *err)
{
    const struct assay_value *weight = &e->graph->values[node->in[ASSAY_LINEAR_W]];
    float *w = NULL, *x = NULL;
    enum assay_status status = assay_linear_stored_weights(
        &e->recipe, &weight->tensor, e->in[weight->input], e->problem->threads, &w, err);
    if (status == ASSAY_OK && e->recipe.activation != ASSAY_DTYPE_NONE) {
        x = quantised(e, in[ASSAY_LINEAR_X], p->axes[ASSAY_LINEAR_K],
                      e->amax[node - e->graph->nodes]);
        if (!x)
            status = assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    }
    if (status == ASSAY_OK) {
        in[ASSAY_LINEAR_W] = w;
        in[ASSAY_LINEAR_X] = x ? x : in[ASSAY_LINEAR_X];
        compute(node->op, p, in, e->answer);
    }
    assay_free(x);
    assay_free(w);
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
    else
        compute(node->op, &p, in, e->answer);
    if (status == ASSAY_OK)
        round_to(e->graph->dtype, e->answer, e->values[node->out],
                 e->rows * e->graph->values[node->out].tensor.dims[1]);
    return status;
}

/* Runs the nodes that `target` is made of, in order; the last leaves its answer in double. */
static enum assay_status run_until(struct evaluation *e, int32_t target, struct assay_error *err)
{
    const struct assay_graph *g = e->graph;
    bool needed[ASSAY_GRAPH_VALUES] = {0};
    enum assay_status status = ASSAY_OK;
    needed[target] = true;
    for (int32_t i = g->n_nodes - 1; i >= 0; i--)
        for (int32_t j = 0; j < g->nodes[i].problem.n_inputs && needed[g->nodes[i].out]; j++)
            needed[g->nodes[i].in[j]] = true;
    for (int32_t i = 0; i < g->n_nodes && status == ASSAY_OK; i++)
        if (needed[g->nodes[i].out])
            status = run_node(e, &g->nodes[i], err);
    return status;
}

static int64_t widest(const struct assay_graph *g)
{
    int64_t most = 1;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct assay_tensor *t = &g->values[g->nodes[i].out].tensor;
        most = t->dims[1] > most ? t->dims[1] : most;
    }
    return most;
}

static void finish(struct evaluation *e)
{
    for (int32_t v = 0; v < ASSAY_GRAPH_VALUES; v++)
        assay_free(e->values[v]);
    assay_free(e->answer);
}

/* Evaluates `target` on these blocks (NULL: all, n of them). To be finished also where it fails. */
static enum assay_status evaluate(struct evaluation *e, const int64_t *blocks, int64_t n,
                                  int32_t target, struct assay_error *err)
{
    e->blocks = blocks;
    e->rows = n * e->graph->block;
    e->answer = assay_calloc((size_t)(e->rows * widest(e->graph)), sizeof *e->answer);
    if (!e->answer)
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    enum assay_status status = gather(e, err);
    return status == ASSAY_OK ? run_until(e, target, err) : status;
}

/* Is this value made of what a linear layer gave? */
static bool behind_a_linear(const struct assay_graph *g, int32_t value)
{
    bool behind[ASSAY_GRAPH_VALUES] = {0};
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct assay_node *node = &g->nodes[i];
        behind[node->out] = node->op->takes_recipes;
        for (int32_t j = 0; j < node->problem.n_inputs; j++)
            behind[node->out] |= behind[node->in[j]];
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
            int64_t columns = e.graph->values[value].tensor.dims[1];
            float most = greatest(e.values[value], e.rows * columns);
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

/* Copies the blocks asked for out of the answer. */
static void pick(const struct evaluation *e, const int64_t *blocks, int64_t n, double *out)
{
    int64_t length = e->graph->block * e->graph->values[e->graph->output].tensor.dims[1];
    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * length, e->answer + (e->blocks ? i : blocks[i]) * length,
               (size_t)length * sizeof *out);
}

enum assay_status assay_model_reference(const struct assay_problem *problem, const void *const *in,
                                        const int64_t *blocks, int64_t n, double *out,
                                        struct assay_error *err)
{
    struct assay_graph *g = assay_calloc(1, sizeof *g);
    if (!g)
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    struct evaluation e = {
        .graph = g, .problem = problem, .recipe = assay_model_recipe(problem), .in = in};
    enum assay_status status = assay_model_graph(problem, g, err);
    int64_t all = problem->outputs[0].dims[0] / (g->block ? g->block : 1);
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
