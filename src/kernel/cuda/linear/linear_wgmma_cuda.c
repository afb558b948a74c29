/* linear_wgmma_cuda.c: `linear` with Hopper's warpgroup products (linear_wgmma.cu): the baseline of
 * bf16, f16 and s8, and all recipes, whose scales, bias, activation and residual are applied where
 * the sums are. Rows must be multiples of 16 bytes, as the copy engine wants.
 *
 * A norm of x is part of what quantises x (activations.cu). The baseline multiplies x as it is, by
 * weights with the norm's in them, and the epilogue applies each row's scale and mean, which a
 * kernel that reads x once leaves (linear_norm.cu): normalised rows are neither written nor read
 * again. x W^T must be finite in f32 for it, which rows beyond 1e37 need not be.
 *
 * Recipes that store only weights in fewer bits dequantise them to x's type first, in a separate
 * pass (linear_dequant.cu): for many rows of x that costs little beside the product. Codes with a
 * scale for each row are exact in that type and the scale is applied to the sums; those of groups
 * are rounded once. */
#include "kernel/cuda/autotune.h"
#include "kernel/cuda/linear/linear_cuda.h"
#include "kernel/cuda/tensor_map.h"
#include "kernel/cuda/wgmma_tiles.h"

enum { LEAST_M = 64 };

struct state {
    struct cuda_linear p;
    enum assay_dtype input; /* the type of x as it is multiplied */
    struct wgmma_product product;
    struct wgmma_tile tiles[CUDA_CANDIDATES]; /* the best first, by count */
    int n_tiles;
    struct wgmma_tile tile; /* the one in use */
    bool tune;              /* the fastest tile has yet to be found */
    cu_function function;
    struct assay_cuda_launch launch;
    struct cuda_activations activations; /* where x is quantised */
    struct cuda_tensor_map codes;        /* of those */
    struct cuda_linear_norm folded;      /* where x is not, and has a norm */
    cu_function decode; /* weights to x's type; NULL where they are multiplied as stored */
    struct assay_cuda_launch decode_launch;
    void *decoded; /* [n][k] */
    float *one;    /* on the GPU: the scale of x where only W has any */
    struct cuda_weight_sets weights;
    struct cuda_set_maps *maps;
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
    bool plain = assay_linear_is_plain(p, NULL) == ASSAY_OK;
    if (decodes(recipe) && !plain)
        return assay_linear_is_plain(p, why);
    if (recipe->group & (recipe->group - 1))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "groups must be a power of two");
    if (input == ASSAY_DTYPE_F32)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "the tensor cores do not multiply f32; only with a recipe that "
                               "quantises x");
    if (as_is && plain &&
        m < LEAST_M) /* linear_wo_cuda is faster for fewer, but takes plain ones only */
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
    enum assay_status status = assay_cuda_can_wgmma(why);
    if (status != ASSAY_OK || !problem)
        return status;
    struct assay_recipe recipe;
    status = assay_cuda_linear_recipe(problem, &recipe, why);
    return status == ASSAY_OK ? can_take(problem, &recipe, why) : status;
}

/* ---- plan ------------------------------------------------------------------------------------ */

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

/* SCALES of linear_wgmma.cu. */
static int scales_of(const struct state *s)
{
    if (s->folded.scales)
        return 3;
    if (s->p.quantises)
        return s->p.recipe.activation_scope == ASSAY_SCOPE_TENSOR ? 1 : 2;
    return s->one ? 1 : 0;
}

static enum assay_status compile(struct state *s, struct assay_error *err)
{
    char element[24] = "", tile[96];
    if (s->p.dtype != ASSAY_DTYPE_S8)
        snprintf(element, sizeof element, "-DELEMENT=%d ", number_of(s->p.dtype));
    assay_wgmma_options(&s->product, &s->tile, tile, sizeof tile);
    return assay_cuda_op_compile(
        &s->function, err, "linear_wgmma.cu", "linear_wgmma", s->launch.shared_bytes,
        "%s-DINPUT=%d %s -DSCALES=%d -DCENTRE=%d -DBIAS=%d -DACTIVATION=%d -DRESIDUAL=%d", element,
        number_of(s->input), tile, scales_of(s), s->folded.means != NULL, s->p.bias_input >= 0,
        (int)s->p.activation, s->p.residual_input >= 0);
}

/* The tensor map of `matrix`, rows of k: boxes of 128 bytes of k. */
static enum assay_status make_map(const struct state *s, const void *matrix, int64_t rows,
                                  int32_t box_rows, struct cuda_tensor_map *out,
                                  struct assay_error *err)
{
    size_t bytes = assay_dtype_bytes(s->input);
    const struct cuda_tensor tensor = {
        .address = matrix,
        .element = bytes,
        .rank = 2,
        .sizes = {(uint64_t)s->p.k, (uint64_t)rows},
        .strides = {(uint64_t)s->p.k * bytes},
        .box = {(uint32_t)(WGMMA_STEP_BYTES / bytes), (uint32_t)box_rows},
    };
    return assay_cuda_tensor_map(&tensor, out, err);
}

static enum assay_status map_x(const struct state *s, const void *x, struct cuda_tensor_map *out,
                               struct assay_error *err)
{
    return make_map(s, x, s->p.m, assay_wgmma_rows(&s->tile), out, err);
}

static enum assay_status map_w(struct state *s, int64_t set, struct assay_error *err)
{
    const void *w = s->decode ? s->decoded : s->weights.sets[set].block;
    return make_map(s, w, s->p.n, s->tile.columns, &s->maps[set].w, err);
}

static enum assay_status use_tile(struct state *s, const struct wgmma_tile *tile,
                                  struct assay_error *err)
{
    s->tile = *tile;
    s->launch = assay_wgmma_launch(&s->product, tile);
    enum assay_status status = compile(s, err);
    if (status == ASSAY_OK && s->p.quantises)
        status = map_x(s, s->activations.codes, &s->codes, err);
    return status;
}

static size_t decoded_bytes(const struct state *s)
{
    return (size_t)s->p.n * (size_t)s->p.k * assay_dtype_bytes(s->p.dtype);
}

/* What dequantising the weights needs. */
static enum assay_status set_up_decoding(struct state *s, int32_t sms, struct assay_error *err)
{
    enum { DECODE_THREADS = 256, DECODE_BLOCKS = 8 };
    const float one = 1;
    s->decode_launch = (struct assay_cuda_launch){.grid_x = (unsigned)(sms * DECODE_BLOCKS),
                                                  .threads = DECODE_THREADS};
    enum assay_status status = assay_cuda_op_compile(&s->decode, err, "linear_dequant.cu",
                                                     "linear_dequant", 0, "-DELEMENT=%d -DCODE=%d",
                                                     number_of(s->p.dtype), (int)s->p.recipe.code);
    if (status == ASSAY_OK)
        status = assay_cuda_alloc(decoded_bytes(s), &s->decoded, err);
    if (status == ASSAY_OK && !s->p.recipe.group) {
        status = assay_cuda_alloc(sizeof one, (void **)&s->one, err);
        if (status == ASSAY_OK)
            status = assay_cuda_upload(s->one, &one, sizeof one, err);
    }
    return status;
}

static void release(void *state)
{
    struct state *s = state;
    assay_cuda_free(s->decoded, decoded_bytes(s));
    assay_cuda_free(s->one, sizeof *s->one);
    assay_cuda_activations_fini(&s->activations);
    assay_cuda_linear_norm_fini(&s->folded);
    assay_cuda_weight_sets_fini(&s->weights);
    assay_free(s->maps);
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    enum assay_status status = assay_cuda_linear_read(problem, &s->p, err);
    if (status != ASSAY_OK)
        return status;
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    if (!gpu || gpu->major != 9)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "no Hopper GPU is open");
    s->tune = assay_host_autotunes(problem);
    s->input = input_of(&s->p.recipe, s->p.dtype);
    int64_t k_bytes = s->p.k * (int64_t)assay_dtype_bytes(s->input);
    s->product = (struct wgmma_product){.m = s->p.m,
                                        .n = s->p.n,
                                        .steps = assay_ceil_div(k_bytes, WGMMA_STEP_BYTES),
                                        .sms = gpu->sms,
                                        .promoted = s->input == ASSAY_DTYPE_E4M3};
    s->n_tiles = assay_wgmma_tiles(&s->product, s->tiles);
    if (decodes(&s->p.recipe))
        status = set_up_decoding(s, gpu->sms, err);
    if (status == ASSAY_OK && s->p.quantises)
        status = assay_cuda_activations_create(&s->p.recipe, s->p.dtype, s->p.norm, s->p.m, s->p.k,
                                               1, 1, &s->activations, err);
    if (status == ASSAY_OK && !s->p.quantises && s->p.norm)
        status = assay_cuda_linear_norm_create(CUDA_NORM_FOLDED, s->p.norm, s->p.dtype, s->p.m,
                                               s->p.k, s->p.n, &s->folded, err);
    return status == ASSAY_OK ? use_tile(s, &s->tiles[0], err) : status;
}

/* ---- call ------------------------------------------------------------------------------------ */

/* The map of x as it comes, made when a set's x is first seen: about a microsecond on the host. */
static enum assay_status map_of_x(const struct state *s, struct cuda_set_maps *maps, const void *x)
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
    int64_t count = s->p.n * s->p.k;
    const void *codes = w->block;
    const void *scales = w->scales, *zeros = w->zeros;
    void *parameters[] = {&codes, &scales, &zeros, &s->decoded, &count, &s->p.group_shift};
    return assay_cuda_launch(s->decode, &s->decode_launch, stream, parameters);
}

static enum assay_status multiply(void *state, int64_t set, const struct assay_args *args,
                                  void *stream)
{
    struct state *s = state;
    struct cuda_set_maps *maps = &s->maps[set];
    enum assay_status status = ASSAY_OK;
    if (!s->p.quantises)
        status = map_of_x(s, maps, args->in[ASSAY_LINEAR_X]);
    if (status != ASSAY_OK)
        return status;
    void *y = args->out[0];
    const float *x_scales = s->folded.scales ? s->folded.scales
                            : s->one         ? s->one
                                             : s->activations.scales;
    const void *bias = cuda_op_input(args, s->p.bias_input);
    const void *residual = cuda_op_input(args, s->p.residual_input);
    uint32_t m = (uint32_t)s->p.m, n = (uint32_t)s->p.n, k = (uint32_t)s->p.k;
    void *parameters[] = {s->p.quantises ? &s->codes : &maps->x,
                          &maps->w,
                          &y,
                          &x_scales,
                          &s->weights.sets[set].row_scales,
                          &s->folded.means,
                          &s->folded.sums,
                          &bias,
                          &residual,
                          &m,
                          &n,
                          &k};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

/* What x needs before it is multiplied. */
static enum assay_status make_ready(const struct state *s, const struct assay_args *args,
                                    void *stream)
{
    return assay_cuda_linear_ready(&s->p, &s->activations, &s->folded, args, stream);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    enum assay_status status = make_ready(s, args, stream);
    if (status == ASSAY_OK && s->decode)
        status = decode(s, &s->weights.sets[set], stream);
    return status == ASSAY_OK ? multiply(s, set, args, stream) : status;
}

static enum assay_status quantise_x(void *state, int64_t set, const struct assay_args *args,
                                    void *stream)
{
    const struct state *s = state;
    (void)set;
    return s->p.quantises ? make_ready(s, args, stream) : ASSAY_OK;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Only while the first set is the only one: maps depend on the tile. */
static enum assay_status tune_choose(void *state, int i, struct assay_error *err)
{
    struct state *s = state;
    s->maps[0].x_of = NULL;
    enum assay_status status = use_tile(s, &s->tiles[i], err);
    return status == ASSAY_OK ? map_w(s, 0, err) : status;
}

/* Times tiles on x as quantised or normalised once. */
static enum assay_status tune(struct state *s, const struct assay_args *args,
                              struct assay_error *err)
{
    const struct cuda_tuning tuning = {s->n_tiles, tune_choose, multiply};
    enum assay_status status = make_ready(s, args, NULL);
    if (status == ASSAY_OK)
        status = assay_cuda_tune(&tuning, s, args, err);
    s->tune = status != ASSAY_OK;
    return status;
}

static enum assay_status prepare(void *state, int64_t set, const struct assay_args *args,
                                 struct assay_error *err)
{
    struct state *s = state;
    const void *w = args->in[ASSAY_LINEAR_W];
    enum assay_status status = assay_cuda_linear_store(&s->p, &s->weights, set, args, err);
    if (status == ASSAY_OK && set == 0 && s->folded.scales)
        status = assay_cuda_linear_norm_fold(&s->folded, w, cuda_op_input(args, s->p.norm_input),
                                             s->p.n, s->weights.sets[0].block, err);
    if (status == ASSAY_OK)
        status = assay_cuda_maps_grow(&s->maps, &s->n_maps, set + 1, err);
    if (status == ASSAY_OK)
        status = map_w(s, set, err);
    if (status == ASSAY_OK && set == 0 && s->tune)
        status = tune(s, args, err);
    return status;
}

static size_t prepared_bytes(void *state)
{
    const struct state *s = state;
    return s->weights.n ? s->weights.sets[0].bytes : 0;
}

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    if (assay_host_autotunes(problem))
        snprintf(text, size, "autotuned: the fastest of up to %d tiles", CUDA_CANDIDATES);
}

static const struct cuda_op linear = {.state_bytes = sizeof(struct state),
                                      .plan = plan,
                                      .call = call,
                                      .activations = quantise_x,
                                      .release = release};

CUDA_KERNEL(linear_wgmma_cuda, "linear", "cuda", linear,
            .dtypes = CUDA_FLOATS | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8), .preference = 20,
            .can_run = can_run, .prepare = prepare, .prepared_bytes = prepared_bytes,
            .run_activations = assay_cuda_op_run_activations, .note = note);
