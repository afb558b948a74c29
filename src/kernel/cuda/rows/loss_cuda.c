/* loss_cuda.c: mse, sum, cross_entropy and cross_entropy_both on the GPU; the work is in loss.cu.
 */
#include "kernel/cuda/cuda_rows.h"

#include "base/alloc.h"
#include "base/rng.h"

enum { MSE_THREADS = 512, MSE_VECS = 2, WARPS = 8 };

/* What blocks leave for the last of them: a ticket, alone in a line, and partial sums. Where the
 * ticket lies decides how long they wait for it, by a tenth of a short launch: each output has one
 * of several, so that this goes with the operands and not with the process. */
enum { TICKET_BYTES = 128, SLOTS = 32 };

struct state {
    struct cuda_rows rows; /* cross_entropy */
    bool gradient;         /* cross_entropy_both */
    int64_t count;         /* mse, sum */
    int32_t last;          /* their last input */
    cu_function function;
    struct assay_cuda_launch launch;
    size_t scratch_bytes, slot_bytes;
    void *scratch;
};

struct slot {
    void *ticket;
    double *partials;
};

static void release(void *state)
{
    struct state *s = state;
    assay_cuda_free(s->scratch, s->scratch_bytes);
}

static struct slot slot_of(const struct state *s, const void *out)
{
    size_t index = assay_rng_mix((uintptr_t)out) % SLOTS;
    char *at = (char *)s->scratch + index * s->slot_bytes;
    return (struct slot){at, (double *)(void *)(at + TICKET_BYTES)};
}

/* Once the launch is known; tickets start at 0 and every launch leaves its own there. */
static enum assay_status make_scratch(struct state *s, struct assay_error *err)
{
    size_t partials = s->launch.grid_x * sizeof(double);
    size_t slot = TICKET_BYTES + (partials + TICKET_BYTES - 1) / TICKET_BYTES * TICKET_BYTES;
    void *zeros = assay_calloc(SLOTS, slot);
    enum assay_status status =
        zeros ? assay_cuda_alloc(SLOTS * slot, &s->scratch, err) : assay_error_nomem(err);
    if (status == ASSAY_OK) {
        s->slot_bytes = slot;
        s->scratch_bytes = SLOTS * slot;
        status = assay_cuda_upload(s->scratch, zeros, s->scratch_bytes, err);
    }
    assay_free(zeros);
    return status;
}

static enum assay_status plan_mse(void *state, const struct assay_problem *problem,
                                  struct assay_error *err)
{
    struct state *s = state;
    s->count = assay_tensor_count(&problem->inputs[0]);
    s->last = problem->n_inputs - 1;
    int64_t vecs = assay_ceil_div(s->count, cuda_op_vec(problem->dtype));
    enum assay_status status =
        assay_cuda_op_compile(&s->function, err, "loss.cu", problem->op, 0, "-DELEMENT=%d",
                              cuda_op_element(problem->dtype));
    if (status != ASSAY_OK)
        return status;
    s->launch.threads = cuda_op_threads(vecs, MSE_THREADS);
    s->launch.grid_x =
        cuda_op_even_grid(s->function, s->launch.threads,
                          assay_ceil_div(vecs, MSE_VECS * (int64_t)s->launch.threads));
    return make_scratch(s, err);
}

static enum assay_status plan_cross_entropy(void *state, const struct assay_problem *problem,
                                            struct assay_error *err)
{
    struct state *s = state;
    s->gradient = problem->n_outputs == 2;
    s->rows = assay_cuda_rows(problem->dtype, problem->axes[0] * problem->axes[1], problem->axes[2],
                              WARPS);
    enum assay_status status =
        assay_cuda_rows_function(&s->rows, "loss.cu", "cross_entropy", problem->dtype,
                                 s->gradient ? "-DGRADIENT=1" : "-DGRADIENT=0", &s->function, err);
    if (status != ASSAY_OK)
        return status;
    s->launch.threads = s->rows.threads;
    s->launch.grid_x = cuda_op_even_grid(s->function, s->launch.threads,
                                         assay_ceil_div(s->rows.rows, s->rows.at_once));
    return make_scratch(s, err);
}

static enum assay_status call_mse(void *state, int64_t set, const struct assay_args *args,
                                  void *stream)
{
    struct state *s = state;
    (void)set;
    const void *x = args->in[0], *y = args->in[s->last];
    void *out = args->out[0];
    struct slot slot = slot_of(s, out);
    void *parameters[] = {&x, &y, &out, &s->count, &slot.partials, &slot.ticket};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static enum assay_status call_cross_entropy(void *state, int64_t set, const struct assay_args *args,
                                            void *stream)
{
    struct state *s = state;
    (void)set;
    const void *x = args->in[0], *classes = args->in[1];
    void *out = args->out[0], *dx = s->gradient ? args->out[1] : NULL;
    struct slot slot = slot_of(s, out);
    void *parameters[] = {&x,           &classes,       &out,           &s->rows.rows,
                          &s->rows.dim, &s->rows.lanes, &slot.partials, &slot.ticket,
                          &dx};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op mse = {
    .state_bytes = sizeof(struct state), .plan = plan_mse, .call = call_mse, .release = release};
static const struct cuda_op cross_entropy = {.state_bytes = sizeof(struct state),
                                             .plan = plan_cross_entropy,
                                             .call = call_cross_entropy,
                                             .release = release};

CUDA_OP_KERNEL(mse_cuda, "mse", mse);
CUDA_OP_KERNEL(sum_cuda, "sum", mse);
CUDA_OP_KERNEL(cross_entropy_cuda, "cross_entropy", cross_entropy);
CUDA_OP_KERNEL(cross_entropy_both_cuda, "cross_entropy_both", cross_entropy);
