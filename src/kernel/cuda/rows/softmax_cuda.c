/* softmax_cuda.c: softmax on the GPU; the work is in softmax.cu. */
#include "kernel/cuda/cuda_op.h"

enum { WARPS = 1 };

struct state {
    struct cuda_rows rows;
    cu_function function;
    struct assay_cuda_launch launch;
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->rows = cuda_few_rows_of(problem->dtype, problem->axes[0] * problem->axes[1],
                               problem->axes[2], WARPS);
    s->launch.threads = s->rows.threads;
    s->launch.grid_x = (unsigned)cuda_op_ceil(s->rows.rows, s->rows.at_once);
    enum assay_status status = cuda_rows_function(&s->rows, "softmax.cu", "softmax", problem->dtype,
                                                  "", &s->function, err);
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
        const void *x = args->in[0];
        void *out = args->out[0];
        void *parameters[] = {&x, &out, &s->rows.rows, &s->rows.dim, &s->rows.lanes};
        status = assay_cuda_launch(s->function, &s->launch, work->stream, parameters);
    }
    return status;
}

CUDA_OP_KERNEL(softmax, setup, run, assay_free);
