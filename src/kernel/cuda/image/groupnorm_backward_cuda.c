/* groupnorm_backward_cuda.c: the gradients of groupnorm on the GPU; the work is in
 * groupnorm_backward.cu. */
#include "kernel/cuda/columns_cuda.h"
#include "op/groupnorm.h"

enum { SUMS_THREADS = 256, SUMS_ITEMS = 32, MEANS_THREADS = 128, PUT_THREADS = 256 };
enum { CHUNK_LEAST = 32, GRID_Y_MOST = 65535 };

/* As in groupnorm_backward.cu. */
struct tensors {
    const void *dy, *x, *gamma, *beta, *mean, *rstd;
    void *dx, *parts, *means;
    int64_t pixels, channels;
    uint32_t groups, of_group, chunks;
    float inverse;
};

struct state {
    cu_function sums, means, put;
    struct assay_cuda_launch sums_launch, means_launch, put_launch;
    struct tensors tensors; /* without pointers */
    struct cuda_columns columns;
    void *means_scratch;
    size_t means_bytes;
    int64_t n_groups, items; /* of all images */
    bool silu;
};

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    if (problem && problem->axes[ASSAY_GROUPNORM_BATCH] > GRID_Y_MOST)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "more than %d images", GRID_Y_MOST);
    return assay_cuda_op_can_run(problem, why);
}

static void release(void *state)
{
    struct state *s = state;
    assay_cuda_columns_fini(&s->columns);
    assay_cuda_free(s->means_scratch, s->means_bytes);
}

/* Enough chunks of the pixels for eight blocks on each SM, but none of a few pixels only. */
static int64_t chunks_of(const struct assay_problem *p, int64_t across)
{
    int64_t pixels = p->axes[ASSAY_GROUPNORM_HEIGHT] * p->axes[ASSAY_GROUPNORM_WIDTH];
    int64_t blocks = across * p->axes[ASSAY_GROUPNORM_BATCH];
    int64_t wanted = assay_ceil_div(8 * (int64_t)assay_cuda_properties()->sms, blocks);
    int64_t most = assay_min(assay_ceil_div(pixels, CHUNK_LEAST), GRID_Y_MOST);
    return assay_max(assay_min(wanted, most), 1);
}

static void shape_of(struct state *s, const struct assay_problem *p)
{
    int64_t channels = p->axes[ASSAY_GROUPNORM_CHANNELS], groups = p->axes[ASSAY_GROUPNORM_GROUPS];
    int64_t pixels = p->axes[ASSAY_GROUPNORM_HEIGHT] * p->axes[ASSAY_GROUPNORM_WIDTH];
    int64_t batch = p->axes[ASSAY_GROUPNORM_BATCH], vec = cuda_op_vec(p->dtype);
    int64_t row_items = channels % vec == 0 ? channels / vec : channels;
    int64_t across = assay_ceil_div(row_items, SUMS_ITEMS), chunks = chunks_of(p, across);
    s->silu = p->params[ASSAY_GROUPNORM_SILU] != 0;
    s->n_groups = batch * groups;
    s->items = batch * pixels * row_items;
    s->tensors = (struct tensors){
        .pixels = pixels,
        .channels = channels,
        .groups = (uint32_t)groups,
        .of_group = (uint32_t)(channels / groups),
        .chunks = (uint32_t)chunks,
        .inverse = (float)(1 / ((double)pixels * (double)(channels / groups))),
    };
    s->sums_launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)across,
        .grid_y = (unsigned)chunks,
        .grid_z = (unsigned)batch,
        .threads = SUMS_THREADS,
    };
    s->means_launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)assay_ceil_div(s->n_groups, MEANS_THREADS / 32),
        .threads = MEANS_THREADS,
    };
    s->put_launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)assay_ceil_div(s->items, PUT_THREADS),
        .threads = PUT_THREADS,
    };
}

static enum assay_status compile(const struct state *s, const struct assay_problem *p,
                                 const char *name, cu_function *out, struct assay_error *err)
{
    return assay_cuda_op_compile(
        out, err, "groupnorm_backward.cu", name, 0, "-DELEMENT=%d -DVECTOR=%d -DSILU=%d -DWIDE=%d",
        cuda_op_element(p->dtype), s->tensors.channels % cuda_op_vec(p->dtype) == 0, s->silu,
        s->items > INT32_MAX - PUT_THREADS);
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    shape_of(s, problem);
    int64_t parts = problem->axes[ASSAY_GROUPNORM_BATCH] * s->tensors.chunks;
    size_t means = (size_t)s->n_groups * 2 * sizeof(float);
    enum assay_status status = compile(s, problem, "groupnorm_backward_sums", &s->sums, err);
    if (status == ASSAY_OK)
        status = compile(s, problem, "groupnorm_backward_means", &s->means, err);
    if (status == ASSAY_OK)
        status = compile(s, problem, "groupnorm_backward_put", &s->put, err);
    if (status == ASSAY_OK)
        status = compile(s, problem, "groupnorm_backward_finish", &s->columns.finish, err);
    if (status == ASSAY_OK)
        status = assay_cuda_columns_init(&s->columns, parts, 2, s->tensors.channels, err);
    if (status == ASSAY_OK)
        status = assay_cuda_alloc(means, &s->means_scratch, err);
    if (status == ASSAY_OK)
        s->means_bytes = means;
    return status;
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    struct tensors t = s->tensors;
    (void)set;
    t.dy = args->in[ASSAY_GROUPNORM_DY];
    t.x = args->in[ASSAY_GROUPNORM_OF_X];
    t.gamma = args->in[ASSAY_GROUPNORM_OF_GAMMA];
    t.beta = s->silu ? args->in[ASSAY_GROUPNORM_OF_BETA] : NULL;
    t.mean = args->in[ASSAY_GROUPNORM_MEAN];
    t.rstd = args->in[ASSAY_GROUPNORM_RSTD];
    t.dx = args->out[0];
    t.parts = s->columns.parts;
    t.means = s->means_scratch;
    void *sums[] = {&t}, *means[] = {&t, &s->n_groups}, *put[] = {&t, &s->items};
    enum assay_status status = assay_cuda_launch(s->sums, &s->sums_launch, stream, sums);
    if (status == ASSAY_OK)
        status = assay_cuda_launch(s->means, &s->means_launch, stream, means);
    if (status == ASSAY_OK)
        status = assay_cuda_launch(s->put, &s->put_launch, stream, put);
    return status == ASSAY_OK
               ? assay_cuda_columns_finish(&s->columns, args->out[1], args->out[2], stream)
               : status;
}

static const struct cuda_op groupnorm_backward = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call, .release = release};

CUDA_KERNEL(groupnorm_backward_cuda, "groupnorm_backward", "cuda", groupnorm_backward,
            .dtypes = CUDA_FLOATS, .preference = 1, .can_run = can_run);
