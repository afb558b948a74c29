/* read_cuda.c: read on the GPU; the work is in read.cu. */
#include "kernel/cuda/cuda_op.h"

enum { THREADS = 512, FLIGHT = 4, SCRATCH_BYTES = 8 };

struct state {
    cu_function function;
    struct assay_cuda_launch launch;
    int64_t bytes;
    void *scratch;
};

static void release(void *state)
{
    struct state *s = state;
    assay_cuda_free(s->scratch, SCRATCH_BYTES);
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    static const char zeros[SCRATCH_BYTES];
    struct state *s = state;
    s->bytes = (int64_t)assay_tensor_bytes(&problem->inputs[0]);
    enum assay_status status =
        assay_cuda_function("read.cu", "-DELEMENT=32", "read", 0, &s->function, err);
    if (status == ASSAY_OK)
        status = assay_cuda_alloc(SCRATCH_BYTES, &s->scratch, err);
    if (status == ASSAY_OK)
        status = assay_cuda_upload(s->scratch, zeros, SCRATCH_BYTES, err);
    if (status != ASSAY_OK)
        return status;
    int64_t vecs = assay_ceil_div(s->bytes, 16);
    s->launch.threads = cuda_op_threads(vecs, THREADS);
    s->launch.grid_x = cuda_op_grid(s->function, s->launch.threads,
                                    assay_ceil_div(vecs, (int64_t)FLIGHT * s->launch.threads));
    return ASSAY_OK;
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const void *x = args->in[0];
    void *out = args->out[0];
    void *parameters[] = {&x, &out, &s->bytes, &s->scratch};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op reading = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call, .release = release};

CUDA_OP_KERNEL(read_cuda, "read", reading);
