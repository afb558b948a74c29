/* softmax_backward_cuda.c: softmax_backward on the GPU; the work is in softmax_backward.cu. */
#include "kernel/cuda/cuda_rows.h"

enum { WARPS = 1 };

struct state {
    struct cuda_rows rows;
    cu_function function;
    struct assay_cuda_launch launch;
};

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    char options[32];
    int held = 0;
    s->rows = assay_cuda_rows_of_two(problem->dtype, problem->axes[0] * problem->axes[1],
                                     problem->axes[2], WARPS, &held);
    s->launch = assay_cuda_rows_launch(&s->rows);
    snprintf(options, sizeof options, "-DHELD=%d", held);
    return assay_cuda_rows_function(&s->rows, "softmax_backward.cu", "softmax_backward",
                                    problem->dtype, options, &s->function, err);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const void *dy = args->in[0], *y = args->in[1];
    void *out = args->out[0];
    void *parameters[] = {&dy, &y, &out, &s->rows.rows, &s->rows.dim, &s->rows.lanes};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op softmax_backward = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call};

CUDA_OP_KERNEL(softmax_backward_cuda, "softmax_backward", softmax_backward);
