/* ref.c: the `ref` kernel of every op: its double reference, rounded to the dtype. Slow and
 * obvious; always there, for every op, dtype and shape. A new op has its ref kernel by being
 * listed. */
#include "kernel/kernel.h"

#include "base/alloc.h"
#include "op/linear.h"
#include "op/op.h"
#include "quant/quant.h"

enum { BLOCK = 1024 };

struct state {
    const struct assay_op *op;
    struct assay_problem problem;
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->op = assay_op_find(problem->op);
    s->problem = *problem;
    *state = s;
    return ASSAY_OK;
}

/* Rows that share work come in blocks: groupnorm's are whole images. */
static enum assay_status compute_blocks(const struct state *s, const struct assay_args *args)
{
    const struct assay_problem *p = &s->problem;
    int64_t length = s->op->row_block(p) * assay_op_row_length(p);
    int64_t blocks = assay_tensor_count(&p->outputs[0]) / length;
    double *values = assay_calloc((size_t)length, sizeof *values);
    enum assay_status status = values ? ASSAY_OK : ASSAY_ERR_NOMEM;
    for (int64_t block = 0; block < blocks && status == ASSAY_OK; block++) {
        status = s->op->reference_blocks(p, args->in, &block, 1, values, NULL, NULL);
        if (status == ASSAY_OK)
            assay_dtype_store(p->outputs[0].dtype, values, args->out[0], block * length, length);
    }
    assay_free(values);
    return status;
}

static void compute(const struct state *s, const struct assay_problem *p, int32_t output,
                    const struct assay_args *args)
{
    const struct assay_tensor *out = &p->outputs[output];
    int64_t length = out->rank ? out->dims[out->rank - 1] : 1;
    int64_t rows = assay_tensor_count(out) / length, blocks = (length + BLOCK - 1) / BLOCK;
    /* One block, a loss: the op's own reference may use threads. */
#pragma omp parallel for schedule(static) num_threads(p->threads) if (rows * blocks > 1)
    for (int64_t task = 0; task < rows * blocks; task++) {
        double values[BLOCK];
        int64_t row = task / blocks, first = task % blocks * BLOCK;
        int64_t n = length - first < BLOCK ? length - first : BLOCK;
        assay_op_reference(s->op, p, output, args->in, row, first, n, values, NULL);
        assay_dtype_store(out->dtype, values, args->out[output], row * length + first, n);
    }
}

/* A recipe's operands are quantised and dequantised in every call, weights and all: obvious. */
static enum assay_status compute_recipe(const struct state *s, int32_t output,
                                        const struct assay_args *args)
{
    struct assay_problem plain;
    void *made[ASSAY_MAX_INPUTS] = {0};
    const void *in[ASSAY_MAX_INPUTS];
    enum assay_status status =
        s->op->dequantised(&s->problem, args->in, output, &plain, made, NULL);
    if (status != ASSAY_OK)
        return status;
    for (int32_t i = 0; i < plain.n_inputs; i++)
        in[i] = made[i] ? made[i] : args->in[i];
    compute(s, &plain, output, &(struct assay_args){.in = in, .out = args->out});
    for (int32_t i = 0; i < plain.n_inputs; i++)
        assay_free(made[i]);
    return ASSAY_OK;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        if (s->op->dequantised)
            status = compute_recipe(s, 0, args);
        else if (s->op->reference_blocks)
            status = compute_blocks(s, args);
        else
            compute(s, &s->problem, 0, args);
        for (int32_t k = 1; k < s->problem.n_outputs && status == ASSAY_OK; k++)
            if (s->op->dequantised)
                status = compute_recipe(s, k, args);
            else
                compute(s, &s->problem, k, args);
    }
    return status;
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    struct assay_recipe recipe;
    if (!problem || !problem->recipe)
        return ASSAY_OK;
    if (assay_recipe_parse(problem->recipe, &recipe, why) != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    if (assay_op_find(problem->op)->trains)
        return assay_recipe_trains(&recipe, why);
    return assay_recipe_fits(&recipe, problem->dtype, problem->axes[ASSAY_LINEAR_K], why);
}

#define ASSAY_OP(n)                                                                                \
    extern const struct assay_kernel assay_kernel_##n##_ref;                                       \
    const struct assay_kernel assay_kernel_##n##_ref = {                                           \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #n "_ref",                                                                         \
        .op = #n,                                                                                  \
        .implementation = "ref",                                                                   \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |            \
                  ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),             \
        .can_run = can_run,                                                                        \
        .setup = setup,                                                                            \
        .run = run,                                                                                \
        .teardown = assay_free,                                                                    \
    };
#include "op/op_list.h"
#undef ASSAY_OP
