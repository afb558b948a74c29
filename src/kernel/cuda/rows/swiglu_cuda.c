/* swiglu_cuda.c: swiglu on the GPU; the work is in swiglu.cu. */
#include "kernel/cuda/cuda_op.h"

enum { THREADS = 256 };

struct state {
    cu_function function;
    struct assay_cuda_launch launch;
    int64_t items, row_items;
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    char options[64];
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    int64_t vec = cuda_op_vec(problem->dtype), dim = problem->axes[2];
    bool vector = dim % vec == 0;
    s->row_items = vector ? dim / vec : dim;
    s->items = problem->axes[0] * problem->axes[1] * s->row_items;
    s->launch.threads = cuda_op_threads(s->items, THREADS);
    s->launch.grid_x = (unsigned)cuda_op_ceil(s->items, s->launch.threads);
    snprintf(options, sizeof options, "-DELEMENT=%d -DVECTOR=%d -DWIDE=%d",
             cuda_op_element(problem->dtype), vector, s->items > INT32_MAX - THREADS);
    enum assay_status status =
        assay_cuda_function("swiglu.cu", options, "swiglu", 0, &s->function, err);
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
        void *parameters[] = {&x, &out, &s->items, &s->row_items};
        status = assay_cuda_launch(s->function, &s->launch, work->stream, parameters);
    }
    return status;
}

CUDA_OP_KERNEL(swiglu, setup, run, assay_free);
