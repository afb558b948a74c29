/* loss_cuda.c: mse and cross_entropy on the GPU; the work is in loss.cu. */
#include "kernel/cuda/cuda_op.h"

enum { MSE_THREADS = 512, MSE_VECS = 2, WARPS = 8 };

/* As many blocks as the GPU holds at once, or so many fewer that all have the same number of
 * rounds: memory is then busy to the end. */
static unsigned even_grid(cu_function function, unsigned threads, int64_t pieces)
{
    int64_t held = cuda_op_grid(function, threads, pieces);
    return (unsigned)cuda_op_ceil(pieces, cuda_op_ceil(pieces, held));
}

/* What blocks leave for the last of them: a ticket, alone in a line, and partial sums. */
enum { TICKET_BYTES = 128 };

struct state {
    struct cuda_rows rows; /* cross_entropy */
    int64_t count;         /* mse */
    cu_function function;
    struct assay_cuda_launch launch;
    size_t scratch_bytes;
    void *scratch;
};

static void teardown(void *state)
{
    struct state *s = state;
    assay_cuda_free(s->scratch, s->scratch_bytes);
    assay_free(s);
}

static double *partials_of(const struct state *s)
{
    return (double *)(void *)((char *)s->scratch + TICKET_BYTES);
}

/* Once the launch is known; the ticket starts at 0 and every launch leaves it there. */
static enum assay_status make_scratch(struct state *s, struct assay_error *err)
{
    static const char zeros[TICKET_BYTES];
    size_t bytes = TICKET_BYTES + s->launch.grid_x * sizeof(double);
    enum assay_status status = assay_cuda_alloc(bytes, &s->scratch, err);
    if (status != ASSAY_OK)
        return status;
    s->scratch_bytes = bytes;
    return assay_cuda_upload(s->scratch, zeros, TICKET_BYTES, err);
}

static enum assay_status plan_mse(const struct assay_problem *problem, struct state *s,
                                  struct assay_error *err)
{
    char options[32];
    s->count = assay_tensor_count(&problem->inputs[0]);
    int64_t vecs = cuda_op_ceil(s->count, cuda_op_vec(problem->dtype));
    snprintf(options, sizeof options, "-DELEMENT=%d", cuda_op_element(problem->dtype));
    enum assay_status status = assay_cuda_function("loss.cu", options, "mse", 0, &s->function, err);
    if (status != ASSAY_OK)
        return status;
    s->launch.threads = cuda_op_threads(vecs, MSE_THREADS);
    s->launch.grid_x = even_grid(s->function, s->launch.threads,
                                 cuda_op_ceil(vecs, MSE_VECS * (int64_t)s->launch.threads));
    return ASSAY_OK;
}

static enum assay_status plan_cross_entropy(const struct assay_problem *problem, struct state *s,
                                            struct assay_error *err)
{
    s->rows =
        cuda_rows_of(problem->dtype, problem->axes[0] * problem->axes[1], problem->axes[2], WARPS);
    enum assay_status status = cuda_rows_function(&s->rows, "loss.cu", "cross_entropy",
                                                  problem->dtype, "", &s->function, err);
    if (status != ASSAY_OK)
        return status;
    s->launch.threads = s->rows.threads;
    s->launch.grid_x =
        even_grid(s->function, s->launch.threads, cuda_op_ceil(s->rows.rows, s->rows.at_once));
    return ASSAY_OK;
}

static enum assay_status setup_loss(const struct assay_problem *problem,
                                    enum assay_status (*plan)(const struct assay_problem *,
                                                              struct state *, struct assay_error *),
                                    void **state, struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    enum assay_status status = plan(problem, s, err);
    if (status == ASSAY_OK)
        status = make_scratch(s, err);
    if (status != ASSAY_OK) {
        teardown(s);
        return status;
    }
    *state = s;
    return ASSAY_OK;
}

static enum assay_status setup_mse(const struct assay_problem *problem, void **state,
                                   struct assay_error *err)
{
    return setup_loss(problem, plan_mse, state, err);
}

static enum assay_status setup_cross_entropy(const struct assay_problem *problem, void **state,
                                             struct assay_error *err)
{
    return setup_loss(problem, plan_cross_entropy, state, err);
}

static enum assay_status run_mse(void *state, const struct assay_work *work)
{
    struct state *s = state;
    double *partials = partials_of(s);
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        const void *x = args->in[0], *y = args->in[1];
        void *out = args->out[0];
        void *parameters[] = {&x, &y, &out, &s->count, &partials, &s->scratch};
        status = assay_cuda_launch(s->function, &s->launch, work->stream, parameters);
    }
    return status;
}

static enum assay_status run_cross_entropy(void *state, const struct assay_work *work)
{
    struct state *s = state;
    double *partials = partials_of(s);
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        const void *x = args->in[0], *classes = args->in[1];
        void *out = args->out[0];
        void *parameters[] = {&x,           &classes,       &out,      &s->rows.rows,
                              &s->rows.dim, &s->rows.lanes, &partials, &s->scratch};
        status = assay_cuda_launch(s->function, &s->launch, work->stream, parameters);
    }
    return status;
}

CUDA_OP_KERNEL(mse, setup_mse, run_mse, teardown);
CUDA_OP_KERNEL(cross_entropy, setup_cross_entropy, run_cross_entropy, teardown);
