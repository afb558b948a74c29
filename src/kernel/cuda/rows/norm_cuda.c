/* norm_cuda.c: layernorm, rmsnorm and layernorm_gelu on the GPU, and in the form that saves the
 * statistics of each row for the gradient; the work is in norm.cu. */
#include "kernel/cuda/cuda_rows.h"

enum { WARPS = 1 };

/* In the order of norm.cu's OP_…. */
static const char *const ops[] = {"layernorm",        "rmsnorm",
                                  "layernorm_gelu",   "layernorm_training",
                                  "rmsnorm_training", "layernorm_gelu_training"};
enum { OPS = sizeof ops / sizeof ops[0], FORWARD = OPS / 2 };

struct state {
    struct cuda_rows rows;
    cu_function function;
    struct assay_cuda_launch launch;
    int32_t beta;       /* which input; rmsnorm has none, and does not look at it */
    int32_t mean, rstd; /* outputs, or 0; rmsnorm has no mean, and does not look at it */
    float inverse;
    double eps;
};

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    char options[64];
    int op = assay_cuda_op_number(problem, ops, OPS);
    s->rows = assay_cuda_few_rows(problem->dtype, problem->axes[0] * problem->axes[1],
                                  problem->axes[2], WARPS);
    s->launch = assay_cuda_rows_launch(&s->rows);
    s->beta = problem->n_inputs - 1;
    s->inverse = (float)(1 / (double)s->rows.dim);
    s->eps = problem->params[0];
    s->rstd = problem->n_outputs - 1;
    s->mean = s->rstd > 0;
    snprintf(options, sizeof options, "-DOP=%d -DFULL=%u%s", op % FORWARD,
             assay_cuda_rows_full(&s->rows), op >= FORWARD ? " -DSAVE=1" : "");
    return assay_cuda_rows_function(&s->rows, "norm.cu", "norm", problem->dtype, options,
                                    &s->function, err);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const void *x = args->in[0], *gamma = args->in[1], *beta = args->in[s->beta];
    void *out = args->out[0], *mean = args->out[s->mean], *rstd = args->out[s->rstd];
    void *parameters[] = {&x,           &gamma,         &beta,       &out,    &s->rows.rows,
                          &s->rows.dim, &s->rows.lanes, &s->inverse, &s->eps, &mean,
                          &rstd};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op norm = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call};

CUDA_OP_KERNEL(layernorm_cuda, "layernorm", norm);
CUDA_OP_KERNEL(rmsnorm_cuda, "rmsnorm", norm);
CUDA_OP_KERNEL(layernorm_gelu_cuda, "layernorm_gelu", norm);
CUDA_OP_KERNEL(layernorm_training_cuda, "layernorm_training", norm);
CUDA_OP_KERNEL(rmsnorm_training_cuda, "rmsnorm_training", norm);
CUDA_OP_KERNEL(layernorm_gelu_training_cuda, "layernorm_gelu_training", norm);
