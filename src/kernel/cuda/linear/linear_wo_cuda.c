/* linear_wo_cuda.c: `linear` on CUDA with weights stored by a recipe and x as it is (int8wo,
 * int4wo-G, float8wo, gemlitewo-B-G), and with weights as they come.
 *
 * Three forms, chosen in setup:
 *   small    up to 64 tokens in f16 and bf16: linear_small.cu, on the matrix units, the codes
 *            brought back in registers. Memory-bound: what counts is that every SM asks for codes
 *            at once and all of the time, so the weights are kept in the order they are read in,
 *            and a launch asks for its first while the one before it ends.
 *   gemv     up to 8 tokens of the rest (f32, rows of an odd length): linear_gemv.cu.
 *   library  more: weights brought back by a pass of their own (linear_dequant.cu), multiplied by
 *            cuBLASLt. Where that is missing, the other two take any number of tokens, in blocks.
 *
 * Sums are f32 and rounded once. Weights with a scale of their row are multiplied as codes, which
 * is exact, and their sums with the scale. */
#include "base/alloc.h"
#include "kernel/cuda/linear/linear_weights_cuda.h"
#include "kernel/kernel.h"
#include "op/linear.h"

#include <stdio.h>
#include <string.h>

enum { SMALL_MOST_M = 64, GEMV_MOST_M = 8 };
enum { MOST_AXIS = 1 << 30 };

enum form { FORM_SMALL, FORM_GEMV, FORM_LIBRARY };

/* What linear_gemv.cu takes, laid out as there. */
struct gemv_args {
    const void *codes;
    const float *row_scales;
    const void *scales, *zeros, *x, *bias;
    void *y;
    int32_t m, k, n, group_shift, activation;
};

/* What linear_small.cu takes, laid out as there. */
struct small_args {
    const void *records;
    const float *row_scales;
    const void *x, *bias;
    void *y;
    int32_t m, k, n, activation, bands, steps, cluster_bands, round_bands;
};

struct pack_args {
    const void *codes, *scales, *zeros;
    void *records;
    int32_t k, n, group_shift, bands, steps;
};

/* How the small form cuts the work; linear_small.cu has the words. */
struct cut {
    int64_t tokens, warps, split, stages, warp_steps, chunk, depth, folds;
    int64_t held_bands, held_steps; /* BANDS and STEPS there: one of them stays in registers */
    bool even;
    int64_t bands, steps, record;                 /* record in bytes; bands are whole held_bands */
    int64_t clusters, cluster_bands, round_bands; /* clusters for each block of tokens */
    int64_t shared;                               /* bytes */
    double us;
};

/* A product by cuBLASLt and what stands around it. */
struct library {
    const struct cuda_cublaslt_api *lt;
    cublaslt_handle handle;
    cublaslt_matmul_desc desc;
    cublaslt_matrix_layout a, b, d;
    cublaslt_algo algo;
    bool finishes; /* sums go to `sums` and from there to y; else the library writes y */
    cu_function dequant, finish;
    struct assay_cuda_launch dequant_launch, finish_launch;
    void *weights, *sums, *workspace; /* weights: brought back; NULL where they come as they are */
    size_t weights_bytes, sums_bytes, workspace_bytes;
};

struct state {
    int64_t m, k, n;
    enum assay_dtype dtype;
    struct assay_recipe recipe;
    bool bias;
    enum assay_linear_activation activation;
    int32_t threads;
    enum form form;
    int32_t group_shift;
    cu_function function; /* of the first two forms */
    cu_function pack;     /* of the small form, as the next */
    struct cut cut;
    struct assay_cuda_launch launch;
    struct library library;
    struct cuda_weight_sets sets;
};

/* ---- who can run ----------------------------------------------------------------------------- */

static int32_t bits_of(const struct assay_recipe *recipe, enum assay_dtype dtype)
{
    return assay_dtype_info(recipe->code ? recipe->code : dtype)->bits;
}

/* Are rows of codes whole pieces of 16 bytes? */
static bool in_pieces(const struct assay_recipe *recipe, enum assay_dtype dtype, int64_t k)
{
    return k * bits_of(recipe, dtype) % 128 == 0;
}

static enum form form_of(const struct assay_problem *problem, const struct assay_recipe *recipe,
                         bool library)
{
    int64_t m = problem->axes[ASSAY_LINEAR_M], k = problem->axes[ASSAY_LINEAR_K];
    bool small = problem->dtype != ASSAY_DTYPE_F32 && in_pieces(recipe, problem->dtype, k);
    if (library && m > (small ? SMALL_MOST_M : GEMV_MOST_M))
        return FORM_LIBRARY;
    return small ? FORM_SMALL : FORM_GEMV;
}

/* -1 where it is no power of two. */
static int32_t shift_of(int32_t group)
{
    for (int32_t shift = 5; shift < 31; shift++)
        if (group == 1 << shift)
            return shift;
    return -1;
}

static bool known_code(enum assay_dtype code)
{
    return code == ASSAY_DTYPE_NONE || code == ASSAY_DTYPE_S8 || code == ASSAY_DTYPE_E4M3 ||
           code == ASSAY_DTYPE_U4 || code == ASSAY_DTYPE_U8;
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    enum assay_status status = assay_cuda_can_compile(why);
    if (status == ASSAY_OK)
        status = assay_linear_is_plain(problem, why);
    if (status != ASSAY_OK || !problem)
        return status;
    struct assay_recipe recipe;
    if (assay_recipe_parse(problem->recipe, &recipe, why) != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    status = assay_recipe_fits(&recipe, problem->dtype, problem->axes[ASSAY_LINEAR_K], why);
    if (status != ASSAY_OK)
        return status;
    if (problem->dtype != ASSAY_DTYPE_F32 && problem->dtype != ASSAY_DTYPE_F16 &&
        problem->dtype != ASSAY_DTYPE_BF16)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "no %s",
                               assay_dtype_name(problem->dtype));
    if (!known_code(recipe.code) || recipe.activation != ASSAY_DTYPE_NONE ||
        (recipe.group != 0 && shift_of(recipe.group) < 0))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "not for %s", recipe.name);
    for (int i = 0; i < 3; i++)
        if (problem->axes[i] > MOST_AXIS)
            return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "for axes up to %d",
                                   (int)MOST_AXIS);
    return ASSAY_OK;
}

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    struct assay_recipe recipe;
    if (assay_recipe_parse(problem->recipe, &recipe, NULL) != ASSAY_OK)
        return;
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    enum form form = form_of(problem, &recipe, assay_cuda_can_cublaslt(NULL) == ASSAY_OK);
    if (form == FORM_SMALL && gpu && gpu->overlaps)
        snprintf(text, size, "asks for weights while the launch before it ends");
    if (form != FORM_LIBRARY)
        return;
    if (recipe.code == ASSAY_DTYPE_NONE)
        snprintf(text, size, "product by cuBLASLt");
    else
        snprintf(text, size, "weights brought back in a pass of their own, product by cuBLASLt");
}

static int element_of(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F32 ? 32 : dtype == ASSAY_DTYPE_F16 ? 16 : 17;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* ---- the small form -------------------------------------------------------------------------- */

/* From so many tokens on, up to two tiles of them, sums may stay in registers instead of x: what
 * was measured as faster. Weights of 16 bits leave no time to hide x in. */
static int64_t hold_sums_from(int64_t bits) { return bits == 4 ? 1 : bits == 8 ? 8 : INT64_MAX; }
/* As in linear_small.cu. A block has an SM for itself. */
enum { STEP = 128, BAND = 16, PITCH = 20, MOST_TOKENS = 64, MOST_SPLIT = 8 };
/* Bytes of all rings: so many under way keep an SM's share of memory busy. More only makes each
 * copy, and x, come later. */
enum { RINGS_BYTES = 68 * 1024 };

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* Clusters that run at once: two blocks fit anywhere, more want room in one part of the GPU (an
 * H200 holds 30 clusters of 4). */
static int64_t seats_of(int64_t split)
{
    int64_t seats = assay_cuda_properties()->sms / split;
    return most(split > 2 ? seats * 10 / 11 : seats, 1);
}

/* Bytes of shared memory. */
static int64_t shared_of(const struct cut *c)
{
    int64_t sums = BAND * c->tokens * 4, part = PITCH * c->tokens * 4;
    int64_t rings = c->warps * c->depth * (c->chunk * c->record + 8) + 16;
    int64_t rounds = c->stages > 1 ? 2 : quotient_up(c->cluster_bands, c->round_bands);
    int64_t parts = (rounds > 1 ? 2 : 1) * c->warps * c->round_bands * part;
    int64_t results = c->split > 1 ? quotient_up(c->cluster_bands, c->split) * c->split * sums : 0;
    int64_t totals = c->stages > 1 ? c->cluster_bands * sums : 0;
    return rings + parts + results + totals + c->cluster_bands * BAND * 6;
}

/* As many bands in a round as there is room for; false where there is none for held_bands. */
static bool give_round_room(struct cut *c)
{
    for (c->round_bands = c->cluster_bands; c->round_bands > 0; c->round_bands -= c->held_bands) {
        c->shared = shared_of(c);
        if (c->shared <= assay_cuda_properties()->shared_most)
            return true;
    }
    return false;
}

/* The same, with fewer bands in a cluster where it must be. */
static bool give_room(struct cut *c)
{
    while (!give_round_room(c)) {
        if (c->cluster_bands == c->held_bands)
            return false;
        c->cluster_bands = quotient_up(c->cluster_bands, 2 * c->held_bands) * c->held_bands;
    }
    return true;
}

/* Bytes of a ring's slot: two of them, of all warps, are the rings. */
static int64_t slot_most(const struct cut *c) { return RINGS_BYTES / (2 * c->warps); }

/* Sums stay in registers, 4 of a band and tile, and x comes step by step. Copies are as large as
 * rings of two slots can have them: each costs its warp some 120 cycles. */
static bool hold_sums(struct cut *c, int64_t tiles)
{
    int64_t most_bands = tiles == 1 ? 4 : 8;
    c->warps = tiles == 1 ? 16 : 8;
    c->stages = 1;
    c->held_steps = 0;
    c->warp_steps = quotient_up(c->steps, c->split * c->warps);
    c->held_bands = quotient_up(c->cluster_bands, quotient_up(c->cluster_bands, most_bands));
    c->cluster_bands = quotient_up(c->cluster_bands, c->held_bands) * c->held_bands;
    c->bands = quotient_up(c->bands, c->held_bands) * c->held_bands;
    c->chunk = most(least(c->held_bands, slot_most(c) / c->record), 1);
    while (c->held_bands % c->chunk)
        c->chunk--;
    c->depth = most(RINGS_BYTES / (c->warps * c->chunk * c->record), 2);
    return give_room(c);
}

/* x stays in registers: 16 for a step of a tile, and its sums 2 for each fold. */
static bool hold_x(struct cut *c, int64_t tiles)
{
    c->warps = tiles == 1 && c->folds == 1 ? 16 : 8;
    int64_t held = most((c->warps > 8 || c->folds > 2 ? 4 : 8) / tiles, 1);
    int64_t needed = quotient_up(c->steps, c->split * c->warps);
    c->stages = quotient_up(needed, held);
    c->held_steps = c->warp_steps = quotient_up(needed, c->stages);
    c->held_bands = 1;
    /* Warps that are few should find many records at once; else the last should come soon. */
    c->chunk = c->warps > 8 ? 1 : least(c->warp_steps, most(slot_most(c) / c->record, 1));
    c->depth = most(RINGS_BYTES / (c->warps * c->chunk * c->record), 2);
    return give_room(c);
}

/* A rough guess, from an H200: codes at 36 KB/us for an SM, or its 112 instructions for a record of
 * 4-bit codes and 16 tokens, and before that x, which all blocks ask for at once. Where x comes
 * step by step, a third of that time has other work. */
static double us_of(const struct cut *c, int64_t token_blocks, double weights_of_record)
{
    double tiles = (double)quotient_up(c->tokens, 8), rounds, records, stream, multiply, x;
    rounds = (double)quotient_up(c->cluster_bands, c->round_bands);
    records = (double)(c->cluster_bands * c->warps * c->warp_steps * c->stages);
    stream = records * (double)c->record / 36e3;
    multiply = records * (weights_of_record + 20 * tiles) / 4.4e3;
    x = (double)(c->tokens * c->warps * c->warp_steps * c->stages * STEP * 2) / 75e3;
    x *= c->held_steps ? 1 : 0.65;
    double waves = (double)quotient_up(c->clusters * token_blocks, seats_of(c->split));
    double cluster = c->split > 2 ? 4 : c->split > 1 ? 0.8 : 0;
    double fixed = 2 + (double)(c->stages - 1) + 0.2 * (rounds - 1) + cluster;
    return waves * ((stream > multiply ? stream : multiply) + x + fixed);
}

/* Keeps in *best what is faster; it starts with 0 us, which stands for none. */
static void keep_best(const struct state *s, struct cut *c, struct cut *best)
{
    int64_t token_blocks = quotient_up(s->m, c->tokens), bits = bits_of(&s->recipe, s->dtype);
    c->even = c->steps * STEP == s->k &&
              (!c->held_steps || c->stages * c->split * c->warps * c->warp_steps == c->steps);
    c->clusters = quotient_up(c->bands, c->cluster_bands);
    if (c->clusters * token_blocks * c->split > INT32_MAX)
        return;
    c->us = us_of(c, token_blocks, bits == 16 ? 20 : bits == 8 ? 120 : 70);
    if (best->us == 0 || c->us < best->us)
        *best = *c;
}

static void try_cut(const struct state *s, int64_t tokens, int64_t split, struct cut *best)
{
    int64_t group = s->recipe.group, tiles = quotient_up(tokens, 8);
    struct cut c = {.tokens = tokens, .split = split, .folds = 1};
    if (group && group < STEP)
        c.folds = STEP / group;
    c.bands = quotient_up(s->n, BAND);
    c.steps = quotient_up(s->k, STEP);
    c.record = BAND * STEP * bits_of(&s->recipe, s->dtype) / 8 + (group ? c.folds * 64 : 0);
    if (split > c.steps)
        return;
    c.cluster_bands = quotient_up(c.bands, most(seats_of(split) / quotient_up(s->m, tokens), 1));
    struct cut sums = c;
    bool may_hold = tokens >= hold_sums_from(bits_of(&s->recipe, s->dtype)) && tiles <= 2;
    if (may_hold && hold_sums(&sums, tiles))
        keep_best(s, &sums, best);
    if (hold_x(&c, tiles))
        keep_best(s, &c, best);
}

/* False where nothing fits this GPU's shared memory. */
static bool best_cut(const struct state *s, struct cut *best)
{
    int64_t most_split = assay_cuda_properties()->major >= 9 ? MOST_SPLIT : 1; /* clusters */
    *best = (struct cut){0};
    for (int64_t blocks = 1; blocks < 2 || quotient_up(s->m, blocks) > 8; blocks++) {
        int64_t tokens = quotient_up(quotient_up(s->m, blocks), 8) * 8;
        while (tokens <= 8 && tokens > 1 && tokens / 2 >= s->m)
            tokens /= 2;
        for (int64_t split = 1; split <= most_split && tokens <= MOST_TOKENS; split *= 2)
            try_cut(s, tokens, split, best);
        if (blocks > 8 && best->us > 0)
            break; /* far more tokens than this is for: only where cuBLASLt is missing */
    }
    return best->us > 0;
}

static enum assay_status setup_small(struct state *s, struct assay_error *err)
{
    const struct cut *c = &s->cut;
    char options[192];
    snprintf(options, sizeof options,
             "-DELEMENT=%d -DCODE=%d -DTOKENS=%d -DWARPS=%d -DSTEPS=%d -DBANDS=%d -DCHUNK=%d "
             "-DDEPTH=%d -DFOLDS=%d -DSPLIT=%d -DSTAGES=%d -DEVEN=%d -DBULK=%d",
             element_of(s->dtype), (int)s->recipe.code, (int)c->tokens, (int)c->warps,
             (int)c->held_steps, (int)c->held_bands, (int)c->chunk, (int)c->depth, (int)c->folds,
             (int)c->split, (int)c->stages, c->even, assay_cuda_properties()->major >= 9);
    s->launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)(c->clusters * quotient_up(s->m, c->tokens) * c->split),
        .threads = (unsigned)(32 * c->warps),
        .shared_bytes = (unsigned)c->shared,
        .early = true,
    };
    /* More than half of an SM: else it might get two blocks of the launch that begins early, and
     * another SM none. */
    unsigned half = (unsigned)assay_cuda_properties()->shared_most / 2 + 1;
    if (assay_cuda_properties()->overlaps && s->launch.shared_bytes < half)
        s->launch.shared_bytes = half;
    enum assay_status status = assay_cuda_function("linear_small.cu", options, "linear_small",
                                                   s->launch.shared_bytes, &s->function, err);
    if (status == ASSAY_OK)
        status =
            assay_cuda_function("linear_small.cu", options, "linear_small_pack", 0, &s->pack, err);
    return status;
}

/* From rows of codes to records, followed by the rows' scales. */
static enum assay_status pack_small(const struct state *s, struct cuda_weights *w,
                                    struct assay_error *err)
{
    enum { ALIGN = 256, BLOCKS = 4096 };
    size_t records = (size_t)(s->cut.bands * s->cut.steps * s->cut.record);
    size_t scales_at = (records + ALIGN - 1) / ALIGN * ALIGN;
    size_t scales_bytes = w->row_scales ? (size_t)w->n * sizeof(float) : 0;
    struct cuda_weights packed = *w;
    enum assay_status status = assay_cuda_alloc(scales_at + scales_bytes, &packed.block, err);
    if (status != ASSAY_OK)
        return status;
    packed.bytes = scales_at + scales_bytes;
    packed.row_scales =
        w->row_scales ? (float *)(void *)((unsigned char *)packed.block + scales_at) : NULL;
    packed.scales = packed.zeros = NULL;
    struct pack_args pack = {
        .codes = w->block,
        .scales = w->scales,
        .zeros = w->zeros,
        .records = packed.block,
        .k = (int32_t)s->k,
        .n = (int32_t)s->n,
        .group_shift = s->group_shift,
        .bands = (int32_t)s->cut.bands,
        .steps = (int32_t)s->cut.steps,
    };
    void *parameters[] = {&pack};
    struct assay_cuda_launch launch = {.grid_x = BLOCKS, .threads = 256};
    status = assay_cuda_launch(s->pack, &launch, NULL, parameters);
    if (status == ASSAY_OK && w->row_scales)
        status = assay_cuda_copy(packed.row_scales, w->row_scales, scales_bytes, err);
    if (status == ASSAY_OK)
        status = assay_cuda_check(assay_cuda_driver()->cuCtxSynchronize(), "cuCtxSynchronize", err);
    assay_cuda_weights_fini(status == ASSAY_OK ? w : &packed);
    if (status == ASSAY_OK)
        *w = packed;
    return status;
}

static enum assay_status run_small(const struct state *s, const struct cuda_weights *w,
                                   const struct assay_args *args, void *stream)
{
    struct small_args own = {
        .records = w->block,
        .row_scales = w->row_scales,
        .x = args->in[ASSAY_LINEAR_X],
        .bias = s->bias ? args->in[ASSAY_LINEAR_BIAS_INPUT] : NULL,
        .y = args->out[0],
        .m = (int32_t)s->m,
        .k = (int32_t)s->k,
        .n = (int32_t)s->n,
        .activation = (int32_t)s->activation,
        .bands = (int32_t)s->cut.bands,
        .steps = (int32_t)s->cut.steps,
        .cluster_bands = (int32_t)s->cut.cluster_bands,
        .round_bands = (int32_t)s->cut.round_bands,
    };
    void *parameters[] = {&own};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

/* ---- the gemv form --------------------------------------------------------------------------- */

static enum assay_status setup_gemv(struct state *s, struct assay_error *err)
{
    int64_t tokens = 8;
    for (int64_t fewer = 4; fewer >= s->m && fewer > 0; fewer /= 2)
        tokens = fewer;
    int64_t rows = tokens > 4 ? 2 : 4; /* as in linear_gemv.cu */
    char options[128];
    snprintf(options, sizeof options, "-DELEMENT=%d -DCODE=%d -DTOKENS=%d -DVECTOR=%d",
             element_of(s->dtype), (int)s->recipe.code, (int)tokens,
             in_pieces(&s->recipe, s->dtype, s->k));
    s->launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)quotient_up(s->n, rows),
        .grid_y = (unsigned)least(quotient_up(s->m, tokens), 65535),
        .threads = 256,
    };
    return assay_cuda_function("linear_gemv.cu", options, "linear_gemv", 0, &s->function, err);
}

static enum assay_status run_gemv(const struct state *s, const struct cuda_weights *w,
                                  const struct assay_args *args, void *stream)
{
    struct gemv_args own = {
        .codes = w->block,
        .row_scales = w->row_scales,
        .scales = w->scales,
        .zeros = w->zeros,
        .x = args->in[ASSAY_LINEAR_X],
        .bias = s->bias ? args->in[ASSAY_LINEAR_BIAS_INPUT] : NULL,
        .y = args->out[0],
        .m = (int32_t)s->m,
        .k = (int32_t)s->k,
        .n = (int32_t)s->n,
        .group_shift = s->group_shift,
        .activation = (int32_t)s->activation,
    };
    void *parameters[] = {&own};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

/* ---- the library form ------------------------------------------------------------------------ */

/* cublasLtMatmulPreferenceAttributes_t that cuda_api.h lacks. */
enum { PREFERENCE_REDUCTION_MASK = 3, PREFERENCE_ALIGN_A = 5 /* then B, C and D */ };
/* cublasLtReductionScheme_t: parts of a sum cut along k are added in f32. */
enum { REDUCTION_COMPUTE_TYPE = 2 };
enum { CANDIDATES = 8, OPERAND_ALIGN = 64, OWN_ALIGN = 256 };

static int type_of(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F32   ? CUDA_R_32F_
           : dtype == ASSAY_DTYPE_F16 ? CUDA_R_16F_
                                      : CUDA_R_16BF_;
}

/* Bias and relu are the library's where nothing has to happen before them. */
static uint32_t epilogue_of(const struct state *s)
{
    if (s->library.finishes)
        return CUBLASLT_EPILOGUE_DEFAULT_;
    uint32_t epilogue = s->activation == ASSAY_LINEAR_RELU ? CUBLASLT_EPILOGUE_RELU_ : 0;
    epilogue |= s->bias ? CUBLASLT_EPILOGUE_BIAS_ : 0;
    return epilogue ? epilogue : CUBLASLT_EPILOGUE_DEFAULT_;
}

static cublas_status set(const struct library *l, int attribute, const void *value, size_t bytes)
{
    return l->lt->cublasLtMatmulDescSetAttribute(l->desc, attribute, value, bytes);
}

/* The library's matrices are stored by columns: seen so, y is n x m, W is k x n and to be
 * transposed, and x is k x m. */
static cublas_status describe(struct state *s)
{
    struct library *l = &s->library;
    int32_t transposed = CUBLAS_OP_T_, plain = CUBLAS_OP_N_, type = type_of(s->dtype);
    int32_t d_type = l->finishes ? CUDA_R_32F_ : type;
    uint32_t epilogue = epilogue_of(s);
    uint64_t m = (uint64_t)s->m, k = (uint64_t)s->k, n = (uint64_t)s->n;
    const void *stand_in = (const unsigned char *)l->workspace + OPERAND_ALIGN; /* for the bias */
    cublas_status code = l->lt->cublasLtMatmulDescCreate(&l->desc, CUBLAS_COMPUTE_F32, CUDA_R_32F_);
    if (code == 0)
        code = set(l, CUBLASLT_DESC_TRANSA, &transposed, sizeof transposed);
    if (code == 0)
        code = set(l, CUBLASLT_DESC_TRANSB, &plain, sizeof plain);
    if (code == 0)
        code = set(l, CUBLASLT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (code == 0 && s->bias && !l->finishes) {
        code = set(l, CUBLASLT_DESC_BIAS_TYPE, &type, sizeof type);
        if (code == 0)
            code = set(l, CUBLASLT_DESC_BIAS_POINTER, &stand_in, sizeof stand_in);
    }
    if (code == 0)
        code = l->lt->cublasLtMatrixLayoutCreate(&l->a, type, k, n, s->k);
    if (code == 0)
        code = l->lt->cublasLtMatrixLayoutCreate(&l->b, type, k, m, s->k);
    if (code == 0)
        code = l->lt->cublasLtMatrixLayoutCreate(&l->d, d_type, n, m, s->n);
    return code;
}

static cublas_status prefer(const struct library *l, cublaslt_preference preference)
{
    uint64_t workspace = l->workspace_bytes;
    uint32_t reduction = REDUCTION_COMPUTE_TYPE, d = l->finishes ? OWN_ALIGN : OPERAND_ALIGN;
    uint32_t align[4] = {OWN_ALIGN, OPERAND_ALIGN, d, d};
    cublas_status code = l->lt->cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_PREFERENCE_WORKSPACE, &workspace, sizeof workspace);
    if (code == 0)
        code = l->lt->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_REDUCTION_MASK,
                                                           &reduction, sizeof reduction);
    for (int i = 0; i < 4 && code == 0; i++)
        code = l->lt->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_ALIGN_A + i,
                                                           &align[i], sizeof align[i]);
    return code;
}

/* The library's favourite among the algorithms that can run. */
static cublas_status ask(struct library *l, bool *known)
{
    cublaslt_preference preference = NULL;
    cublaslt_heuristic answers[CANDIDATES];
    int found = 0;
    cublas_status code = l->lt->cublasLtMatmulPreferenceCreate(&preference);
    if (code == 0)
        code = prefer(l, preference);
    if (code == 0)
        code = l->lt->cublasLtMatmulAlgoGetHeuristic(l->handle, l->desc, l->a, l->b, l->d, l->d,
                                                     preference, CANDIDATES, answers, &found);
    if (preference)
        l->lt->cublasLtMatmulPreferenceDestroy(preference);
    *known = false;
    for (int i = 0; i < found && code == 0 && !*known; i++)
        if (answers[i].state == 0 && answers[i].workspace <= l->workspace_bytes) {
            l->algo = answers[i].algo;
            *known = true;
        }
    return code;
}

static void library_fini(struct library *l)
{
    if (l->desc)
        l->lt->cublasLtMatmulDescDestroy(l->desc);
    if (l->a)
        l->lt->cublasLtMatrixLayoutDestroy(l->a);
    if (l->b)
        l->lt->cublasLtMatrixLayoutDestroy(l->b);
    if (l->d)
        l->lt->cublasLtMatrixLayoutDestroy(l->d);
    assay_cuda_free(l->weights, l->weights_bytes);
    assay_cuda_free(l->sums, l->sums_bytes);
    assay_cuda_free(l->workspace, l->workspace_bytes);
    *l = (struct library){0};
}

static bool row_scaled(const struct assay_recipe *recipe)
{
    return recipe->code == ASSAY_DTYPE_S8 || recipe->code == ASSAY_DTYPE_E4M3;
}

/* Some blocks for each SM, which go round, or fewer where there is less to do. */
static struct assay_cuda_launch launch_over(int64_t threads)
{
    enum { THREADS = 256, BLOCKS = 8 };
    int64_t blocks = least(quotient_up(threads, THREADS), BLOCKS * assay_cuda_properties()->sms);
    return (struct assay_cuda_launch){.grid_x = (unsigned)blocks, .threads = THREADS};
}

static enum assay_status setup_around(struct state *s, struct assay_error *err)
{
    struct library *l = &s->library;
    size_t m = (size_t)s->m, n = (size_t)s->n, k = (size_t)s->k;
    enum assay_status status = ASSAY_OK;
    char options[64];
    snprintf(options, sizeof options, "-DELEMENT=%d -DCODE=%d", element_of(s->dtype),
             (int)s->recipe.code);
    if (s->recipe.code) {
        size_t bytes = n * k * assay_dtype_bytes(s->dtype);
        l->dequant_launch = launch_over(quotient_up(s->n * s->k, 8));
        status = assay_cuda_function("linear_dequant.cu", options, "linear_dequant", 0, &l->dequant,
                                     err);
        if (status == ASSAY_OK)
            status = assay_cuda_alloc(bytes, &l->weights, err);
        l->weights_bytes = l->weights ? bytes : 0;
    }
    if (l->finishes && status == ASSAY_OK) {
        l->finish_launch = launch_over(s->m * s->n);
        status =
            assay_cuda_function("linear_dequant.cu", options, "linear_finish", 0, &l->finish, err);
        if (status == ASSAY_OK)
            status = assay_cuda_alloc(m * n * sizeof(float), &l->sums, err);
        l->sums_bytes = l->sums ? m * n * sizeof(float) : 0;
    }
    return status;
}

/* ASSAY_UNSUPPORTED where the library has no algorithm. */
static enum assay_status setup_library(struct state *s, struct assay_error *err)
{
    enum { WORKSPACE = 32 << 20 };
    struct library *l = &s->library;
    bool plain = s->activation == ASSAY_LINEAR_NONE || s->activation == ASSAY_LINEAR_RELU;
    l->finishes = row_scaled(&s->recipe) || !plain;
    l->lt = assay_cuda_cublaslt();
    if (!l->lt)
        return ASSAY_UNSUPPORTED;
    if (assay_cuda_cublaslt_handle(&l->handle, NULL) != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    enum assay_status status = assay_cuda_alloc(WORKSPACE, &l->workspace, err);
    if (status != ASSAY_OK)
        return status;
    l->workspace_bytes = WORKSPACE;
    bool known = false;
    if (describe(s) != 0 || ask(l, &known) != 0 || !known)
        return ASSAY_UNSUPPORTED;
    return setup_around(s, err);
}

static enum assay_status run_library(const struct state *s, const struct cuda_weights *w,
                                     const struct assay_args *args, void *stream)
{
    const struct library *l = &s->library;
    const void *x = args->in[ASSAY_LINEAR_X];
    const void *bias = s->bias ? args->in[ASSAY_LINEAR_BIAS_INPUT] : NULL;
    void *y = args->out[0], *d = l->finishes ? l->sums : y;
    float one = 1, zero = 0;
    enum assay_status status = ASSAY_OK;
    if (l->weights) {
        int64_t count = s->n * s->k;
        int32_t group_shift = s->group_shift;
        const void *codes = w->block, *scales = w->scales, *zeros = w->zeros;
        void *to = l->weights;
        void *parameters[] = {&codes, &scales, &zeros, &to, &count, &group_shift};
        status = assay_cuda_launch(l->dequant, &l->dequant_launch, stream, parameters);
    }
    if (status != ASSAY_OK)
        return status;
    if (bias && !l->finishes && set(l, CUBLASLT_DESC_BIAS_POINTER, &bias, sizeof bias) != 0)
        return ASSAY_ERR_DEVICE;
    if (l->lt->cublasLtMatmul(l->handle, l->desc, &one, l->weights ? l->weights : w->block, l->a, x,
                              l->b, &zero, d, l->d, d, l->d, &l->algo, l->workspace,
                              l->workspace_bytes, stream) != 0)
        return ASSAY_ERR_DEVICE;
    if (!l->finishes)
        return ASSAY_OK;
    int64_t count = s->m * s->n;
    int32_t n = (int32_t)s->n, activation = (int32_t)s->activation;
    const void *sums = l->sums, *row_scales = w->row_scales;
    void *parameters[] = {&sums, &row_scales, &bias, &y, &count, &n, &activation};
    return assay_cuda_launch(l->finish, &l->finish_launch, stream, parameters);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void teardown(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    library_fini(&s->library);
    assay_cuda_weight_sets_fini(&s->sets);
    assay_free(s);
}

/* The form wished for; where the library cannot after all, the other two can. */
static enum assay_status setup_form(struct state *s, const struct assay_problem *problem,
                                    struct assay_error *err)
{
    s->form = form_of(problem, &s->recipe, assay_cuda_can_cublaslt(NULL) == ASSAY_OK);
    if (s->form == FORM_LIBRARY) {
        enum assay_status status = setup_library(s, err);
        if (status != ASSAY_UNSUPPORTED)
            return status;
        library_fini(&s->library);
        s->form = form_of(problem, &s->recipe, false);
    }
    if (s->form == FORM_SMALL && best_cut(s, &s->cut))
        return setup_small(s, err);
    s->form = FORM_GEMV;
    return setup_gemv(s, err);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->m = problem->axes[ASSAY_LINEAR_M];
    s->k = problem->axes[ASSAY_LINEAR_K];
    s->n = problem->axes[ASSAY_LINEAR_N];
    s->dtype = problem->dtype;
    s->bias = problem->params[ASSAY_LINEAR_BIAS] != 0;
    s->activation = (enum assay_linear_activation)problem->params[ASSAY_LINEAR_ACTIVATION];
    s->threads = problem->threads;
    enum assay_status status = assay_recipe_parse(problem->recipe, &s->recipe, err);
    if (status == ASSAY_OK) {
        s->group_shift = s->recipe.group ? shift_of(s->recipe.group) : 0;
        status = setup_form(s, problem, err);
    }
    if (status != ASSAY_OK) {
        teardown(s);
        return status;
    }
    *state = s;
    return ASSAY_OK;
}

static enum assay_status prepare(void *state, int64_t set_number, const struct assay_args *args,
                                 struct assay_error *err)
{
    struct state *s = state;
    enum assay_status status =
        assay_cuda_weights_prepare(&s->sets, set_number, &s->recipe, s->dtype,
                                   args->in[ASSAY_LINEAR_W], s->n, s->k, s->threads, err);
    if (status == ASSAY_OK && s->form == FORM_SMALL && set_number == 0)
        status = pack_small(s, &s->sets.sets[0], err); /* the others are copies of it */
    return status;
}

static size_t prepared_bytes(void *state)
{
    const struct state *s = state;
    return s->sets.n ? s->sets.sets[0].bytes : 0;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        int64_t number = assay_work_set(work, i);
        const struct cuda_weights *w = &s->sets.sets[number];
        const struct assay_args *args = &work->sets[number];
        status = s->form == FORM_LIBRARY ? run_library(s, w, args, work->stream)
                 : s->form == FORM_SMALL ? run_small(s, w, args, work->stream)
                                         : run_gemv(s, w, args, work->stream);
    }
    return status;
}

extern const struct assay_kernel assay_kernel_linear_wo_cuda;
const struct assay_kernel assay_kernel_linear_wo_cuda = {
    .struct_size = sizeof(struct assay_kernel),
    .abi = ASSAY_KERNEL_ABI,
    .name = "linear_wo_cuda",
    .op = "linear",
    .implementation = "cuda",
    .device = "cuda",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .preference = 10,
    .can_run = can_run,
    .setup = setup,
    .run = run,
    .teardown = teardown,
    .prepare = prepare,
    .prepared_bytes = prepared_bytes,
    .note = note,
};
