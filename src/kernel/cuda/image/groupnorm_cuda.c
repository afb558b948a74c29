/* groupnorm_cuda.c: groupnorm on the GPU, and in the form that saves the statistics of each image
 * and group for the gradient: how it is cut; the work is in groupnorm.cu. */
#include "kernel/cuda/cuda_op.h"
#include "op/groupnorm.h"

#include <float.h>

/* As in groupnorm.cu. */
enum {
    THREADS_HELD = 128,
    THREADS = 256,
    THREADS_WIDE = 512,
    GROUPS_MOST = 256,
    HOLD_MOST = 16,
    CLUSTER_MOST = 8
};
enum pass { PASS_HELD = 1, PASS_SUMS, PASS_APPLY };

struct shape {
    int64_t pixels, row_items, chunk;
    uint32_t chunks, slices, columns, rows, groups, of_group, span, turns;
    double eps, inverse;
};
struct moments {
    double mean, square;
};
struct norm {
    float shift, scale, offset;
};
struct saved {
    void *mean, *rstd;
};

struct cut {
    struct shape shape;
    bool held, vector;
    int hold, sub;
    unsigned threads_most, threads;
    int64_t blocks;
};

struct state {
    cu_function function, apply; /* the second where x is not held */
    struct assay_cuda_launch launch, apply_launch;
    struct cut cut;
    bool saves;
    struct shape apply_shape;
    void *scratch; /* moments, norms, tickets */
    size_t scratch_bytes;
    struct moments *moments;
    struct norm *norms;
    uint32_t *tickets;
};

/* ---- how it is cut --------------------------------------------------------------------------- */

static unsigned threads_for(int64_t columns) { return columns > THREADS ? THREADS_WIDE : THREADS; }

/* A cut into this number of slices and chunks; false where it is impossible. */
static bool cut_into(const struct assay_problem *p, int64_t slices, int64_t chunks,
                     unsigned threads, bool held, struct cut *out)
{
    int64_t channels = p->axes[ASSAY_GROUPNORM_CHANNELS], groups = p->axes[ASSAY_GROUPNORM_GROUPS];
    int64_t width = channels / slices, vec = cuda_op_vec(p->dtype), of_group = channels / groups;
    if (groups % slices != 0 || groups / slices > GROUPS_MOST)
        return false;
    struct cut c = {.held = held, .vector = channels % vec == 0 && width % vec == 0};
    int64_t unit = c.vector ? vec : 1, columns = width / unit;
    if (columns > threads)
        return false;
    c.threads_most = threads;
    c.sub = of_group % unit == 0 ? 1 : (int)unit;
    struct shape *s = &c.shape;
    s->pixels = p->axes[ASSAY_GROUPNORM_HEIGHT] * p->axes[ASSAY_GROUPNORM_WIDTH];
    s->row_items = channels / unit;
    s->chunk = assay_ceil_div(s->pixels, chunks);
    int64_t rows = assay_min(c.threads_most / columns, s->chunk);
    int64_t hold = 1;
    while (hold * rows < s->chunk)
        hold *= 2;
    if (hold > HOLD_MOST || assay_ceil_div(s->pixels, s->chunk) != chunks)
        return false;
    c.hold = (int)hold;
    c.threads = cuda_op_threads(rows * columns, c.threads_most);
    c.blocks = p->axes[ASSAY_GROUPNORM_BATCH] * slices * chunks;
    s->chunks = (uint32_t)chunks;
    s->slices = (uint32_t)slices;
    s->columns = (uint32_t)columns;
    s->rows = (uint32_t)rows;
    s->groups = (uint32_t)(groups / slices);
    s->of_group = (uint32_t)of_group;
    s->span = (uint32_t)(of_group * c.sub / unit);
    s->turns = 1;
    s->eps = p->params[ASSAY_GROUPNORM_EPS];
    s->inverse = 1 / (double)(s->pixels * of_group);
    *out = c;
    return c.blocks <= INT32_MAX;
}

/* The cost of a cut, in bytes of a block: its part of x and the time of the sums, which is longer
 * in a cluster, for each wave of blocks. Narrow slices waste bandwidth. */
static double cost_of(const struct assay_problem *p, const struct cut *c, int64_t sms)
{
    enum { BLOCK_BYTES = 12000, CLUSTER_BYTES = 1000, LINE = 128, SECTOR = LINE / 4 };
    int64_t width = p->axes[ASSAY_GROUPNORM_CHANNELS] / c->shape.slices;
    double row = (double)width * (double)assay_dtype_bytes(p->dtype);
    double bytes = (double)c->shape.chunk * row;
    double narrow = row >= LINE || c->shape.slices == 1 ? 1 : row >= SECTOR ? 1.2 : 2;
    return (double)assay_ceil_div(c->blocks, sms) *
           (bytes * narrow + BLOCK_BYTES + CLUSTER_BYTES * (double)c->shape.chunks);
}

/* The cheapest cut with blocks of `threads` threads. */
static bool cut_held_by(const struct assay_problem *p, unsigned threads, struct cut *best)
{
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    int64_t groups = p->axes[ASSAY_GROUPNORM_GROUPS];
    double least = DBL_MAX;
    for (int64_t slices = 1; slices <= groups; slices++)
        for (int64_t chunks = 1; chunks <= (gpu->major >= 9 ? CLUSTER_MOST : 1); chunks *= 2) {
            struct cut cut;
            if (groups % slices != 0 || !cut_into(p, slices, chunks, threads, true, &cut))
                continue;
            double cost = cost_of(p, &cut, gpu->sms);
            if (cost < least) {
                least = cost;
                *best = cut;
            }
        }
    return least < DBL_MAX;
}

/* Small blocks first: more of them are resident, and hide each other's waiting. */
static bool cut_held(const struct assay_problem *p, struct cut *best)
{
    for (unsigned threads = THREADS_HELD; threads <= THREADS_WIDE; threads *= 2)
        if (cut_held_by(p, threads, best))
            return true;
    return false;
}

/* The widest slices, in chunks of what a block holds. */
static bool cut_twice(const struct assay_problem *p, struct cut *cut)
{
    enum { HOLD = 8 };
    int64_t channels = p->axes[ASSAY_GROUPNORM_CHANNELS], groups = p->axes[ASSAY_GROUPNORM_GROUPS];
    int64_t pixels = p->axes[ASSAY_GROUPNORM_HEIGHT] * p->axes[ASSAY_GROUPNORM_WIDTH];
    for (int64_t slices = 1; slices <= groups; slices++) {
        int64_t vec = cuda_op_vec(p->dtype), width = channels / slices;
        int64_t columns = channels % vec == 0 && width % vec == 0 ? width / vec : width;
        if (groups % slices != 0 || columns > THREADS_WIDE)
            continue;
        int64_t chunk = assay_min(pixels, threads_for(columns) / columns * HOLD);
        if (cut_into(p, slices, assay_ceil_div(pixels, chunk), threads_for(columns), false, cut))
            return true;
    }
    return false;
}

/* The sums take several such chunks for one, as long as every SM has some blocks: fewer sums have
 * to be put together by the last. */
static void take_turns(struct cut *cut)
{
    enum { BLOCKS = 4, TURNS_MOST = 32 };
    int64_t wanted = BLOCKS * (int64_t)assay_cuda_properties()->sms;
    int64_t turns = assay_min(assay_ceil_div(cut->blocks, wanted), TURNS_MOST);
    struct shape *s = &cut->shape;
    int64_t slices = cut->blocks / s->chunks;
    s->turns = (uint32_t)turns;
    s->chunk *= turns;
    s->chunks = (uint32_t)assay_ceil_div(s->pixels, s->chunk);
    cut->blocks = slices * s->chunks;
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    struct cut cut;
    if (problem && !cut_twice(problem, &cut))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "groups of %lld channels are too wide for a block",
                               (long long)(problem->axes[ASSAY_GROUPNORM_CHANNELS] /
                                           problem->axes[ASSAY_GROUPNORM_GROUPS]));
    return assay_cuda_op_can_run(problem, why);
}

/* ---- setup ----------------------------------------------------------------------------------- */

static enum assay_status compile(const struct assay_problem *p, const struct cut *c, enum pass pass,
                                 cu_function *out, struct assay_error *err)
{
    static const char *const names[] = {
        [PASS_HELD] = "groupnorm_held",
        [PASS_SUMS] = "groupnorm_sums",
        [PASS_APPLY] = "groupnorm_apply",
    };
    return assay_cuda_op_compile(out, err, "groupnorm.cu", names[pass], 0,
                                 "-DELEMENT=%d -DVECTOR=%d -DTHREADS=%u -DHOLD=%d -DSUB=%d "
                                 "-DSILU=%d -DPASS=%d -DCLUSTER=%u%s",
                                 cuda_op_element(p->dtype), c->vector, c->threads_most, c->hold,
                                 c->sub, p->params[ASSAY_GROUPNORM_SILU] != 0, pass,
                                 c->held ? c->shape.chunks : 1u,
                                 p->n_outputs == 3 ? " -DSAVE=1" : "");
}

static void release(void *state)
{
    struct state *s = state;
    assay_cuda_free(s->scratch, s->scratch_bytes);
}

/* The tickets start at 0, and every launch leaves them there. */
static enum assay_status make_scratch(struct state *s, struct assay_error *err)
{
    size_t slices = (size_t)(s->cut.blocks / s->cut.shape.chunks), groups = s->cut.shape.groups;
    size_t moments = slices * s->cut.shape.chunks * groups * sizeof(struct moments);
    size_t norms = slices * groups * sizeof(struct norm), tickets = slices * sizeof(uint32_t);
    void *zeros = assay_calloc(slices, sizeof(uint32_t));
    if (!zeros)
        return assay_error_nomem(err);
    enum assay_status status = assay_cuda_alloc(moments + norms + tickets, &s->scratch, err);
    if (status == ASSAY_OK) {
        s->scratch_bytes = moments + norms + tickets;
        s->moments = s->scratch;
        s->norms = (struct norm *)(void *)((char *)s->scratch + moments);
        s->tickets = (uint32_t *)(void *)((char *)s->scratch + moments + norms);
        status = assay_cuda_upload(s->tickets, zeros, tickets, err);
    }
    assay_free(zeros);
    return status;
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    s->saves = problem->n_outputs == 3;
    if (!cut_held(problem, &s->cut) && !cut_twice(problem, &s->cut))
        return can_run(problem, err);
    s->launch.threads = s->apply_launch.threads = s->cut.threads;
    s->launch.grid_x = s->apply_launch.grid_x = (unsigned)s->cut.blocks;
    if (s->cut.held)
        return compile(problem, &s->cut, PASS_HELD, &s->function, err);
    s->apply_shape = s->cut.shape;
    take_turns(&s->cut);
    s->launch.grid_x = (unsigned)s->cut.blocks;
    enum assay_status status = compile(problem, &s->cut, PASS_SUMS, &s->function, err);
    if (status == ASSAY_OK)
        status = compile(problem, &s->cut, PASS_APPLY, &s->apply, err);
    return status == ASSAY_OK ? make_scratch(s, err) : status;
}

/* ---- run ------------------------------------------------------------------------------------- */

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const void *x = args->in[0], *gamma = args->in[1], *beta = args->in[2];
    void *out = args->out[0];
    struct shape *shape = &s->cut.shape;
    struct saved saved = {NULL, NULL};
    if (s->saves)
        saved = (struct saved){args->out[1], args->out[2]};
    void *held[] = {&x, &gamma, &beta, &out, shape, &saved};
    if (s->cut.held)
        return assay_cuda_launch(s->function, &s->launch, stream, held);
    void *sums[] = {&x, shape, &s->moments, &s->norms, &s->tickets, &saved};
    void *apply[] = {&x, &gamma, &beta, &out, &s->apply_shape, &s->norms};
    enum assay_status status = assay_cuda_launch(s->function, &s->launch, stream, sums);
    return status == ASSAY_OK ? assay_cuda_launch(s->apply, &s->apply_launch, stream, apply)
                              : status;
}

static const struct cuda_op groupnorm = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call, .release = release};

CUDA_KERNEL(groupnorm_cuda, "groupnorm", "cuda", groupnorm, .dtypes = CUDA_FLOATS, .preference = 1,
            .can_run = can_run);
CUDA_KERNEL(groupnorm_training_cuda, "groupnorm_training", "cuda", groupnorm, .dtypes = CUDA_FLOATS,
            .preference = 1, .can_run = can_run);
