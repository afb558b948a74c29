/* conv2d_cuda.c: conv2d on any GPU and of any shape: conv2d_mma.cu for f16 and bf16, with matrix
 * instructions, conv2d_f32.cu for f32. On Hopper conv2d_wgmma_cuda.c is faster, for the channels it
 * takes. */
#include "kernel/cuda/cuda_op.h"
#include "op/conv.h"

enum { THREADS = 256, MMA_STEP = 32, MMA_STAGES = 4, MMA_PITCH = MMA_STEP + 8, GRID_Y = 65535 };

/* conv2d.cuh: struct conv2d_args. */
struct args {
    const void *x, *w, *bias, *residual;
    void *y;
    int32_t height, width, in, out, kernel, stride, pad, out_height, out_width;
    int32_t rows, depth;
};

/* How y is cut. */
struct tile {
    int32_t rows, columns;
    double cost; /* of one output, relative to the best tile: smaller ones reread more */
};
static const struct tile tiles[] = {{128, 128, 1}, {128, 64, 1.2}, {64, 64, 1.5}};
enum { N_TILES = sizeof tiles / sizeof tiles[0] };

struct state {
    struct args args;
    int32_t bias, residual;
    cu_function function;
    struct assay_cuda_launch launch;
};

static int64_t rows_of(const struct assay_conv *c)
{
    return c->batch * c->out_height * c->out_width;
}

static enum assay_status can_run(const struct assay_problem *p, struct assay_error *why)
{
    enum assay_status status = assay_cuda_can_compile(why);
    if (status != ASSAY_OK || !p)
        return status;
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    struct assay_conv c = assay_conv_of(p);
    if (gpu && gpu->major < 8)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "needs a GPU of compute capability 8.0 or more, not %d.%d",
                               gpu->major, gpu->minor);
    /* A tile beyond the last pixel of y, and a window beyond the last of x, must fit. */
    double most = INT32_MAX / 4, kernel = (double)c.kernel;
    double pixels = (double)c.batch * ((double)c.height + kernel) * ((double)c.width + kernel);
    if (pixels > most || (double)rows_of(&c) > most || kernel * kernel * (double)c.in > most)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "more than 2^29 pixels of x or y, or elements of a window");
    if (c.out > GRID_Y * 64)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "more than %d channels of y",
                               GRID_Y * 64);
    return ASSAY_OK;
}

/* How often the GPU is filled, two blocks to an SM, times the work of a tile. */
static double time_of(const struct assay_conv *c, const struct tile *t, int32_t sms)
{
    int64_t count = assay_ceil_div(rows_of(c), t->rows) * assay_ceil_div(c->out, t->columns);
    return (double)assay_ceil_div(count, 2 * sms) * t->rows * t->columns * t->cost;
}

static const struct tile *tile_for(const struct assay_conv *c, int32_t sms)
{
    const struct tile *best = &tiles[0];
    for (int i = 1; i < N_TILES; i++)
        if (time_of(c, &tiles[i], sms) < time_of(c, best, sms))
            best = &tiles[i];
    return best;
}

static struct args args_of(const struct assay_conv *c)
{
    return (struct args){
        .height = (int32_t)c->height,
        .width = (int32_t)c->width,
        .in = (int32_t)c->in,
        .out = (int32_t)c->out,
        .kernel = (int32_t)c->kernel,
        .stride = (int32_t)c->stride,
        .pad = (int32_t)c->pad,
        .out_height = (int32_t)c->out_height,
        .out_width = (int32_t)c->out_width,
        .rows = (int32_t)rows_of(c),
        .depth = (int32_t)(c->kernel * c->kernel * c->in),
    };
}

static enum assay_status compile(struct state *s, const struct assay_problem *p,
                                 const struct tile *tile, struct assay_error *err)
{
    bool f32 = p->dtype == ASSAY_DTYPE_F32;
    return assay_cuda_op_compile(
        &s->function, err, f32 ? "conv2d_f32.cu" : "conv2d_mma.cu",
        f32 ? "conv2d_f32" : "conv2d_mma", s->launch.shared_bytes,
        "-DELEMENT=%d -DVECTOR=%d -DBLOCK_M=%d -DBLOCK_N=%d -DBIAS=%d -DRESIDUAL=%d",
        cuda_op_element(p->dtype), s->args.in % (int32_t)cuda_op_vec(p->dtype) == 0, tile->rows,
        tile->columns, s->bias >= 0, s->residual >= 0);
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    if (!gpu)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "no GPU is open");
    struct assay_conv c = assay_conv_of(problem);
    const struct tile *tile = tile_for(&c, gpu->sms);
    s->args = args_of(&c);
    s->bias = c.bias;
    s->residual = c.residual;
    s->launch =
        (struct assay_cuda_launch){.grid_x = (unsigned)assay_ceil_div(rows_of(&c), tile->rows),
                                   .grid_y = (unsigned)assay_ceil_div(c.out, tile->columns),
                                   .threads = THREADS};
    if (problem->dtype != ASSAY_DTYPE_F32)
        s->launch.shared_bytes =
            (unsigned)(MMA_STAGES * (tile->rows + tile->columns) * MMA_PITCH * 2);
    return compile(s, problem, tile, err);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    s->args.x = args->in[ASSAY_CONV_X];
    s->args.w = args->in[ASSAY_CONV_W];
    s->args.bias = cuda_op_input(args, s->bias);
    s->args.residual = cuda_op_input(args, s->residual);
    s->args.y = args->out[0];
    void *parameters[] = {&s->args};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op conv2d = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call};

CUDA_KERNEL(conv2d_cuda, "conv2d", "cuda", conv2d, .dtypes = CUDA_FLOATS, .preference = 1,
            .can_run = can_run);
