/* read_cuda.c: read on the GPU; the work is in read.cu. */
#include "kernel/cuda/cuda_op.h"

enum { THREADS = 512, FLIGHT = 4, SCRATCH_BYTES = 8 };

struct state {
    cu_function function;
    struct assay_cuda_launch launch;
    int64_t bytes;
    void *scratch;
};

static void teardown(void *state)
{
    struct state *s = state;
    assay_cuda_free(s->scratch, SCRATCH_BYTES);
    assay_free(s);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    static const char zeros[SCRATCH_BYTES];
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->bytes = (int64_t)assay_tensor_bytes(&problem->inputs[0]);
    enum assay_status status =
        assay_cuda_function("read.cu", "-DELEMENT=32", "read", 0, &s->function, err);
    if (status == ASSAY_OK)
        status = assay_cuda_alloc(SCRATCH_BYTES, &s->scratch, err);
    if (status == ASSAY_OK)
        status = assay_cuda_upload(s->scratch, zeros, SCRATCH_BYTES, err);
    if (status != ASSAY_OK) {
        teardown(s);
        return status;
    }
    int64_t pieces = cuda_op_ceil(s->bytes, 16);
    s->launch.threads = cuda_op_threads(pieces, THREADS);
    s->launch.grid_x = cuda_op_grid(s->function, s->launch.threads,
                                    cuda_op_ceil(pieces, (int64_t)FLIGHT * s->launch.threads));
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
        void *parameters[] = {&x, &out, &s->bytes, &s->scratch};
        status = assay_cuda_launch(s->function, &s->launch, work->stream, parameters);
    }
    return status;
}

CUDA_OP_KERNEL(read, setup, run, teardown);
