/* ref.c: the `ref` kernel of every op: its double reference, rounded to the dtype. Slow and
 * obvious; always there, for every op, dtype and shape. A new op has its ref kernel by being
 * listed. */
#include "kernel/kernel.h"

#include "base/alloc.h"

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
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    s->op = assay_op_find(problem->op);
    s->problem = *problem;
    *state = s;
    return ASSAY_OK;
}

static void compute(const struct state *s, const struct assay_args *args)
{
    const struct assay_problem *p = &s->problem;
    int64_t rows = assay_op_rows(p), length = assay_op_row_length(p);
    int64_t blocks = (length + BLOCK - 1) / BLOCK;
    if (rows * blocks == 1) { /* one number: the op's own reference may use threads */
        double values[BLOCK];
        s->op->reference(p, args->in, 0, 0, length, values);
        assay_dtype_store(p->outputs[0].dtype, values, args->out[0], 0, length);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t task = 0; task < rows * blocks; task++) {
        double values[BLOCK];
        int64_t row = task / blocks, first = task % blocks * BLOCK;
        int64_t n = length - first < BLOCK ? length - first : BLOCK;
        s->op->reference(p, args->in, row, first, n, values);
        assay_dtype_store(p->outputs[0].dtype, values, args->out[0], row * length + first, n);
    }
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    for (int64_t i = 0; i < work->iters; i++)
        compute(state, assay_work_args(work, i));
    return ASSAY_OK;
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
                  ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),                                               \
        .setup = setup,                                                                            \
        .run = run,                                                                                \
        .teardown = assay_free,                                                                    \
    };
#include "op/op_list.h"
#undef ASSAY_OP
