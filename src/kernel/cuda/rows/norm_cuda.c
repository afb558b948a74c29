/* norm_cuda.c: layernorm, rmsnorm and layernorm_gelu on the GPU; the work is in norm.cu. */
#include "kernel/cuda/cuda_op.h"

enum { WARPS = 1 };
enum { OP_LAYERNORM, OP_RMSNORM, OP_LAYERNORM_GELU }; /* as in norm.cu */

struct state {
    struct cuda_rows rows;
    cu_function function;
    struct assay_cuda_launch launch;
    int32_t beta; /* which input; rmsnorm has none, and does not look at it */
    float inverse;
    double eps;
};

static enum assay_status setup_op(const struct assay_problem *problem, int op, void **state,
                                  struct assay_error *err)
{
    char options[48];
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->rows = cuda_few_rows_of(problem->dtype, problem->axes[0] * problem->axes[1],
                               problem->axes[2], WARPS);
    s->launch.threads = s->rows.threads;
    s->launch.grid_x = (unsigned)cuda_op_ceil(s->rows.rows, s->rows.at_once);
    s->beta = problem->n_inputs - 1;
    s->inverse = (float)(1 / (double)s->rows.dim);
    s->eps = problem->params[0];
    snprintf(options, sizeof options, "-DOP=%d -DFULL=%u", op, cuda_rows_full(&s->rows));
    enum assay_status status =
        cuda_rows_function(&s->rows, "norm.cu", "norm", problem->dtype, options, &s->function, err);
    if (status != ASSAY_OK) {
        assay_free(s);
        return status;
    }
    *state = s;
    return ASSAY_OK;
}

static enum assay_status setup_layernorm(const struct assay_problem *problem, void **state,
                                         struct assay_error *err)
{
    return setup_op(problem, OP_LAYERNORM, state, err);
}

static enum assay_status setup_rmsnorm(const struct assay_problem *problem, void **state,
                                       struct assay_error *err)
{
    return setup_op(problem, OP_RMSNORM, state, err);
}

static enum assay_status setup_layernorm_gelu(const struct assay_problem *problem, void **state,
                                              struct assay_error *err)
{
    return setup_op(problem, OP_LAYERNORM_GELU, state, err);
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    struct state *s = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        const void *x = args->in[0], *gamma = args->in[1], *beta = args->in[s->beta];
        void *out = args->out[0];
        void *parameters[] = {&x,           &gamma,         &beta,       &out,   &s->rows.rows,
                              &s->rows.dim, &s->rows.lanes, &s->inverse, &s->eps};
        status = assay_cuda_launch(s->function, &s->launch, work->stream, parameters);
    }
    return status;
}

CUDA_OP_KERNEL(layernorm, setup_layernorm, run, assay_free);
CUDA_OP_KERNEL(rmsnorm, setup_rmsnorm, run, assay_free);
CUDA_OP_KERNEL(layernorm_gelu, setup_layernorm_gelu, run, assay_free);
