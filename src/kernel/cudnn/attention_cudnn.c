/* attention_cudnn.c: attention by NVIDIA's cuDNN, which knows this graph of operations and does it
 * in one kernel: scores = q k^T, scaled; where it is causal, minus infinity for keys that come
 * after the query; softmax; times v. Scores and what follows them are in f32, softmax's output in
 * the type of v. */
#include "kernel/cudnn/cudnn_graph.h"
#include "op/attention.h"

#include <math.h>

enum { RANK = 4 };

struct state {
    struct cudnn_graph graph; /* first */
    bool packed;
    size_t row_bytes; /* of one position of q, k or v */
};

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    enum assay_status status = assay_cudnn_can_run(why);
    if (status == ASSAY_OK && problem && problem->axes[ASSAY_ATTENTION_DIM] % 8 != 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "cuDNN's attention takes heads of a multiple of 8, not %lld",
                               (long long)problem->axes[ASSAY_ATTENTION_DIM]);
    return status;
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* What one kernel is described with. */
struct layout {
    struct cudnn_graph *g;
    int64_t scores[RANK], scores_strides[RANK]; /* [batch, heads, seq, seq] */
    int64_t rows[RANK], rows_strides[RANK];     /* [batch, heads, seq, 1] */
};

static struct layout layout_of(struct cudnn_graph *g, const struct assay_problem *p)
{
    int64_t batch = p->axes[ASSAY_ATTENTION_BATCH], heads = p->axes[ASSAY_ATTENTION_HEADS];
    int64_t seq = p->axes[ASSAY_ATTENTION_SEQ];
    return (struct layout){.g = g,
                           .scores = {batch, heads, seq, seq},
                           .scores_strides = {heads * seq * seq, seq * seq, seq, 1},
                           .rows = {batch, heads, seq, 1},
                           .rows_strides = {heads * seq, seq, 1, 1}};
}

static cudnn_tensor scores(const struct layout *layout, int type)
{
    return assay_cudnn_between(layout->g, type, layout->scores, layout->scores_strides);
}

static cudnn_tensor rows(const struct layout *layout)
{
    return assay_cudnn_between(layout->g, DNN_FLOAT, layout->rows, layout->rows_strides);
}

static cudnn_tensor apply(const struct layout *layout, struct cudnn_pointwise p, cudnn_tensor y)
{
    assay_cudnn_pointwise(layout->g, &p, y);
    return y;
}

static cudnn_tensor reduced(const struct layout *layout, int operator_, cudnn_tensor x)
{
    cudnn_tensor y = rows(layout);
    assay_cudnn_reduction(layout->g, operator_, x, y);
    return y;
}

/* Keys that come after the query are seen as minus infinity. */
static cudnn_tensor masked(const struct layout *layout, cudnn_tensor x, cudnn_tensor never)
{
    cudnn_tensor query =
        apply(layout,
              (struct cudnn_pointwise){.mode = DNN_GEN_INDEX, .math = DNN_INT32, .x = x, .axis = 2},
              scores(layout, DNN_INT32));
    cudnn_tensor key =
        apply(layout,
              (struct cudnn_pointwise){.mode = DNN_GEN_INDEX, .math = DNN_INT32, .x = x, .axis = 3},
              scores(layout, DNN_INT32));
    cudnn_tensor seen = apply(
        layout,
        (struct cudnn_pointwise){.mode = DNN_CMP_GE, .math = DNN_BOOLEAN, .x = query, .b = key},
        scores(layout, DNN_BOOLEAN));
    return apply(layout,
                 (struct cudnn_pointwise){
                     .mode = DNN_BINARY_SELECT, .math = DNN_FLOAT, .x = x, .b = never, .t = seen},
                 scores(layout, DNN_FLOAT));
}

/* exp(x - max) / sum. The library recognises it with a training step's statistics, so max +
 * log(sum) is computed too, and not used. */
static cudnn_tensor softmax(const struct layout *layout, cudnn_tensor x, int type)
{
    struct cudnn_pointwise p = {.mode = DNN_SUB, .math = DNN_FLOAT, .x = x};
    cudnn_tensor most = reduced(layout, DNN_REDUCE_MAX, x);
    p.b = most;
    cudnn_tensor less = apply(layout, p, scores(layout, DNN_FLOAT));
    p = (struct cudnn_pointwise){.mode = DNN_EXP, .math = DNN_FLOAT, .x = less};
    cudnn_tensor powers = apply(layout, p, scores(layout, DNN_FLOAT));
    cudnn_tensor sum = reduced(layout, DNN_REDUCE_ADD, powers);
    p = (struct cudnn_pointwise){.mode = DNN_LOG, .math = DNN_FLOAT, .x = sum};
    cudnn_tensor log = apply(layout, p, rows(layout));
    p = (struct cudnn_pointwise){.mode = DNN_ADD, .math = DNN_FLOAT, .x = most, .b = log};
    apply(layout, p, rows(layout));
    p = (struct cudnn_pointwise){.mode = DNN_DIV, .math = DNN_FLOAT, .x = powers, .b = sum};
    return apply(layout, p, scores(layout, type));
}

/* Operands in this order: q, k, v, out. */
static void describe(struct state *s, const struct assay_problem *p, int type)
{
    struct cudnn_graph *g = &s->graph;
    struct layout layout = layout_of(g, p);
    int64_t batch = p->axes[ASSAY_ATTENTION_BATCH], heads = p->axes[ASSAY_ATTENTION_HEADS];
    int64_t seq = p->axes[ASSAY_ATTENTION_SEQ], dim = p->axes[ASSAY_ATTENTION_DIM];
    int64_t row = heads * dim, pitch = s->packed ? 3 * row : row;
    const int64_t sizes[RANK] = {batch, heads, seq, dim};
    const int64_t turned_sizes[RANK] = {batch, heads, dim, seq};
    const int64_t strides[RANK] = {seq * pitch, dim, pitch, 1};
    const int64_t turned[RANK] = {seq * pitch, dim, 1, pitch};
    const int64_t out_strides[RANK] = {seq * row, dim, row, 1};
    bool causal = p->params[ASSAY_ATTENTION_CAUSAL] != 0;
    cudnn_tensor q = assay_cudnn_operand(g, type, sizes, strides);
    cudnn_tensor k = assay_cudnn_operand(g, type, turned_sizes, turned);
    cudnn_tensor v = assay_cudnn_operand(g, type, sizes, strides);
    cudnn_tensor out = assay_cudnn_operand(g, type, sizes, out_strides);
    cudnn_tensor scale = assay_cudnn_number(g, (float)(1 / sqrt((double)dim)));
    cudnn_tensor never = causal ? assay_cudnn_number(g, -INFINITY) : NULL;
    cudnn_tensor x = scores(&layout, DNN_FLOAT);
    assay_cudnn_matmul(g, q, k, x);
    struct cudnn_pointwise scaled = {.mode = DNN_MUL, .math = DNN_FLOAT, .x = x, .b = scale};
    x = apply(&layout, scaled, scores(&layout, DNN_FLOAT));
    if (causal)
        x = masked(&layout, x, never);
    assay_cudnn_matmul(g, softmax(&layout, x, type), v, out);
}

/* ---- plan and call --------------------------------------------------------------------------- */

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    s->packed = problem->params[ASSAY_ATTENTION_PACKED] != 0;
    s->row_bytes =
        (size_t)(problem->axes[ASSAY_ATTENTION_HEADS] * problem->axes[ASSAY_ATTENTION_DIM]) *
        assay_dtype_bytes(problem->dtype);
    enum assay_status status = assay_cudnn_begin(&s->graph, err);
    if (status != ASSAY_OK)
        return status;
    describe(s, problem, assay_cudnn_type(problem->dtype));
    return assay_cudnn_compile(&s->graph, problem, true, err);
}

/* One input has, for each position, q of all heads, then k, then v. */
static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const char *first = args->in[0];
    const void *operands[] = {first, s->packed ? first + s->row_bytes : args->in[1],
                              s->packed ? first + 2 * s->row_bytes : args->in[2], args->out[0]};
    return assay_cudnn_run(&s->graph, operands, stream);
}

/* There are no weights. */
static size_t prepared_bytes(void *state)
{
    (void)state;
    return 0;
}

static const struct cuda_op attention = {.state_bytes = sizeof(struct state),
                                         .plan = plan,
                                         .call = call,
                                         .release = assay_cudnn_release};

CUDA_KERNEL(attention_cudnn, "attention", "cudnn", attention, .dtypes = CUDA_HALVES,
            .preference = 1, .can_run = can_run, .prepare = assay_cudnn_prepare,
            .prepared_bytes = prepared_bytes, .note = assay_cudnn_note);
