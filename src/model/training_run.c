#include "model/training_run.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "op/linear.h"
#include "op/node.h"
#include "op/reference/product.h"

#include <math.h>
#include <string.h>

/* One node: its problem in f32 (f64 in tests), and what it computes. */
struct node_run {
    const struct assay_node *node;
    struct assay_problem problem;
    const void *in[ASSAY_MAX_INPUTS];
    double *out[ASSAY_OP_OUTPUTS];
    double *sizes[ASSAY_OP_OUTPUTS]; /* of sums; NULL without noise */
    int32_t only;                    /* this output alone; -1: all */
};

static enum assay_dtype type_of(const struct assay_training_run *run)
{
    return run->graph->dtype == ASSAY_DTYPE_F64 ? ASSAY_DTYPE_F64 : ASSAY_DTYPE_F32;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* As the executor's memory would hold it, in the type that nodes are computed from. */
static void store(enum assay_dtype rounded, const double *from, enum assay_dtype type, void *to,
                  int64_t n)
{
    enum { BLOCK = 512 };
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t here = n - at < BLOCK ? n - at : BLOCK;
        double block[BLOCK], stored[BLOCK];
        assay_dtype_store(rounded, from + at, stored, 0, here);
        assay_dtype_load(rounded, stored, 0, here, block);
        assay_dtype_store(type, block, to, at, here);
    }
}

static enum assay_status make_value(struct assay_training_run *run, int32_t v,
                                    enum assay_dtype type, struct assay_error *err)
{
    int64_t n = assay_tensor_count(&run->graph->values[v].tensor);
    run->types[v] = type;
    run->values[v] = assay_calloc((size_t)n, assay_dtype_bytes(type));
    return run->values[v] ? ASSAY_OK : assay_error_nomem(err);
}

/* What no node makes: an input of the model, or a constant. */
static enum assay_status load_value(struct assay_training_run *run, int32_t v,
                                    struct assay_error *err)
{
    enum { BLOCK = 512 };
    const struct assay_value *value = &run->graph->values[v];
    enum assay_status status = make_value(run, v, type_of(run), err);
    int64_t n = assay_tensor_count(&value->tensor);
    if (status != ASSAY_OK || value->kind == ASSAY_VALUE_ZEROS)
        return status;
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t here = n - at < BLOCK ? n - at : BLOCK;
        double block[BLOCK];
        for (int64_t i = 0; i < here; i++)
            block[i] = 1;
        if (value->input >= 0)
            assay_dtype_load(value->tensor.dtype, run->in[value->input], at, here, block);
        assay_dtype_store(run->types[v], block, run->values[v], at, here);
    }
    return ASSAY_OK;
}

/* ---- products -------------------------------------------------------------------------------- */

/* [rows, columns] as [columns, rows]. */
static float *transposed(const float *from, int64_t rows, int64_t columns)
{
    float *to = assay_malloc((size_t)(rows * columns) * sizeof *to);
    if (!to)
        return NULL;
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++)
            to[c * rows + r] = from[r * columns + c];
    return to;
}

static double length_of(const float *row, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)row[i] * (double)row[i];
    return sqrt(sum);
}

/* Sizes of the sums (assay_op_sum_size), as far as the lengths of the rows tell them. */
static void estimate_sizes(const float *a, const float *b, int64_t m, int64_t n, int64_t k,
                           const double *sums, double *sizes)
{
#pragma omp parallel for schedule(static)
    for (int64_t j = 0; j < n; j++) {
        double length = length_of(b + j * k, k) / sqrt((double)k);
        for (int64_t i = 0; i < m; i++)
            sizes[i * n + j] = length;
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < m; i++) {
        double length = length_of(a + i * k, k);
        for (int64_t j = 0; j < n; j++)
            sizes[i * n + j] = fabs(sums[i * n + j]) + length * sizes[i * n + j];
    }
}

/* out [m, n] = a [m, k] b [n, k]^T */
static void multiply(const float *a, const float *b, int64_t m, int64_t n, int64_t k, double *out,
                     double *sizes)
{
    assay_product(a, b, m, n, k, out);
    if (sizes)
        estimate_sizes(a, b, m, n, k, out, sizes);
}

static void run_linear(const struct node_run *r)
{
    const struct assay_problem *p = &r->problem;
    int64_t m = p->axes[ASSAY_LINEAR_M], k = p->axes[ASSAY_LINEAR_K], n = p->axes[ASSAY_LINEAR_N];
    multiply(r->in[ASSAY_LINEAR_X], r->in[ASSAY_LINEAR_W], m, n, k, r->out[0], r->sizes[0]);
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < m; row++)
        assay_linear_finish(p, r->in, row, 0, n, r->out[0] + row * n);
}

static bool is_wanted(const struct node_run *r, int32_t output)
{
    return output >= 0 && (r->only < 0 || r->only == output);
}

/* dX = dY W and dW = dY^T x, as products of rows with rows. The sums of columns are left to the op.
 */
static enum assay_status run_linear_backward(const struct node_run *r, struct assay_error *err)
{
    const struct assay_problem *p = &r->problem;
    int64_t m = p->axes[ASSAY_LINEAR_M], k = p->axes[ASSAY_LINEAR_K], n = p->axes[ASSAY_LINEAR_N];
    int32_t x = assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_X);
    int32_t w = assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_W);
    int32_t dx = assay_linear_backward_output(p, ASSAY_LINEAR_DX);
    int32_t dw = assay_linear_backward_output(p, ASSAY_LINEAR_DW);
    bool has_dx = is_wanted(r, dx), has_dw = is_wanted(r, dw);
    float *wt = has_dx ? transposed(r->in[w], n, k) : NULL;
    float *xt = has_dw ? transposed(r->in[x], m, k) : NULL;
    float *dyt = has_dw ? transposed(r->in[0], m, n) : NULL;
    bool made = (!has_dx || wt) && (!has_dw || (xt && dyt));
    if (made && has_dx)
        multiply(r->in[0], wt, m, k, n, r->out[dx], r->sizes[dx]);
    if (made && has_dw)
        multiply(dyt, xt, n, k, m, r->out[dw], r->sizes[dw]);
    assay_free(wt);
    assay_free(xt);
    assay_free(dyt);
    return made ? ASSAY_OK : assay_error_nomem(err);
}

/* ---- other ops ------------------------------------------------------------------------------- */

/* Row by row; of few and long rows, as sums over all rows are, a piece at a time. */
static void run_rows(const struct node_run *r, int32_t output)
{
    enum { PIECE = 256, FEW = 64 };
    const struct assay_tensor *t = &r->problem.outputs[output];
    int64_t length = t->rank ? t->dims[t->rank - 1] : 1, rows = assay_tensor_count(t) / length;
    int64_t piece = rows < FEW && length > PIECE ? PIECE : length;
    int64_t pieces = (length + piece - 1) / piece;
#pragma omp parallel for schedule(dynamic, 4) if (rows * pieces > 1)
    for (int64_t i = 0; i < rows * pieces; i++) {
        int64_t row = i / pieces, first = i % pieces * piece;
        int64_t n = length - first < piece ? length - first : piece, at = row * length + first;
        assay_op_reference(r->node->op, &r->problem, output, r->in, row, first, n,
                           r->out[output] + at, r->sizes[output] ? r->sizes[output] + at : NULL);
    }
}

static enum assay_status run_blocks(const struct node_run *r, struct assay_error *err)
{
    const struct assay_op *op = r->node->op;
    int64_t length = op->row_block(&r->problem) * assay_op_row_length(&r->problem);
    int64_t blocks = assay_tensor_count(&r->problem.outputs[0]) / length;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < blocks && status == ASSAY_OK; i++)
        status = op->reference_blocks(&r->problem, r->in, &i, 1, r->out[0] + i * length,
                                      r->sizes[0] ? r->sizes[0] + i * length : NULL, err);
    return status;
}

static enum assay_status run_output(const struct node_run *r, int32_t output, bool fast,
                                    struct assay_error *err)
{
    const struct assay_op *op = r->node->op;
    if (op->reference_whole)
        return op->reference_whole(&r->problem, r->in, output, r->out[output], err);
    if (fast && output == 0 && op->node && op->node->whole)
        return op->node->whole(&r->problem, r->in, r->out[0], err);
    if (output == 0 && op->reference_blocks)
        return run_blocks(r, err);
    run_rows(r, output);
    return ASSAY_OK;
}

static bool is_op(const struct node_run *r, const char *name)
{
    return strcmp(r->node->op->name, name) == 0;
}

static enum assay_status compute(const struct node_run *r, struct assay_error *err)
{
    bool fast = r->problem.dtype == ASSAY_DTYPE_F32, products = fast && is_op(r, "linear_backward");
    enum assay_status status = ASSAY_OK;
    if (fast && (is_op(r, "linear") || is_op(r, "linear_training"))) {
        run_linear(r);
        return ASSAY_OK;
    }
    if (products)
        status = run_linear_backward(r, err);
    for (int32_t i = 0; i < r->problem.n_outputs && status == ASSAY_OK; i++) {
        bool done = products && i != assay_linear_backward_output(&r->problem, ASSAY_LINEAR_DBIAS);
        if (!done && is_wanted(r, i))
            status = run_output(r, i, fast, err);
    }
    return status;
}

/* By a recipe: each output from operands cast and decoded as that output takes them. */
static enum assay_status compute_cast(const struct node_run *r, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < r->problem.n_outputs && status == ASSAY_OK; i++) {
        struct node_run one = *r;
        void *cast[ASSAY_MAX_INPUTS] = {0};
        one.only = i;
        status = r->node->op->dequantised(&r->problem, r->in, i, &one.problem, cast, err);
        for (int32_t j = 0; j < r->problem.n_inputs; j++)
            one.in[j] = cast[j] ? cast[j] : r->in[j];
        if (status == ASSAY_OK)
            status = compute(&one, err);
        for (int32_t j = 0; j < r->problem.n_inputs; j++)
            assay_free(cast[j]);
    }
    return status;
}

/* ---- noise ----------------------------------------------------------------------------------- */

static double random_sign(uint64_t seed, int64_t i) /* -1 to 1 */
{
    return (double)(int64_t)assay_rng_at(seed, (uint64_t)i) * 0x1p-63;
}

/* Tolerances are six deviations of what happens (op/common.c), those of a number of this size from
 * -1 to 1 are 1.7; rounding alone is as even as these are. */
static void add_noise(const struct assay_training_run *run, const struct node_run *r,
                      int32_t output)
{
    uint64_t seed = run->noise + (uint64_t)(r->node - run->graph->nodes) * 64 + (uint64_t)output;
    struct assay_tolerance t = assay_op_tolerance(r->node->op, &r->node->problem, output);
    int64_t n = assay_tensor_count(&r->problem.outputs[output]);
    double *out = r->out[output], *sizes = r->sizes[output];
    static const double part = 1.0 / 3;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        out[i] += random_sign(seed, 2 * i) * t.relative * fabs(out[i]) +
                  random_sign(seed, 2 * i + 1) * part * (t.absolute + t.summed * sizes[i]);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The node's problem in the type it is computed in. */
static enum assay_status make_problem(const struct assay_training_run *run,
                                      const struct assay_node *node, struct assay_problem *out,
                                      struct assay_error *err)
{
    enum assay_status status = assay_op_problem(node->op, type_of(run), NULL, node->problem.axes,
                                                run->problem->threads, out, err);
    if (status != ASSAY_OK)
        return status;
    memcpy(out->params, node->problem.params, sizeof out->params);
    if (node->op->trains)
        out->recipe = run->problem->recipe;
    node->op->shapes(out);
    return ASSAY_OK;
}

static enum assay_status make_outputs(const struct assay_training_run *run, struct node_run *r,
                                      struct assay_error *err)
{
    for (int32_t i = 0; i < r->problem.n_outputs; i++) {
        size_t n = (size_t)assay_tensor_count(&r->problem.outputs[i]);
        r->out[i] = assay_calloc(n, sizeof *r->out[i]);
        r->sizes[i] = run->noise ? assay_calloc(n, sizeof *r->sizes[i]) : NULL;
        if (!r->out[i] || (run->noise && !r->sizes[i]))
            return assay_error_nomem(err);
    }
    return ASSAY_OK;
}

/* What a watched node reads last, in double; moved where that is wanted, in place. */
static enum assay_status watch(struct assay_training_run *run, const struct node_run *r,
                               struct assay_error *err)
{
    int32_t index = (int32_t)(r->node - run->graph->nodes);
    int32_t value = r->node->in[r->problem.n_inputs - 1];
    int64_t n = assay_tensor_count(&run->graph->values[value].tensor);
    if (!run->watched || !run->watched(r->node))
        return ASSAY_OK;
    double *seen = assay_malloc((size_t)n * sizeof *seen);
    run->seen[index] = seen;
    if (!seen)
        return assay_error_nomem(err);
    assay_dtype_load(run->types[value], run->values[value], 0, n, seen);
    return ASSAY_OK;
}

/* A copy of the input that kinks are looked for in, moved; NULL: it stays as it is. */
static enum assay_status shift_input(const struct assay_training_run *run, struct node_run *r,
                                     void **moved, struct assay_error *err)
{
    int32_t index = (int32_t)(r->node - run->graph->nodes), last = r->problem.n_inputs - 1;
    int32_t value = r->node->in[last];
    int64_t n = assay_tensor_count(&run->graph->values[value].tensor);
    enum assay_dtype type = run->types[value];
    if (!run->shifts || !r->node->op->kinked)
        return ASSAY_OK;
    *moved = assay_malloc((size_t)n * assay_dtype_bytes(type));
    if (!*moved)
        return assay_error_nomem(err);
    for (int64_t i = 0; i < n; i++) {
        double x;
        assay_dtype_load(type, run->values[value], i, 1, &x);
        bool other = run->mixed && assay_rng_at(run->mixed + (uint64_t)index, (uint64_t)i) & 1;
        x += other ? -run->shifts[index] : run->shifts[index];
        assay_dtype_store(type, &x, *moved, i, 1);
    }
    r->in[last] = *moved;
    return ASSAY_OK;
}

/* Outputs become values, and outputs of the model. */
static enum assay_status hand_on(struct assay_training_run *run, struct node_run *r,
                                 struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < r->problem.n_outputs && status == ASSAY_OK; i++) {
        int32_t v = r->node->out[i];
        const struct assay_value *value = &run->graph->values[v];
        if (run->noise)
            add_noise(run, r, i);
        status = make_value(run, v, r->problem.outputs[i].dtype, err);
        if (status != ASSAY_OK)
            break;
        store(value->tensor.dtype, r->out[i], run->types[v], run->values[v],
              assay_tensor_count(&value->tensor));
        if (value->output >= 0) {
            run->outputs[value->output] = r->out[i];
            r->out[i] = NULL;
        }
    }
    return status;
}

static enum assay_status run_node(struct assay_training_run *run, const struct assay_node *node,
                                  struct assay_error *err)
{
    struct node_run r = {.node = node, .only = -1};
    void *moved = NULL;
    enum assay_status status = make_problem(run, node, &r.problem, err);
    for (int32_t i = 0; i < r.problem.n_inputs && status == ASSAY_OK; i++) {
        if (!run->values[node->in[i]])
            status = load_value(run, node->in[i], err);
        r.in[i] = run->values[node->in[i]];
    }
    if (status == ASSAY_OK)
        status = make_outputs(run, &r, err);
    if (status == ASSAY_OK)
        status = watch(run, &r, err);
    if (status == ASSAY_OK)
        status = shift_input(run, &r, &moved, err);
    if (status == ASSAY_OK)
        status = r.problem.recipe ? compute_cast(&r, err) : compute(&r, err);
    if (status == ASSAY_OK)
        status = hand_on(run, &r, err);
    for (int32_t i = 0; i < ASSAY_OP_OUTPUTS; i++) {
        assay_free(r.out[i]);
        assay_free(r.sizes[i]);
    }
    assay_free(moved);
    return status;
}

/* Values that no later node reads. */
static void drop_values(struct assay_training_run *run, int32_t done)
{
    const struct assay_graph *g = run->graph;
    bool needed[ASSAY_GRAPH_VALUES] = {0};
    for (int32_t i = done + 1; i < g->n_nodes; i++)
        for (int32_t j = 0; j < g->nodes[i].problem.n_inputs; j++)
            needed[g->nodes[i].in[j]] = true;
    for (int32_t v = 0; v < g->n_values; v++)
        if (!needed[v]) {
            assay_free(run->values[v]);
            run->values[v] = NULL;
        }
}

enum assay_status assay_training_run(struct assay_training_run *run, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < run->graph->n_nodes && status == ASSAY_OK; i++) {
        status = run_node(run, &run->graph->nodes[i], err);
        drop_values(run, i);
    }
    return status;
}

void assay_training_run_fini(struct assay_training_run *run)
{
    for (int32_t i = 0; i < ASSAY_MAX_OUTPUTS; i++)
        assay_free(run->outputs[i]);
    for (int32_t i = 0; i < ASSAY_GRAPH_NODES; i++)
        assay_free(run->seen[i]);
    for (int32_t i = 0; i < ASSAY_GRAPH_VALUES; i++)
        assay_free(run->values[i]);
}

double assay_training_run_seconds(const struct assay_graph *graph, int32_t threads)
{
    /* Operations in a second and thread; Zen 5 does 2e10 and 9e8. */
    static const double products = 1e10, others = 8e8;
    double seconds = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const struct assay_node *node = &graph->nodes[i];
        bool product =
            strncmp(node->op->name, "linear", 6) == 0 || (node->op->node && node->op->node->whole);
        double flops = node->op->cost(&node->problem).flops +
                       (double)assay_tensor_count(&node->problem.inputs[0]);
        seconds += flops / (product ? products : others) / threads;
    }
    return seconds;
}
