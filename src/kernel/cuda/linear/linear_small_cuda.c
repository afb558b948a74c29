/* linear_small_cuda.c: how linear_small.cu cuts a product of few tokens. The cut is guessed from a
 * model of an H200 (us_of); the weights are packed for it once. */
#include "kernel/cuda/linear/linear_small_cuda.h"

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

/* From this number of tokens on, up to two tiles of them, sums may stay in registers instead of x:
 * measured. Weights of 16 bits leave no time to hide the loads of x in. */
static int64_t hold_sums_from(int64_t bits) { return bits == 4 ? 1 : bits == 8 ? 8 : INT64_MAX; }
/* As in linear_small.cu. A block has an SM for itself. */
enum { STEP = 128, BAND = 16, PITCH = 20, MOST_TOKENS = 64, MOST_SPLIT = 8 };
/* Bytes of all rings: with these in flight an SM's share of bandwidth is used. More only delays
 * each copy, and x. */
enum { RINGS_BYTES = 68 * 1024 };

/* Clusters that are resident at once: two blocks fit anywhere, more must fit into one GPC (an H200
 * holds 30 clusters of 4). */
static int64_t seats_of(int64_t split)
{
    int64_t seats = assay_cuda_properties()->sms / split;
    return assay_max(split > 2 ? seats * 10 / 11 : seats, 1);
}

/* Bytes of shared memory. */
static int64_t shared_of(const struct cuda_small_cut *c)
{
    int64_t sums = BAND * c->tokens * 4, part = PITCH * c->tokens * 4;
    int64_t rings = c->warps * c->depth * (c->chunk * c->record + 8) + 16;
    int64_t rounds = c->stages > 1 ? 2 : assay_ceil_div(c->cluster_bands, c->round_bands);
    int64_t parts = (rounds > 1 ? 2 : 1) * c->warps * c->round_bands * part;
    int64_t results =
        c->split > 1 ? assay_ceil_div(c->cluster_bands, c->split) * c->split * sums : 0;
    int64_t totals = c->stages > 1 ? c->cluster_bands * sums : 0;
    return rings + parts + results + totals + c->cluster_bands * BAND * 6;
}

/* As many bands in a round as shared memory holds; false where it does not hold held_bands. */
static bool fit_round(struct cuda_small_cut *c)
{
    for (c->round_bands = c->cluster_bands; c->round_bands > 0; c->round_bands -= c->held_bands) {
        c->shared = shared_of(c);
        if (c->shared <= assay_cuda_properties()->shared_most)
            return true;
    }
    return false;
}

/* The same, with fewer bands in a cluster if need be. */
static bool fit_cluster(struct cuda_small_cut *c)
{
    while (!fit_round(c)) {
        if (c->cluster_bands == c->held_bands)
            return false;
        c->cluster_bands = assay_ceil_div(c->cluster_bands, 2 * c->held_bands) * c->held_bands;
    }
    return true;
}

/* Bytes of a ring's slot, where a ring has two. */
static int64_t slot_most(const struct cuda_small_cut *c) { return RINGS_BYTES / (2 * c->warps); }

/* Sums stay in registers, 4 of a band and tile, and x comes step by step. Copies are as large as
 * rings of two slots allow: each costs its warp some 120 cycles. */
static bool hold_sums(struct cuda_small_cut *c, int64_t tiles)
{
    int64_t most_bands = tiles == 1 ? 4 : 8;
    c->warps = tiles == 1 ? 16 : 8;
    c->stages = 1;
    c->held_steps = 0;
    c->warp_steps = assay_ceil_div(c->steps, c->split * c->warps);
    c->held_bands = assay_ceil_div(c->cluster_bands, assay_ceil_div(c->cluster_bands, most_bands));
    c->cluster_bands = assay_ceil_div(c->cluster_bands, c->held_bands) * c->held_bands;
    c->bands = assay_ceil_div(c->bands, c->held_bands) * c->held_bands;
    c->chunk = assay_max(assay_min(c->held_bands, slot_most(c) / c->record), 1);
    while (c->held_bands % c->chunk)
        c->chunk--;
    c->depth = assay_max(RINGS_BYTES / (c->warps * c->chunk * c->record), 2);
    return fit_cluster(c);
}

/* x stays in registers: 16 for a step of a tile, and its sums 2 for each fold. */
static bool hold_x(struct cuda_small_cut *c, int64_t tiles)
{
    c->warps = tiles == 1 && c->folds == 1 ? 16 : 8;
    int64_t held = assay_max((c->warps > 8 || c->folds > 2 ? 4 : 8) / tiles, 1);
    int64_t needed = assay_ceil_div(c->steps, c->split * c->warps);
    c->stages = assay_ceil_div(needed, held);
    c->held_steps = c->warp_steps = assay_ceil_div(needed, c->stages);
    c->held_bands = 1;
    /* Few warps need large copies; with many, small ones let the last record arrive early. */
    c->chunk = c->warps > 8 ? 1 : assay_min(c->warp_steps, assay_max(slot_most(c) / c->record, 1));
    c->depth = assay_max(RINGS_BYTES / (c->warps * c->chunk * c->record), 2);
    return fit_cluster(c);
}

/* A rough guess, from an H200: codes at 36 KB/us for an SM, or its 112 instructions for a record of
 * 4-bit codes and 16 tokens, and before that x, which all blocks load at once. Where x comes
 * step by step, a third of that time is hidden. */
static double us_of(const struct cuda_small_cut *c, int64_t token_blocks, double weights_of_record)
{
    double tiles = (double)assay_ceil_div(c->tokens, 8), rounds, records, stream, multiply, x;
    rounds = (double)assay_ceil_div(c->cluster_bands, c->round_bands);
    records = (double)(c->cluster_bands * c->warps * c->warp_steps * c->stages);
    stream = records * (double)c->record / 36e3;
    multiply = records * (weights_of_record + 20 * tiles) / 4.4e3;
    x = (double)(c->tokens * c->warps * c->warp_steps * c->stages * STEP * 2) / 75e3;
    x *= c->held_steps ? 1 : 0.65;
    double waves = (double)assay_ceil_div(c->clusters * token_blocks, seats_of(c->split));
    double cluster = c->split > 2 ? 4 : c->split > 1 ? 0.8 : 0;
    double fixed = 2 + (double)(c->stages - 1) + 0.2 * (rounds - 1) + cluster;
    return waves * ((stream > multiply ? stream : multiply) + x + fixed);
}

/* Keeps the faster of the two in *best, which starts with 0 us: none. */
static void keep_best(const struct cuda_linear *p, struct cuda_small_cut *c,
                      struct cuda_small_cut *best)
{
    int64_t token_blocks = assay_ceil_div(p->m, c->tokens), bits = p->bits;
    c->even = c->steps * STEP == p->k &&
              (!c->held_steps || c->stages * c->split * c->warps * c->warp_steps == c->steps);
    c->clusters = assay_ceil_div(c->bands, c->cluster_bands);
    if (c->clusters * token_blocks * c->split > INT32_MAX)
        return;
    c->us = us_of(c, token_blocks, bits == 16 ? 20 : bits == 8 ? 120 : 70);
    if (best->us == 0 || c->us < best->us)
        *best = *c;
}

static void try_cut(const struct cuda_linear *p, int64_t tokens, int64_t split,
                    struct cuda_small_cut *best)
{
    int64_t group = p->recipe.group, tiles = assay_ceil_div(tokens, 8);
    struct cuda_small_cut c = {.tokens = tokens, .split = split, .folds = 1};
    if (group && group < STEP)
        c.folds = STEP / group;
    c.bands = assay_ceil_div(p->n, BAND);
    c.steps = assay_ceil_div(p->k, STEP);
    c.record = BAND * STEP * p->bits / 8 + (group ? c.folds * 64 : 0);
    if (split > c.steps)
        return;
    c.cluster_bands =
        assay_ceil_div(c.bands, assay_max(seats_of(split) / assay_ceil_div(p->m, tokens), 1));
    struct cuda_small_cut sums = c;
    bool may_hold = tokens >= hold_sums_from(p->bits) && tiles <= 2;
    if (may_hold && hold_sums(&sums, tiles))
        keep_best(p, &sums, best);
    if (hold_x(&c, tiles))
        keep_best(p, &c, best);
}

bool assay_cuda_small_cut(const struct cuda_linear *p, struct cuda_small_cut *best)
{
    int64_t most_split = assay_cuda_properties()->major >= 9 ? MOST_SPLIT : 1; /* clusters */
    *best = (struct cuda_small_cut){0};
    for (int64_t blocks = 1; blocks < 2 || assay_ceil_div(p->m, blocks) > 8; blocks++) {
        int64_t tokens = assay_ceil_div(assay_ceil_div(p->m, blocks), 8) * 8;
        while (tokens <= 8 && tokens > 1 && tokens / 2 >= p->m)
            tokens /= 2;
        for (int64_t split = 1; split <= most_split && tokens <= MOST_TOKENS; split *= 2)
            try_cut(p, tokens, split, best);
        if (blocks > 8 && best->us > 0)
            break; /* far more tokens than this is for: only where cuBLASLt is missing */
    }
    return best->us > 0;
}

enum assay_status assay_cuda_small_plan(const struct cuda_linear *p, struct cuda_small *s,
                                        struct assay_error *err)
{
    const struct cuda_small_cut *c = &s->cut;
    char options[192];
    snprintf(options, sizeof options,
             "-DELEMENT=%d -DCODE=%d -DTOKENS=%d -DWARPS=%d -DSTEPS=%d -DBANDS=%d -DCHUNK=%d "
             "-DDEPTH=%d -DFOLDS=%d -DSPLIT=%d -DSTAGES=%d -DEVEN=%d -DBULK=%d",
             cuda_op_element(p->dtype), (int)p->recipe.code, (int)c->tokens, (int)c->warps,
             (int)c->held_steps, (int)c->held_bands, (int)c->chunk, (int)c->depth, (int)c->folds,
             (int)c->split, (int)c->stages, c->even, assay_cuda_properties()->major >= 9);
    s->launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)(c->clusters * assay_ceil_div(p->m, c->tokens) * c->split),
        .threads = (unsigned)(32 * c->warps),
        .shared_bytes = (unsigned)c->shared,
        .early = true,
    };
    /* More than half of an SM: otherwise one SM might get two blocks of the launch that begins
     * early, and another none. */
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

enum assay_status assay_cuda_small_pack(const struct cuda_small *s, const struct cuda_linear *p,
                                        struct cuda_weights *w, struct assay_error *err)
{
    enum { ALIGN = 256, BLOCKS = 4096 };
    size_t records = (size_t)(s->cut.bands * s->cut.steps * s->cut.record);
    size_t scales_at = assay_round_up_bytes(records, ALIGN);
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
        .k = (int32_t)p->k,
        .n = (int32_t)p->n,
        .group_shift = p->group_shift,
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

enum assay_status assay_cuda_small_call(const struct cuda_small *s, const struct cuda_linear *p,
                                        const struct cuda_weights *w, const struct assay_args *args,
                                        void *stream)
{
    struct small_args own = {
        .records = w->block,
        .row_scales = w->row_scales,
        .x = args->in[ASSAY_LINEAR_X],
        .bias = cuda_op_input(args, p->bias_input),
        .y = args->out[0],
        .m = (int32_t)p->m,
        .k = (int32_t)p->k,
        .n = (int32_t)p->n,
        .activation = (int32_t)p->activation,
        .bands = (int32_t)s->cut.bands,
        .steps = (int32_t)s->cut.steps,
        .cluster_bands = (int32_t)s->cut.cluster_bands,
        .round_bands = (int32_t)s->cut.round_bands,
    };
    void *parameters[] = {&own};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}
