/* softmax_cuda.c: softmax on the GPU; the work is in softmax.cu. */
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
    s->rows = assay_cuda_few_rows(problem->dtype, problem->axes[0] * problem->axes[1],
                                  problem->axes[2], WARPS);
    s->launch = assay_cuda_rows_launch(&s->rows);
    return assay_cuda_rows_function(&s->rows, "softmax.cu", "softmax", problem->dtype, "",
                                    &s->function, err);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const void *x = args->in[0];
    void *out = args->out[0];
    void *parameters[] = {&x, &out, &s->rows.rows, &s->rows.dim, &s->rows.lanes};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op softmax = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call};

CUDA_OP_KERNEL(softmax_cuda, "softmax", softmax);
