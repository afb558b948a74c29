/* eltwise_cuda.c: the element-wise ops on the GPU; the work is in eltwise.cu. */
#include "kernel/cuda/cuda_op.h"

#include <string.h>

/* In the order of eltwise.cu's OP_…. */
static const char *const ops[] = {"gelu",  "gelu_tanh", "silu", "relu", "sigmoid", "leakyrelu",
                                  "relu6", "hardswish", "add",  "copy", "triad",   "fma"};
enum { OPS = sizeof ops / sizeof ops[0] };

enum { THREADS = 256 };

struct state {
    cu_function function;
    struct assay_cuda_launch launch;
    int32_t inputs;
    int64_t count;
    float param;
};

static int op_number(const char *name)
{
    for (int i = 0; i < OPS; i++)
        if (strcmp(ops[i], name) == 0)
            return i;
    return -1;
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    char options[64];
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->inputs = problem->n_inputs;
    s->count = assay_tensor_count(&problem->inputs[0]);
    s->param = problem->n_params ? (float)problem->params[0] : 0.0f;
    int64_t vecs = cuda_op_ceil(s->count, cuda_op_vec(problem->dtype));
    s->launch.threads = cuda_op_threads(vecs, THREADS);
    s->launch.grid_x = (unsigned)cuda_op_ceil(vecs, s->launch.threads);
    snprintf(options, sizeof options, "-DELEMENT=%d -DOP=%d", cuda_op_element(problem->dtype),
             op_number(problem->op));
    enum assay_status status =
        assay_cuda_function("eltwise.cu", options, "eltwise", 0, &s->function, err);
    if (status != ASSAY_OK) {
        assay_free(s);
        return status;
    }
    *state = s;
    return ASSAY_OK;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    struct state *s = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        const void *x = args->in[0], *y = args->in[s->inputs - 1];
        void *out = args->out[0];
        void *parameters[] = {&x, &y, &out, &s->count, &s->param};
        status = assay_cuda_launch(s->function, &s->launch, work->stream, parameters);
    }
    return status;
}

CUDA_OP_KERNEL(gelu, setup, run, assay_free);
CUDA_OP_KERNEL(gelu_tanh, setup, run, assay_free);
CUDA_OP_KERNEL(silu, setup, run, assay_free);
CUDA_OP_KERNEL(relu, setup, run, assay_free);
CUDA_OP_KERNEL(sigmoid, setup, run, assay_free);
CUDA_OP_KERNEL(leakyrelu, setup, run, assay_free);
CUDA_OP_KERNEL(relu6, setup, run, assay_free);
CUDA_OP_KERNEL(hardswish, setup, run, assay_free);
CUDA_OP_KERNEL(add, setup, run, assay_free);
CUDA_OP_KERNEL(copy, setup, run, assay_free);
CUDA_OP_KERNEL(triad, setup, run, assay_free);
CUDA_OP_KERNEL(fma, setup, run, assay_free);
