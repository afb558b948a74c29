/* update_cuda.c: adamw and sgd on the GPU; the work is in update.cu. */
#include "kernel/cuda/cuda_op.h"
#include "op/optimizer.h"

#include <math.h>
#include <string.h>

enum { THREADS = 256, INPUTS_MOST = 4, OUTPUTS_MOST = 3 };
enum { OP_ADAMW, OP_SGD, OP_SGD_MOMENTUM }; /* as in update.cu */

/* As in update.cu. */
struct tensors {
    const void *in[INPUTS_MOST];
    void *out[OUTPUTS_MOST];
};
struct constants {
    float keep, rate, beta1, rest1, beta2, rest2, root, eps, decay, momentum;
};

struct state {
    cu_function function;
    struct assay_cuda_launch launch;
    int32_t inputs, outputs;
    int64_t count;
    struct constants constants;
};

static struct constants adamw_of(const double *p)
{
    double t = p[ASSAY_ADAMW_STEP], beta1 = p[ASSAY_ADAMW_BETA1], beta2 = p[ASSAY_ADAMW_BETA2];
    double lr = p[ASSAY_ADAMW_LR];
    return (struct constants){
        .keep = (float)(1 - lr * p[ASSAY_ADAMW_WEIGHT_DECAY]),
        .rate = (float)(lr / (1 - pow(beta1, t))),
        .beta1 = (float)beta1,
        .rest1 = (float)(1 - beta1),
        .beta2 = (float)beta2,
        .rest2 = (float)(1 - beta2),
        .root = (float)(1 / sqrt(1 - pow(beta2, t))),
        .eps = (float)p[ASSAY_ADAMW_EPS],
    };
}

static struct constants sgd_of(const double *p)
{
    return (struct constants){
        .rate = (float)p[ASSAY_SGD_LR],
        .decay = (float)p[ASSAY_SGD_WEIGHT_DECAY],
        .momentum = (float)p[ASSAY_SGD_MOMENTUM],
    };
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    bool adamw = strcmp(problem->op, "adamw") == 0;
    int op = adamw ? OP_ADAMW : problem->n_inputs == 3 ? OP_SGD_MOMENTUM : OP_SGD;
    s->inputs = problem->n_inputs;
    s->outputs = problem->n_outputs;
    s->count = assay_tensor_count(&problem->inputs[0]);
    s->constants = adamw ? adamw_of(problem->params) : sgd_of(problem->params);
    int64_t vecs = assay_ceil_div(s->count, cuda_op_vec(problem->dtype));
    s->launch.threads = cuda_op_threads(vecs, THREADS);
    s->launch.grid_x = (unsigned)assay_ceil_div(vecs, s->launch.threads);
    return assay_cuda_op_compile(&s->function, err, "update.cu", "update_step", 0,
                                 "-DELEMENT=%d -DOP=%d", cuda_op_element(problem->dtype), op);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    struct tensors t = {0};
    (void)set;
    for (int32_t i = 0; i < s->inputs; i++)
        t.in[i] = args->in[i];
    for (int32_t i = 0; i < s->outputs; i++)
        t.out[i] = args->out[i];
    void *parameters[] = {&t, &s->count, &s->constants};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op step = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call};

CUDA_OP_KERNEL(adamw_cuda, "adamw", step);
CUDA_OP_KERNEL(sgd_cuda, "sgd", step);
