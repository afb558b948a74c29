/* eltwise_cuda.c: the element-wise ops on the GPU; the work is in eltwise.cu. */
#include "kernel/cuda/cuda_op.h"

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

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    s->inputs = problem->n_inputs;
    s->count = assay_tensor_count(&problem->inputs[0]);
    s->param = problem->n_params ? (float)problem->params[0] : 0.0f;
    int64_t vecs = assay_ceil_div(s->count, cuda_op_vec(problem->dtype));
    s->launch.threads = cuda_op_threads(vecs, THREADS);
    s->launch.grid_x = (unsigned)assay_ceil_div(vecs, s->launch.threads);
    return assay_cuda_op_compile(&s->function, err, "eltwise.cu", "eltwise", 0,
                                 "-DELEMENT=%d -DOP=%d", cuda_op_element(problem->dtype),
                                 assay_cuda_op_number(problem, ops, OPS));
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const void *x = args->in[0], *y = args->in[s->inputs - 1];
    void *out = args->out[0];
    void *parameters[] = {&x, &y, &out, &s->count, &s->param};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op eltwise = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call};

CUDA_OP_KERNEL(gelu_cuda, "gelu", eltwise);
CUDA_OP_KERNEL(gelu_tanh_cuda, "gelu_tanh", eltwise);
CUDA_OP_KERNEL(silu_cuda, "silu", eltwise);
CUDA_OP_KERNEL(relu_cuda, "relu", eltwise);
CUDA_OP_KERNEL(sigmoid_cuda, "sigmoid", eltwise);
CUDA_OP_KERNEL(leakyrelu_cuda, "leakyrelu", eltwise);
CUDA_OP_KERNEL(relu6_cuda, "relu6", eltwise);
CUDA_OP_KERNEL(hardswish_cuda, "hardswish", eltwise);
CUDA_OP_KERNEL(add_cuda, "add", eltwise);
CUDA_OP_KERNEL(copy_cuda, "copy", eltwise);
CUDA_OP_KERNEL(triad_cuda, "triad", eltwise);
CUDA_OP_KERNEL(fma_cuda, "fma", eltwise);
