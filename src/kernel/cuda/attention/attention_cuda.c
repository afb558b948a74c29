/* attention_cuda.c: attention on the GPU, in one pass: attention.cu for f16 and bf16, with matrix
 * instructions, attention_f32.cu for f32. Heads of up to 256 elements. */
#include "kernel/cuda/attention/attention_cuda.h"

/* attention.cu: FORM. */
enum { TILES = 1, WARP };

enum {
    MOST_DIM = 256,
    SHORT_SEQ = CUDA_ATTENTION_SHORT_SEQ,
    BAND = CUDA_ATTENTION_BAND, /* of a matrix instruction, and of a row of threads in f32 */
    TILE_WARPS = 4,
    F32_THREADS = 256,
};

struct state {
    size_t bytes; /* of an element */
    bool saves;
    struct cuda_attention_args args;
    cu_function function;
    struct assay_cuda_launch launch;
};

static int64_t axis(const struct assay_problem *p, int i) { return p->axes[i]; }

static enum assay_status can_run(const struct assay_problem *p, struct assay_error *why)
{
    enum assay_status status = assay_cuda_can_compile(why);
    if (status != ASSAY_OK || !p)
        return status;
    int64_t dim = axis(p, ASSAY_ATTENTION_DIM);
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    if (gpu && gpu->major < 8)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "needs a GPU of compute capability 8.0 or more, not %d.%d",
                               gpu->major, gpu->minor);
    if (dim > MOST_DIM)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "heads of at most %d elements, not %lld", MOST_DIM, (long long)dim);
    return cuda_attention_fits(p, why);
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* How a problem is cut, and which function does it. */
struct form {
    const char *text, *name;
    char options[64]; /* behind those that all forms have */
    int64_t dim;      /* in the kernel: rounded up */
    int64_t queries;  /* of a head that are done together, */
    int64_t at_once;  /* and how many such a block does */
    unsigned threads; /* of a block */
    size_t shared_bytes;
};

/* Bytes of `rows` rows in shared memory, each padded by 16 against bank conflicts. */
static size_t rows_bytes(int64_t rows, int64_t dim, size_t element)
{
    return (size_t)rows * ((size_t)dim * element + 16);
}

/* A warp for 16 queries, everything in registers. Blocks are small where there are few of them, but
 * the two warps of a head, which read the same keys, stay together. */
static struct form form_warp(const struct assay_problem *p, int32_t sms)
{
    int64_t seq = axis(p, ASSAY_ATTENTION_SEQ), of_head = assay_ceil_div(seq, BAND);
    int64_t all = cuda_attention_heads(p) * of_head, warps = TILE_WARPS;
    struct form f = {.text = "attention.cu",
                     .name = "attention_warp",
                     .dim = assay_round_up(axis(p, ASSAY_ATTENTION_DIM), 32),
                     .queries = BAND};
    while (warps > of_head && all < warps * sms)
        warps /= 2;
    f.at_once = warps;
    f.threads = (unsigned)(32 * warps);
    snprintf(f.options, sizeof f.options, "-DFORM=%d -DKEYS=%d", WARP, (int)(of_head * BAND));
    return f;
}

/* Tiles of keys in shared memory, two of each kind. Two bands of queries for each warp halve what
 * is read from there, where that leaves enough blocks and there are registers for it. */
static struct form form_tiles(const struct assay_problem *p, int32_t sms, int32_t shared_most)
{
    int64_t seq = axis(p, ASSAY_ATTENTION_SEQ), dim = axis(p, ASSAY_ATTENTION_DIM), bands = 2;
    struct form f = {.text = "attention.cu",
                     .name = "attention_tiles",
                     .dim = assay_round_up(dim, 16),
                     .at_once = 1,
                     .threads = 32 * TILE_WARPS};
    int64_t keys = f.dim <= 128 ? 64 : 32;
    for (;; bands--) {
        f.queries = bands * BAND * TILE_WARPS;
        f.shared_bytes = rows_bytes(f.queries + 4 * keys, f.dim, assay_dtype_bytes(p->dtype));
        bool enough = cuda_attention_heads(p) * assay_ceil_div(seq, f.queries) >= sms;
        if (bands == 1 || (f.dim <= 128 && enough && f.shared_bytes <= (size_t)shared_most))
            break;
    }
    snprintf(f.options, sizeof f.options, "-DFORM=%d -DKEYS=%d -DBANDS=%d", TILES, (int)keys,
             (int)bands);
    return f;
}

/* Threads of 16 x 16, each with `bands` queries times `groups` keys: as many as there are registers
 * and shared memory for, fewer for short sequences and few blocks. */
static struct form form_f32(const struct assay_problem *p, int32_t sms)
{
    int64_t seq = axis(p, ASSAY_ATTENTION_SEQ), dim = axis(p, ASSAY_ATTENTION_DIM);
    struct form f = {.text = "attention_f32.cu",
                     .name = "attention_f32",
                     .dim = assay_round_up(dim, dim <= 48 ? 16 : 64),
                     .at_once = 1,
                     .threads = F32_THREADS};
    int64_t bands = f.dim <= 128 ? 4 : 2, groups = f.dim <= 64 ? 4 : f.dim <= 128 ? 2 : 1;
    while (bands > 1 && (bands / 2 * BAND >= seq ||
                         cuda_attention_heads(p) * assay_ceil_div(seq, bands * BAND) < sms))
        bands /= 2;
    while (groups > 1 && groups / 2 * BAND >= seq)
        groups /= 2;
    f.queries = bands * BAND;
    f.shared_bytes = rows_bytes(f.queries + 2 * groups * BAND, f.dim, sizeof(float)) +
                     rows_bytes(f.queries, groups * BAND, sizeof(float));
    snprintf(f.options, sizeof f.options, "-DBANDS=%d -DGROUPS=%d", (int)bands, (int)groups);
    return f;
}

static struct form form_of(const struct assay_problem *p, const struct assay_cuda_properties *gpu)
{
    int64_t seq = axis(p, ASSAY_ATTENTION_SEQ), dim = axis(p, ASSAY_ATTENTION_DIM);
    /* Keys and values of 32 positions must fit into a warp's registers. */
    bool is_short = seq <= (dim <= 128 ? SHORT_SEQ : SHORT_SEQ / 2);
    return p->dtype == ASSAY_DTYPE_F32 ? form_f32(p, gpu->sms)
           : is_short                  ? form_warp(p, gpu->sms)
                                       : form_tiles(p, gpu->sms, gpu->shared_most);
}

/* ---- plan and call --------------------------------------------------------------------------- */

static enum assay_status compile(const struct assay_problem *p, const struct form *form,
                                 struct state *s, struct assay_error *err)
{
    bool vector = axis(p, ASSAY_ATTENTION_DIM) % cuda_op_vec(p->dtype) == 0;
    return assay_cuda_op_compile(&s->function, err, form->text, form->name, form->shared_bytes,
                                 "-DELEMENT=%d -DVECTOR=%d -DDIM=%d %s%s",
                                 cuda_op_element(p->dtype), vector, (int)form->dim, form->options,
                                 s->saves ? " -DSAVE=1" : "");
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    if (!gpu)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "no GPU is open");
    struct form form = form_of(problem, gpu);
    s->bytes = assay_dtype_bytes(problem->dtype);
    s->saves = cuda_attention_saves(problem);
    s->args = cuda_attention_args_of(problem, form.queries);
    int64_t blocks = (int64_t)s->args.batch_heads * s->args.blocks;
    s->launch = (struct assay_cuda_launch){.grid_x = (unsigned)assay_ceil_div(blocks, form.at_once),
                                           .threads = form.threads,
                                           .shared_bytes = (unsigned)form.shared_bytes};
    return compile(problem, &form, s, err);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    cuda_attention_take(&s->args, s->bytes, s->saves, args);
    void *parameters[] = {&s->args};
    return assay_cuda_launch(s->function, &s->launch, stream, parameters);
}

static const struct cuda_op attention = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call};

CUDA_KERNEL(attention_cuda, "attention", "cuda", attention, .dtypes = CUDA_FLOATS, .preference = 1,
            .can_run = can_run);
CUDA_KERNEL(attention_training_cuda, "attention_training", "cuda", attention, .dtypes = CUDA_FLOATS,
            .preference = 1, .can_run = can_run);
