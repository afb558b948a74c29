/* attention_wgmma_cuda.c: attention in f16 and bf16 with Hopper's warpgroup products
 * (attention_wgmma.cu), for heads of 64 and 128 elements. Short sequences are left to
 * attention_cuda, as is everything else. */
#include "kernel/cuda/attention/attention_cuda.h"
#include "kernel/cuda/tensor_map.h"

/* attention_wgmma.cu: how a head is cut. More warpgroups hide more of each other's exponentials,
 * but then have fewer registers each; those of dim 128 need all there are. `cost` is the time that
 * a block takes for a key, relative to the first of the same length; measured. */
struct cut {
    int32_t dim, consumers, keys, stages;
    double cost;
};
static const struct cut cuts[] = {{64, 2, 128, 8, 1}, {64, 4, 64, 8, 1.75}, {128, 2, 128, 6, 1}};

enum { GROUP_THREADS = 128, GROUP_ROWS = 64, SLAB_COLUMNS = 64 };

enum { Q, K, V, OPERANDS };

struct state {
    struct cut cut;
    int64_t batch;
    size_t bytes; /* of an element */
    bool saves;
    struct cuda_attention_args args;
    cu_function function;
    struct assay_cuda_launch launch;
    const void *mapped[OPERANDS]; /* the addresses the maps are for */
    struct cuda_tensor_map maps[OPERANDS];
};

static int64_t queries_of(const struct cut *cut) { return cut->consumers * GROUP_ROWS; }

/* In keys: how often the SMs are filled, times what a block goes through each time. */
static double time_of(const struct cut *cut, const struct assay_problem *p, int32_t sms)
{
    int64_t seq = p->axes[ASSAY_ATTENTION_SEQ], queries = queries_of(cut);
    int64_t blocks = assay_ceil_div(seq, queries), heads = cuda_attention_heads(p);
    bool paired = p->params[ASSAY_ATTENTION_CAUSAL] && heads * blocks > sms;
    int64_t turns = assay_ceil_div(heads * (paired ? assay_ceil_div(blocks, 2) : blocks), sms);
    return (double)(turns * (paired ? (blocks + 1) * queries : seq)) * cut->cost;
}

/* NULL where heads are of another length. */
static const struct cut *find_cut(const struct assay_problem *p, int32_t sms)
{
    const struct cut *best = NULL;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        if (cuts[i].dim == p->axes[ASSAY_ATTENTION_DIM] &&
            (!best || time_of(&cuts[i], p, sms) < time_of(best, p, sms)))
            best = &cuts[i];
    return best;
}

/* Of 16 heads of 64 positions attention_cuda takes 2.7 us and this 4.2; it pays from about 224
 * positions on, or 96 where all SMs have a block. Measured with 16 and with 512 heads. */
static enum assay_status is_long(const struct assay_problem *p, struct assay_error *why)
{
    enum { LEAST_SEQ = 224, LEAST_SEQ_OF_MANY = 96, QUERIES = 128 };
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    int64_t seq = p->axes[ASSAY_ATTENTION_SEQ];
    bool many = gpu && cuda_attention_heads(p) * assay_ceil_div(seq, QUERIES) >= gpu->sms;
    if (seq >= (many ? LEAST_SEQ_OF_MANY : LEAST_SEQ))
        return ASSAY_OK;
    return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                           "for %d positions and more, %d where there are blocks for all SMs",
                           LEAST_SEQ, LEAST_SEQ_OF_MANY);
}

static enum assay_status can_run(const struct assay_problem *p, struct assay_error *why)
{
    enum assay_status status = assay_cuda_can_wgmma(why);
    if (status != ASSAY_OK || !p)
        return status;
    status = cuda_attention_fits(p, why);
    if (status == ASSAY_OK && !find_cut(p, 1)) /* whatever the number of SMs */
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "for heads of 64 or 128 elements");
    return status == ASSAY_OK ? is_long(p, why) : status;
}

/* ---- plan ------------------------------------------------------------------------------------ */

static size_t shared_bytes(const struct cut *cut, size_t element)
{
    enum { BARRIERS = 16, ALIGNMENT = 1024 };
    size_t rows = (size_t)(queries_of(cut) + cut->stages * cut->keys);
    return ALIGNMENT + rows * (size_t)cut->dim * element + BARRIERS * ((size_t)cut->stages + 1);
}

static enum assay_status compile(struct state *s, enum assay_dtype dtype, struct assay_error *err)
{
    return assay_cuda_op_compile(
        &s->function, err, "attention_wgmma.cu", "attention_wgmma", s->launch.shared_bytes,
        "-DELEMENT=%d -DVECTOR=1 -DDIM=%d -DKEYS=%d -DCONSUMERS=%d -DSTAGES=%d%s",
        cuda_op_element(dtype), s->cut.dim, s->cut.keys, s->cut.consumers, s->cut.stages,
        s->saves ? " -DSAVE=1" : "");
}

static enum assay_status plan(void *state, const struct assay_problem *p, struct assay_error *err)
{
    struct state *s = state;
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    if (!gpu || gpu->major != 9)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "no Hopper GPU is open");
    s->cut = *find_cut(p, gpu->sms);
    s->batch = p->axes[ASSAY_ATTENTION_BATCH];
    s->bytes = assay_dtype_bytes(p->dtype);
    s->saves = cuda_attention_saves(p);
    s->args = cuda_attention_args_of(p, queries_of(&s->cut));
    int64_t pieces = (int64_t)s->args.batch_heads * s->args.blocks;
    s->launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)assay_min(pieces, gpu->sms),
        .threads = (unsigned)(GROUP_THREADS * (s->cut.consumers + 1)),
        .shared_bytes = (unsigned)shared_bytes(&s->cut, s->bytes),
    };
    return compile(s, p->dtype, err);
}

/* ---- call ------------------------------------------------------------------------------------ */

/* The tensor map of q, k or v: boxes of some positions of a head, 128 bytes wide. */
static enum assay_status make_map(struct state *s, int which, const void *operand)
{
    const struct cuda_attention_args *a = &s->args;
    if (s->mapped[which] == operand)
        return ASSAY_OK;
    uint64_t head = (uint64_t)a->dim * s->bytes, position = (uint64_t)a->pitch * s->bytes;
    const struct cuda_tensor tensor = {
        .address = operand,
        .element = s->bytes,
        .rank = 4,
        .sizes = {(uint64_t)a->dim, (uint64_t)a->heads, (uint64_t)a->seq, (uint64_t)s->batch},
        .strides = {head, position, position * (uint64_t)a->seq},
        .box = {SLAB_COLUMNS, 1, (uint32_t)(which == Q ? queries_of(&s->cut) : s->cut.keys), 1},
    };
    enum assay_status status = assay_cuda_tensor_map(&tensor, &s->maps[which], NULL);
    s->mapped[which] = status == ASSAY_OK ? operand : NULL;
    return status;
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    cuda_attention_take(&s->args, s->bytes, s->saves, args);
    const void *const all[OPERANDS] = {s->args.q, s->args.k, s->args.v};
    enum assay_status status = ASSAY_OK;
    for (int i = 0; i < OPERANDS && status == ASSAY_OK; i++)
        status = make_map(s, i, all[i]);
    void *parameters[] = {&s->maps[Q], &s->maps[K], &s->maps[V], &s->args};
    return status == ASSAY_OK ? assay_cuda_launch(s->function, &s->launch, stream, parameters)
                              : status;
}

static const struct cuda_op attention = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call};

CUDA_KERNEL(attention_wgmma_cuda, "attention", "cuda", attention, .dtypes = CUDA_HALVES,
            .preference = 20, .can_run = can_run);
CUDA_KERNEL(attention_training_wgmma_cuda, "attention_training", "cuda", attention,
            .dtypes = CUDA_HALVES, .preference = 20, .can_run = can_run);
