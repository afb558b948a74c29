/* swiglu_cuda.c: swiglu and its gradient on the GPU; the work is in swiglu.cu. */
#include "kernel/cuda/cuda_op.h"

enum { THREADS = 256 };

struct state {
    cu_function function;
    struct assay_cuda_launch launch;
    int64_t items, row_items;
};

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    int64_t vec = cuda_op_vec(problem->dtype), dim = problem->axes[2];
    bool vector = dim % vec == 0;
    s->row_items = vector ? dim / vec : dim;
    s->items = problem->axes[0] * problem->axes[1] * s->row_items;
    s->launch.threads = cuda_op_threads(s->items, THREADS);
    s->launch.grid_x = (unsigned)assay_ceil_div(s->items, s->launch.threads);
    return assay_cuda_op_compile(
        &s->function, err, "swiglu.cu", problem->op, 0, "-DELEMENT=%d -DVECTOR=%d -DWIDE=%d",
        cuda_op_element(problem->dtype), vector, s->items > INT32_MAX - THREADS);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const void *x = args->in[0];
    void *out = args->out[0];
    void *parameters[] = {&x, &out, &s->items, &s->row_items};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static enum assay_status call_backward(void *state, int64_t set, const struct assay_args *args,
                                       void *stream)
{
    struct state *s = state;
    (void)set;
    const void *dy = args->in[0], *x = args->in[1];
    void *out = args->out[0];
    void *parameters[] = {&dy, &x, &out, &s->items, &s->row_items};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op swiglu = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call};

static const struct cuda_op swiglu_backward = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call_backward};

CUDA_OP_KERNEL(swiglu_cuda, "swiglu", swiglu);
CUDA_OP_KERNEL(swiglu_backward_cuda, "swiglu_backward", swiglu_backward);
