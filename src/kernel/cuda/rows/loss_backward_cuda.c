/* loss_backward_cuda.c: cross_entropy_backward on the GPU; the work is in loss_backward.cu. */
#include "kernel/cuda/cuda_op.h"

enum { THREADS = 256 };

struct state {
    cu_function function;
    struct assay_cuda_launch launch;
    int64_t items, row_items;
    float inverse; /* 1 / rows */
};

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    int64_t vec = cuda_op_vec(problem->dtype), dim = problem->axes[2];
    int64_t rows = problem->axes[0] * problem->axes[1];
    bool vector = dim % vec == 0;
    s->row_items = vector ? dim / vec : dim;
    s->items = rows * s->row_items;
    s->inverse = (float)(1 / (double)rows);
    s->launch.threads = cuda_op_threads(s->items, THREADS);
    s->launch.grid_x = (unsigned)assay_ceil_div(s->items, s->launch.threads);
    return assay_cuda_op_compile(&s->function, err, "loss_backward.cu", "cross_entropy_backward", 0,
                                 "-DELEMENT=%d -DVECTOR=%d -DWIDE=%d",
                                 cuda_op_element(problem->dtype), vector,
                                 s->items > INT32_MAX - THREADS);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const void *loss = args->in[0], *x = args->in[1], *classes = args->in[2];
    const void *logsums = args->in[3];
    void *out = args->out[0];
    void *parameters[] = {&loss, &x,        &classes,      &logsums,
                          &out,  &s->items, &s->row_items, &s->inverse};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op cross_entropy_backward = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call};

CUDA_OP_KERNEL(cross_entropy_backward_cuda, "cross_entropy_backward", cross_entropy_backward);
