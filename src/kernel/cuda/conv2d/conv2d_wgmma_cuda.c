/* conv2d_wgmma_cuda.c: conv2d in bf16 and f16 with Hopper's warpgroup products (conv2d_wgmma.cu), a
 * product of the images' windows, which the copy engine gathers, and the filters. Images and
 * filters are used as they are. The copy engine wants channels that are a multiple of 16 bytes. */
#include "kernel/cuda/cuda_op.h"
#include "kernel/cuda/tensor_map.h"
#include "kernel/cuda/wgmma_tiles.h"
#include "op/conv.h"

enum {
    ELEMENT_BYTES = 2,
    STEP_CHANNELS = WGMMA_STEP_BYTES / ELEMENT_BYTES,
    LEAST_IN = STEP_CHANNELS / 2, /* with fewer channels most of a step would be zeros */
    MOST_KERNEL = 128,            /* what the copy engine's corners and offsets reach */
    MOST_STRIDE = 8,
    MOST_SIZE = 1 << 30,
};

/* conv2d_wgmma.cu: struct images. */
struct images {
    uint32_t out_height, out_width, in, kernel, stride, pad;
};

struct state {
    struct assay_conv conv;
    enum assay_dtype dtype;
    struct images images;
    struct wgmma_product product;
    struct wgmma_tile tiles[CUDA_CANDIDATES]; /* the best first, by count */
    int n_tiles;
    struct wgmma_tile tile; /* the one in use */
    bool tune;              /* the fastest tile has yet to be found */
    cu_function function;
    struct assay_cuda_launch launch;
    struct cuda_set_maps *maps;
    int64_t n_maps;
};

/* ---- can it run ------------------------------------------------------------------------------ */

static int64_t rows_of(const struct assay_conv *c)
{
    return c->batch * c->out_height * c->out_width;
}

static enum assay_status can_take(const struct assay_conv *c, struct assay_error *why)
{
    if (c->in % 8 != 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "%lld channels are not a multiple of 16 bytes", (long long)c->in);
    if (c->in < LEAST_IN)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "for %d channels and more", LEAST_IN);
    if (c->kernel > MOST_KERNEL || c->stride > MOST_STRIDE)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "for kernels of at most %d and strides of at most %d", MOST_KERNEL,
                               MOST_STRIDE);
    if (rows_of(c) > MOST_SIZE || c->out > MOST_SIZE || c->in > MOST_SIZE)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "more than 2^30 pixels of y or channels");
    return ASSAY_OK;
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    enum assay_status status = assay_cuda_can_wgmma(why);
    if (status != ASSAY_OK || !problem)
        return status;
    struct assay_conv c = assay_conv_of(problem);
    return can_take(&c, why);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static enum assay_status map_x(const struct state *s, const void *x, struct cuda_tensor_map *out,
                               struct assay_error *err)
{
    const struct assay_conv *c = &s->conv;
    const struct cuda_windows windows = {
        .address = x,
        .element = ELEMENT_BYTES,
        .batch = c->batch,
        .height = c->height,
        .width = c->width,
        .channels = c->in,
        .kernel = c->kernel,
        .stride = c->stride,
        .pad = c->pad,
        .box_windows = assay_wgmma_rows(&s->tile),
        .box_channels = STEP_CHANNELS,
    };
    return assay_cuda_windows_map(&windows, out, err);
}

static enum assay_status map_w(const struct state *s, const void *w, struct cuda_tensor_map *out,
                               struct assay_error *err)
{
    const struct assay_conv *c = &s->conv;
    uint64_t in = (uint64_t)c->in, taps = (uint64_t)(c->kernel * c->kernel);
    const struct cuda_tensor tensor = {
        .address = w,
        .element = ELEMENT_BYTES,
        .rank = 3,
        .sizes = {in, taps, (uint64_t)c->out},
        .strides = {ELEMENT_BYTES * in, ELEMENT_BYTES * in * taps},
        .box = {STEP_CHANNELS, 1, (uint32_t)s->tile.columns},
    };
    return assay_cuda_tensor_map(&tensor, out, err);
}

/* The maps of a set's operands, made when these are first seen: about a microsecond on the host. */
static enum assay_status map_operands(struct state *s, int64_t set, const struct assay_args *args,
                                      struct assay_error *err)
{
    const void *x = args->in[ASSAY_CONV_X], *w = args->in[ASSAY_CONV_W];
    enum assay_status status = assay_cuda_maps_grow(&s->maps, &s->n_maps, set + 1, err);
    if (status != ASSAY_OK)
        return status;
    struct cuda_set_maps *maps = &s->maps[set];
    if (maps->x_of == x && maps->w_of == w)
        return ASSAY_OK;
    status = map_x(s, x, &maps->x, err);
    if (status == ASSAY_OK)
        status = map_w(s, w, &maps->w, err);
    maps->x_of = status == ASSAY_OK ? x : NULL;
    maps->w_of = status == ASSAY_OK ? w : NULL;
    return status;
}

/* ---- plan ------------------------------------------------------------------------------------ */

static enum assay_status use_tile(struct state *s, const struct wgmma_tile *tile,
                                  struct assay_error *err)
{
    char cut[96];
    int element = cuda_op_element(s->dtype);
    s->tile = *tile;
    s->launch = assay_wgmma_launch(&s->product, tile);
    assay_wgmma_options(&s->product, tile, cut, sizeof cut);
    return assay_cuda_op_compile(
        &s->function, err, "conv2d_wgmma.cu", "conv2d_wgmma", s->launch.shared_bytes,
        "-DELEMENT=%d -DINPUT=%d %s -DSCALES=0 -DCENTRE=0 -DBIAS=%d -DACTIVATION=0 -DRESIDUAL=%d",
        element, element, cut, s->conv.bias >= 0, s->conv.residual >= 0);
}

static void release(void *state) { assay_free(((struct state *)state)->maps); }

static void describe(struct state *s, const struct assay_problem *problem, int32_t sms)
{
    struct assay_conv c = assay_conv_of(problem);
    s->conv = c;
    s->dtype = problem->dtype;
    s->images = (struct images){.out_height = (uint32_t)c.out_height,
                                .out_width = (uint32_t)c.out_width,
                                .in = (uint32_t)c.in,
                                .kernel = (uint32_t)c.kernel,
                                .stride = (uint32_t)c.stride,
                                .pad = (uint32_t)c.pad};
    s->product = (struct wgmma_product){
        .m = rows_of(&c),
        .n = c.out,
        .steps = c.kernel * c.kernel * assay_ceil_div(c.in, STEP_CHANNELS),
        .sms = sms,
    };
    s->n_tiles = assay_wgmma_tiles(&s->product, s->tiles);
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    if (!gpu || gpu->major != 9)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "no Hopper GPU is open");
    describe(s, problem, gpu->sms);
    s->tune = assay_host_autotunes(problem);
    return use_tile(s, &s->tiles[0], err);
}

/* ---- call ------------------------------------------------------------------------------------ */

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    enum assay_status status = map_operands(s, set, args, NULL);
    if (status != ASSAY_OK)
        return status;
    void *y = args->out[0];
    const void *bias = cuda_op_input(args, s->conv.bias);
    const void *residual = cuda_op_input(args, s->conv.residual);
    uint32_t m = (uint32_t)s->product.m, n = (uint32_t)s->product.n;
    void *parameters[] = {&s->maps[set].x, &s->maps[set].w, &y, &bias,
                          &residual,       &s->images,      &m, &n};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

/* ---- before it is measured ------------------------------------------------------------------- */

/* Only while the first set is the only one: maps depend on the tile. */
static enum assay_status tune_choose(void *state, int i, struct assay_error *err)
{
    struct state *s = state;
    s->maps[0].x_of = NULL;
    return use_tile(s, &s->tiles[i], err);
}

/* Nothing is stored but the maps; tiles are tried on the operands of set 0, whose y they write. */
static enum assay_status prepare(void *state, int64_t set, const struct assay_args *args,
                                 struct assay_error *err)
{
    struct state *s = state;
    const struct cuda_tuning tuning = {s->n_tiles, tune_choose, call};
    enum assay_status status = map_operands(s, set, args, err);
    if (status == ASSAY_OK && set == 0 && s->tune) {
        status = assay_cuda_tune(&tuning, s, args, err);
        s->tune = status != ASSAY_OK;
    }
    return status;
}

/* Each set has its own filters, which are not repacked. */
static size_t prepared_bytes(void *state)
{
    const struct assay_conv *c = &((const struct state *)state)->conv;
    return (size_t)(c->out * c->kernel * c->kernel * c->in) * ELEMENT_BYTES;
}

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    if (assay_host_autotunes(problem))
        snprintf(text, size, "autotuned: the fastest of up to %d tiles", CUDA_CANDIDATES);
}

static const struct cuda_op conv2d = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call, .release = release};

CUDA_KERNEL(conv2d_wgmma_cuda, "conv2d", "cuda", conv2d, .dtypes = CUDA_HALVES, .preference = 20,
            .can_run = can_run, .prepare = prepare, .prepared_bytes = prepared_bytes, .note = note);
