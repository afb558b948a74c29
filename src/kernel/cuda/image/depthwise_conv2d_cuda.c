/* depthwise_conv2d_cuda.c: depthwise_conv2d on the GPU; the work is in depthwise_conv2d.cu. */
#include "kernel/cuda/cuda_op.h"
#include "op/conv.h"

/* Of a block: threads with neighbouring channels (128 bytes of 16-bit types, or more), columns and
 * lines; what a thread has of each is in depthwise_conv2d.cu. */
enum { THREADS = 256, BESIDE = 16, COLUMNS = 8 };
enum { UNIT = 4, TILE_Y = 4, KERNEL_MOST = 7, STRIDE_MOST = 2, GRID_MOST = 65535 };

/* As in depthwise_conv2d.cu. */
struct shape {
    int64_t batch, height, width, channels, out_height, out_width;
    int32_t pad, kernel, stride;
};

struct state {
    cu_function function;
    struct assay_cuda_launch launch;
    struct shape shape;
    uint32_t beside, columns;
    int32_t bias; /* the input; -1: there is none */
};

static unsigned unit_of(int64_t channels) { return channels % UNIT == 0 ? UNIT : 1; }

static int64_t tile_x(const struct assay_problem *p) { return p->dtype == ASSAY_DTYPE_F32 ? 2 : 4; }

static unsigned power_within(int64_t wanted, unsigned most)
{
    unsigned power = 1;
    while (power < most && power < wanted)
        power *= 2;
    return power;
}

static void choose_launch(const struct assay_problem *p, const struct assay_conv *c,
                          struct state *s)
{
    int64_t units = c->in / unit_of(c->in), tiles_x = assay_ceil_div(c->out_width, tile_x(p));
    int64_t tiles_y = assay_ceil_div(c->out_height, TILE_Y);
    s->beside = power_within(units, BESIDE);
    s->columns = power_within(tiles_x, COLUMNS * BESIDE / s->beside);
    unsigned lines = power_within(tiles_y, THREADS / s->beside / s->columns);
    s->launch.threads = s->beside * s->columns * lines;
    s->launch.grid_x =
        (unsigned)(assay_ceil_div(units, s->beside) * assay_ceil_div(tiles_x, s->columns));
    s->launch.grid_y = (unsigned)assay_ceil_div(tiles_y, lines);
    s->launch.grid_z = (unsigned)c->batch;
    s->shape = (struct shape){c->batch,        c->height,          c->width,
                              c->in,           c->out_height,      c->out_width,
                              (int32_t)c->pad, (int32_t)c->kernel, (int32_t)c->stride};
    s->bias = c->bias;
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    if (problem) {
        struct assay_conv c = assay_conv_of(problem);
        struct state s = {0};
        choose_launch(problem, &c, &s);
        int64_t blocks =
            assay_ceil_div(c.in, s.beside) * assay_ceil_div(c.out_width, tile_x(problem));
        if (s.launch.grid_y > GRID_MOST || c.batch > GRID_MOST || blocks > INT32_MAX)
            return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "too large for one launch");
    }
    return assay_cuda_op_can_run(problem, why);
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    struct assay_conv c = assay_conv_of(problem);
    bool small = c.kernel <= KERNEL_MOST && c.stride <= STRIDE_MOST;
    choose_launch(problem, &c, s);
    return assay_cuda_op_compile(&s->function, err, "depthwise_conv2d.cu", "depthwise", 0,
                                 "-DELEMENT=%d -DUNIT=%u -DKERNEL=%d -DSTRIDE=%d",
                                 cuda_op_element(problem->dtype), unit_of(c.in),
                                 small ? (int)c.kernel : 0, small ? (int)c.stride : 0);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const void *x = args->in[ASSAY_CONV_X], *w = args->in[ASSAY_CONV_W];
    const void *bias = cuda_op_input(args, s->bias);
    void *out = args->out[0];
    void *parameters[] = {&x, &w, &bias, &out, &s->shape, &s->beside, &s->columns};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op depthwise = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call};

CUDA_KERNEL(depthwise_conv2d_cuda, "depthwise_conv2d", "cuda", depthwise, .dtypes = CUDA_FLOATS,
            .preference = 1, .can_run = can_run);
