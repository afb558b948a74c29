/* eltwise_cuda.c: the element-wise ops and their gradients on the GPU; the work is in eltwise.cu.
 */
#include "kernel/cuda/cuda_op.h"

/* In the order of eltwise.cu's OP_…. */
static const char *const ops[] = {"gelu",
                                  "gelu_tanh",
                                  "silu",
                                  "relu",
                                  "sigmoid",
                                  "leakyrelu",
                                  "relu6",
                                  "hardswish",
                                  "add",
                                  "copy",
                                  "triad",
                                  "fma",
                                  "gelu_backward",
                                  "gelu_tanh_backward",
                                  "silu_backward",
                                  "relu_backward",
                                  "sigmoid_backward",
                                  "leakyrelu_backward",
                                  "relu6_backward",
                                  "hardswish_backward",
                                  "add_backward",
                                  "mse_backward"};
enum { OPS = sizeof ops / sizeof ops[0], MSE_BACKWARD = OPS - 1 };

enum { THREADS = 256 };

struct state {
    cu_function function;
    struct assay_cuda_launch launch;
    int32_t x, y, loss; /* inputs; the first is the second where there is no other; or -1 */
    bool twice;         /* there are two outputs, which are the same */
    int64_t count;
    float param;
};

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    int op = assay_cuda_op_number(problem, ops, OPS);
    bool loss = op == MSE_BACKWARD;
    s->loss = loss ? 0 : -1;
    s->x = loss;
    s->y = problem->n_inputs - 1;
    s->twice = problem->n_outputs == 2;
    s->count = assay_tensor_count(&problem->outputs[0]);
    s->param = loss ? (float)(2 / (double)s->count) : (float)problem->params[0];
    int64_t vecs = assay_ceil_div(s->count, cuda_op_vec(problem->dtype));
    s->launch.threads = cuda_op_threads(vecs, THREADS);
    s->launch.grid_x = (unsigned)assay_ceil_div(vecs, s->launch.threads);
    return assay_cuda_op_compile(&s->function, err, "eltwise.cu", "eltwise", 0,
                                 "-DELEMENT=%d -DOP=%d", cuda_op_element(problem->dtype), op);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const void *x = args->in[s->x], *y = args->in[s->y], *loss = cuda_op_input(args, s->loss);
    void *out = args->out[0], *second = s->twice ? args->out[1] : NULL;
    void *parameters[] = {&x, &y, &out, &s->count, &s->param, &loss, &second};
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
CUDA_OP_KERNEL(gelu_backward_cuda, "gelu_backward", eltwise);
CUDA_OP_KERNEL(gelu_tanh_backward_cuda, "gelu_tanh_backward", eltwise);
CUDA_OP_KERNEL(silu_backward_cuda, "silu_backward", eltwise);
CUDA_OP_KERNEL(relu_backward_cuda, "relu_backward", eltwise);
CUDA_OP_KERNEL(sigmoid_backward_cuda, "sigmoid_backward", eltwise);
CUDA_OP_KERNEL(leakyrelu_backward_cuda, "leakyrelu_backward", eltwise);
CUDA_OP_KERNEL(relu6_backward_cuda, "relu6_backward", eltwise);
CUDA_OP_KERNEL(hardswish_backward_cuda, "hardswish_backward", eltwise);
CUDA_OP_KERNEL(add_backward_cuda, "add_backward", eltwise);
CUDA_OP_KERNEL(mse_backward_cuda, "mse_backward", eltwise);
