/* linear_wgmma.c: `linear` with Hopper's warpgroup products (linear_wgmma.cu): the baseline of
 * bf16, f16 and s8, and all recipes, whose scales, bias and activation are applied where the sums
 * are. Rows must be multiples of 16 bytes, as the copy engine wants.
 *
 * Weights alone in fewer bits are brought back to x's type first, by a pass of its own
 * (linear_dequant.cu): for many rows of x that costs little beside the product. Codes with a scale
 * for each row are exact in that type and the scale is applied to the sums; those of groups are
 * rounded once. */
#include "base/alloc.h"
#include "kernel/cuda/activations.h"
#include "kernel/cuda/linear_weights.h"
#include "kernel/kernel.h"
#include "op/linear.h"

#include <stdalign.h>
#include <stdio.h>
#include <string.h>

/* What cuTensorMapEncodeTiled writes, and its arguments as CUtensorMap* enumerates them. */
struct tensor_map {
    uint64_t opaque[16];
};
enum { MAP_ALIGN = 64, MAP_UINT8 = 0, MAP_UINT16 = 1, MAP_SWIZZLE_128B = 3, MAP_PROMOTE_256B = 3 };

enum { STEP_BYTES = 128, THREADS = 384, GROUP_ROWS = 64, CONSUMERS = 2, LEAST_M = 64 };

/* How y is cut. A cluster of two blocks shares W where tiles are wide and x where they are high. */
struct tile {
    int32_t waves, columns; /* 128 * waves rows */
    int32_t stages, cluster;
    int32_t order; /* with PROMOTE: do warpgroups take turns? */
    double cost;   /* of one answer, relative to the best tile: smaller ones reread more */
};

/* The largest first. The sums of 8-bit floats are kept twice (PROMOTE), so a warpgroup has room for
 * 64 x 128 of them at a time. */
static const struct tile plain_tiles[] = {
    {1, 256, 4, 1, 0, 1}, {1, 128, 6, 1, 0, 1.03}, {1, 64, 8, 1, 0, 1.6}};
static const struct tile promoted_tiles[] = {
    {2, 128, 4, 1, 0, 1}, {1, 128, 6, 1, 0, 1.12}, {1, 64, 8, 1, 0, 1.33}};
enum { N_TILES = sizeof plain_tiles / sizeof plain_tiles[0] };

/* Maps of one set: of its W and, where x is multiplied as it comes, of its x. */
struct set_maps {
    const void *x_of; /* the x its map is of */
    struct tensor_map x, w;
};

struct state {
    int64_t m, k, n;
    enum assay_dtype dtype, input; /* of x as it comes and as it is multiplied */
    bool bias, quantises;
    int activation;
    int32_t threads;
    struct assay_recipe recipe;
    struct tile tile;
    cu_function function;
    struct assay_cuda_launch launch;
    struct cuda_activations activations; /* where x is quantised */
    struct tensor_map codes;             /* of those */
    cu_function decode; /* weights to x's type; NULL where they are multiplied as stored */
    struct assay_cuda_launch decode_launch;
    void *decoded; /* [n][k] */
    float *one;    /* on the GPU: the scale of x where only W has any */
    struct cuda_weight_sets weights;
    struct set_maps *maps;
    int64_t n_maps;
};

/* ---- can it run ------------------------------------------------------------------------------ */

static enum assay_dtype input_of(const struct assay_recipe *recipe, enum assay_dtype dtype)
{
    return recipe->activation == ASSAY_DTYPE_NONE ? dtype : recipe->activation;
}

/* Weights in fewer bits, x as it comes. */
static bool decodes(const struct assay_recipe *recipe)
{
    return recipe->code != ASSAY_DTYPE_NONE && recipe->activation == ASSAY_DTYPE_NONE;
}

static enum assay_status can_take(const struct assay_problem *p, const struct assay_recipe *recipe,
                                  struct assay_error *why)
{
    int64_t m = p->axes[ASSAY_LINEAR_M], k = p->axes[ASSAY_LINEAR_K], n = p->axes[ASSAY_LINEAR_N];
    enum assay_dtype input = input_of(recipe, p->dtype);
    bool as_is = recipe->activation == ASSAY_DTYPE_NONE;
    if (recipe->group & (recipe->group - 1))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "groups must be a power of two");
    if (input == ASSAY_DTYPE_F32)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "the tensor cores do not multiply f32; only with a recipe that "
                               "quantises x");
    if (as_is && m < LEAST_M)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "for %d rows of x and more", LEAST_M);
    if (decodes(recipe) && m == LEAST_M)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "for more than %d rows of x", LEAST_M);
    if (k * (int64_t)assay_dtype_bytes(input) % 16 != 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "rows of k = %lld %s are not a multiple of 16 bytes", (long long)k,
                               assay_dtype_name(input));
    if (m > INT32_MAX / 2 || n > INT32_MAX / 2 || k > INT32_MAX / 2)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "an axis is beyond 2^30");
    return ASSAY_OK;
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    enum assay_status status = assay_cuda_can_compile(why);
    if (status == ASSAY_OK)
        status = assay_linear_is_plain(problem, why);
    if (status != ASSAY_OK || !problem)
        return status;
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    if (gpu && gpu->major != 9)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "for GPUs of compute capability 9.0 (Hopper), not %d.%d", gpu->major,
                               gpu->minor);
    const struct cuda_driver_api *driver = assay_cuda_driver();
    if (!driver || !driver->cuTensorMapEncodeTiled)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "this driver has no cuTensorMapEncodeTiled; 525 and newer have");
    struct assay_recipe recipe;
    if (assay_recipe_parse(problem->recipe, &recipe, why) != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    status = assay_recipe_fits(&recipe, problem->dtype, problem->axes[ASSAY_LINEAR_K], why);
    return status == ASSAY_OK ? can_take(problem, &recipe, why) : status;
}

/* ---- setup ----------------------------------------------------------------------------------- */

static bool shares_w(const struct tile *t) { return t->cluster == 2 && t->waves == 1; }
static bool shares_x(const struct tile *t) { return t->cluster == 2 && t->waves == 2; }
static int32_t rows_of(const struct tile *t) { return CONSUMERS * GROUP_ROWS * t->waves; }

static size_t shared_bytes(const struct tile *t)
{
    enum { BARRIERS = 16, ALIGNMENT = 1024 };
    size_t stage = (size_t)(rows_of(t) + t->columns) * STEP_BYTES + BARRIERS;
    return ALIGNMENT + (size_t)t->stages * stage;
}

static int64_t parts(int64_t size, int64_t part) { return (size + part - 1) / part; }

/* Tiles of y, counted in clusters. */
static int64_t count_tiles(const struct tile *t, int64_t m, int64_t n)
{
    return parts(m, rows_of(t) * (shares_w(t) ? 2 : 1)) *
           parts(n, t->columns * (shares_x(t) ? 2 : 1));
}

/* The tile with the least time: how often the GPU is filled, times a tile's work. */
static struct tile choose_tile(const struct state *s, int32_t sms)
{
    const struct tile *tiles = s->input == ASSAY_DTYPE_E4M3 ? promoted_tiles : plain_tiles;
    int best = 0;
    double least = 0;
    for (int i = 0; i < N_TILES; i++) {
        const struct tile *t = &tiles[i];
        int64_t rounds = parts(count_tiles(t, s->m, s->n), sms / t->cluster);
        double time = (double)rounds * rows_of(t) * t->columns * t->cost;
        if (i == 0 || time < least) {
            best = i;
            least = time;
        }
    }
    return tiles[best];
}

/* INPUT and ELEMENT as linear_wgmma.cu and types.cuh number them. */
static int number_of(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_DTYPE_BF16:
        return 17;
    case ASSAY_DTYPE_F16:
        return 16;
    case ASSAY_DTYPE_E4M3:
        return 43;
    case ASSAY_DTYPE_S8:
        return 8;
    default:
        return 32;
    }
}

static enum assay_status compile(struct state *s, struct assay_error *err)
{
    char element[24] = "", options[256];
    int scales = s->one                                             ? 1
                 : !s->quantises                                    ? 0
                 : s->recipe.activation_scope == ASSAY_SCOPE_TENSOR ? 1
                                                                    : 2;
    if (s->dtype != ASSAY_DTYPE_S8)
        snprintf(element, sizeof element, "-DELEMENT=%d ", number_of(s->dtype));
    snprintf(options, sizeof options,
             "%s-DINPUT=%d -DWAVES=%d -DBLOCK_N=%d -DSTAGES=%d -DCLUSTER=%d -DPROMOTE=%d "
             "-DORDER=%d -DSCALES=%d -DBIAS=%d -DACTIVATION=%d",
             element, number_of(s->input), s->tile.waves, s->tile.columns, s->tile.stages,
             s->tile.cluster, s->input == ASSAY_DTYPE_E4M3, s->tile.order, scales, s->bias,
             s->activation);
    return assay_cuda_function("linear_wgmma.cu", options, "linear_wgmma", shared_bytes(&s->tile),
                               &s->function, err);
}

/* The copy engine's view of `matrix`, rows of k: boxes of 128 bytes of k, swizzled as wgmma wants
 * them, zeros beyond the edges. */
static enum assay_status make_map(const struct state *s, const void *matrix, int64_t rows,
                                  int32_t box_rows, struct tensor_map *out, struct assay_error *err)
{
    alignas(MAP_ALIGN) struct tensor_map map;
    size_t bytes = assay_dtype_bytes(s->input);
    const uint64_t sizes[2] = {(uint64_t)s->k, (uint64_t)rows};
    const uint64_t strides[1] = {(uint64_t)s->k * bytes};
    const uint32_t box[2] = {(uint32_t)(STEP_BYTES / bytes), (uint32_t)box_rows};
    const uint32_t ones[2] = {1, 1};
    enum assay_status status = assay_cuda_check(
        assay_cuda_driver()->cuTensorMapEncodeTiled(&map, bytes == 1 ? MAP_UINT8 : MAP_UINT16, 2,
                                                    (void *)(uintptr_t)matrix, sizes, strides, box,
                                                    ones, 0, MAP_SWIZZLE_128B, MAP_PROMOTE_256B, 0),
        "cuTensorMapEncodeTiled", err);
    if (status == ASSAY_OK)
        *out = map;
    return status;
}

static enum assay_status map_x(const struct state *s, const void *x, struct tensor_map *out,
                               struct assay_error *err)
{
    int32_t rows = rows_of(&s->tile);
    return make_map(s, x, s->m, shares_x(&s->tile) ? rows / 2 : rows, out, err);
}

static enum assay_status map_w(const struct state *s, const void *w, struct tensor_map *out,
                               struct assay_error *err)
{
    int32_t rows = s->tile.columns;
    return make_map(s, w, s->n, shares_w(&s->tile) ? rows / 2 : rows, out, err);
}

static size_t decoded_bytes(const struct state *s)
{
    return (size_t)s->n * (size_t)s->k * assay_dtype_bytes(s->dtype);
}

/* What bringing weights back needs. */
static enum assay_status set_up_decoding(struct state *s, int32_t sms, struct assay_error *err)
{
    enum { DECODE_THREADS = 256, DECODE_BLOCKS = 8 };
    const float one = 1;
    char options[64];
    snprintf(options, sizeof options, "-DELEMENT=%d -DCODE=%d", number_of(s->dtype),
             (int)s->recipe.code);
    s->decode_launch = (struct assay_cuda_launch){.grid_x = (unsigned)(sms * DECODE_BLOCKS),
                                                  .threads = DECODE_THREADS};
    enum assay_status status =
        assay_cuda_function("linear_dequant.cu", options, "linear_dequant", 0, &s->decode, err);
    if (status == ASSAY_OK)
        status = assay_cuda_alloc(decoded_bytes(s), &s->decoded, err);
    if (status == ASSAY_OK && !s->recipe.group) {
        status = assay_cuda_alloc(sizeof one, (void **)&s->one, err);
        if (status == ASSAY_OK)
            status = assay_cuda_upload(s->one, &one, sizeof one, err);
    }
    return status;
}

static void teardown(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    assay_cuda_free(s->decoded, decoded_bytes(s));
    assay_cuda_free(s->one, sizeof *s->one);
    assay_cuda_activations_fini(&s->activations);
    assay_cuda_weight_sets_fini(&s->weights);
    assay_free(s->maps);
    assay_free(s);
}

static enum assay_status set_up(struct state *s, struct assay_error *err)
{
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    if (!gpu || gpu->major != 9)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "no Hopper GPU is open");
    s->tile = choose_tile(s, gpu->sms);
    int64_t tiles = count_tiles(&s->tile, s->m, s->n), most = gpu->sms / s->tile.cluster;
    s->launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)((tiles < most ? tiles : most) * s->tile.cluster),
        .threads = THREADS,
        .shared_bytes = (unsigned)shared_bytes(&s->tile),
    };
    enum assay_status status = decodes(&s->recipe) ? set_up_decoding(s, gpu->sms, err) : ASSAY_OK;
    if (status == ASSAY_OK)
        status = compile(s, err);
    if (status == ASSAY_OK && s->quantises)
        status = assay_cuda_activations_create(&s->recipe, s->dtype, s->m, s->k, 1, 1,
                                               &s->activations, err);
    if (status == ASSAY_OK && s->quantises)
        status = map_x(s, s->activations.codes, &s->codes, err);
    return status;
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    s->m = problem->axes[ASSAY_LINEAR_M];
    s->k = problem->axes[ASSAY_LINEAR_K];
    s->n = problem->axes[ASSAY_LINEAR_N];
    s->dtype = problem->dtype;
    s->bias = problem->params[ASSAY_LINEAR_BIAS] != 0;
    s->activation = (int)problem->params[ASSAY_LINEAR_ACTIVATION];
    s->threads = problem->threads;
    enum assay_status status = assay_recipe_parse(problem->recipe, &s->recipe, err);
    if (status == ASSAY_OK) {
        s->input = input_of(&s->recipe, s->dtype);
        s->quantises = s->recipe.activation != ASSAY_DTYPE_NONE;
        status = set_up(s, err);
    }
    if (status != ASSAY_OK) {
        teardown(s);
        return status;
    }
    *state = s;
    return ASSAY_OK;
}

/* ---- weights --------------------------------------------------------------------------------- */

static enum assay_status prepare(void *state, int64_t set, const struct assay_args *args,
                                 struct assay_error *err)
{
    struct state *s = state;
    enum assay_status status =
        assay_cuda_weights_prepare(&s->weights, set, &s->recipe, s->dtype, args->in[ASSAY_LINEAR_W],
                                   s->n, s->k, s->threads, err);
    if (status != ASSAY_OK)
        return status;
    if (set >= s->n_maps) {
        int64_t count = set + 1 > 2 * s->n_maps ? set + 1 : 2 * s->n_maps;
        struct set_maps *grown = assay_realloc(s->maps, (size_t)count, sizeof *grown);
        if (!grown)
            return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
        memset(grown + s->n_maps, 0, (size_t)(count - s->n_maps) * sizeof *grown);
        s->maps = grown;
        s->n_maps = count;
    }
    return map_w(s, s->decode ? s->decoded : s->weights.sets[set].block, &s->maps[set].w, err);
}

static size_t prepared_bytes(void *state)
{
    const struct state *s = state;
    return s->weights.n ? s->weights.sets[0].bytes : 0;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* The map of x as it comes, made when a set's x is first seen: about a microsecond on the host. */
static enum assay_status map_of_x(const struct state *s, struct set_maps *maps, const void *x)
{
    if (maps->x_of == x)
        return ASSAY_OK;
    enum assay_status status = map_x(s, x, &maps->x, NULL);
    if (status == ASSAY_OK)
        maps->x_of = x;
    return status;
}

static enum assay_status decode(struct state *s, const struct cuda_weights *w, void *stream)
{
    int64_t count = s->n * s->k;
    int32_t group_shift = s->recipe.group ? __builtin_ctz((unsigned)s->recipe.group) : 0;
    const void *codes = w->block;
    const void *scales = w->scales, *zeros = w->zeros;
    void *parameters[] = {&codes, &scales, &zeros, &s->decoded, &count, &group_shift};
    return assay_cuda_launch(s->decode, &s->decode_launch, stream, parameters);
}

static enum assay_status multiply(struct state *s, int64_t set, const struct assay_args *args,
                                  void *stream)
{
    struct set_maps *maps = &s->maps[set];
    enum assay_status status = ASSAY_OK;
    if (!s->quantises)
        status = map_of_x(s, maps, args->in[ASSAY_LINEAR_X]);
    if (status != ASSAY_OK)
        return status;
    void *y = args->out[0];
    const float *x_scales = s->one ? s->one : s->activations.scales;
    const void *bias = s->bias ? args->in[ASSAY_LINEAR_BIAS_INPUT] : NULL;
    uint32_t m = (uint32_t)s->m, n = (uint32_t)s->n, k = (uint32_t)s->k;
    void *parameters[] = {s->quantises ? &s->codes : &maps->x,
                          &maps->w,
                          &y,
                          &x_scales,
                          &s->weights.sets[set].row_scales,
                          &bias,
                          &m,
                          &n,
                          &k};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    struct state *s = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        int64_t set = assay_work_set(work, i);
        const struct assay_args *args = &work->sets[set];
        if (s->quantises)
            status =
                assay_cuda_activations_run(&s->activations, args->in[ASSAY_LINEAR_X], work->stream);
        if (s->decode)
            status = decode(s, &s->weights.sets[set], work->stream);
        if (status == ASSAY_OK)
            status = multiply(s, set, args, work->stream);
    }
    return status;
}

static enum assay_status run_activations(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && s->quantises && status == ASSAY_OK; i++)
        status = assay_cuda_activations_run(
            &s->activations, assay_work_args(work, i)->in[ASSAY_LINEAR_X], work->stream);
    return status;
}

extern const struct assay_kernel assay_kernel_linear_wgmma_cuda;
const struct assay_kernel assay_kernel_linear_wgmma_cuda = {
    .struct_size = sizeof(struct assay_kernel),
    .abi = ASSAY_KERNEL_ABI,
    .name = "linear_wgmma_cuda",
    .op = "linear",
    .implementation = "cuda",
    .device = "cuda",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
    .preference = 20,
    .can_run = can_run,
    .setup = setup,
    .run = run,
    .teardown = teardown,
    .prepare = prepare,
    .prepared_bytes = prepared_bytes,
    .run_activations = run_activations,
};
