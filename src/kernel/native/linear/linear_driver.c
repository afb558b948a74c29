/* linear_driver.c: assay's own kernels of `linear`: weights packed once, work cut into rectangles.
 */
#include "kernel/native/linear/linear_native.h"

#include "base/alloc.h"
#include "kernel/host.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_THREADS = 1024, LINE = 64, HUGE_PAGE = 2 << 20 };

struct state {
    const struct linear_body *body;
    struct linear_job job;
    struct linear_inputs inputs;
    int32_t threads;
    int64_t band;                          /* rows of a part computed at once */
    struct linear_part parts[MAX_THREADS]; /* one for each thread; empty ones have row == row_end */
    unsigned char *scratch;                /* each thread's part of it is scratch_bytes long */
    void *scratch_block;
    size_t scratch_bytes;
    struct assay_packed *packed; /* of each set */
    int64_t n_packed, capacity;
    const struct assay_host *host; /* of an op linear's problem, for what a profile notes */
};

enum assay_status assay_linear_can_run(const struct assay_problem *problem, uint32_t isa,
                                       const struct linear_takes *takes, struct assay_error *why)
{
    enum assay_status status = assay_cpu_need(isa, why);
    if (status != ASSAY_OK || !problem)
        return status;
    struct assay_recipe recipe;
    if (assay_recipe_parse(problem->recipe, &recipe, why) != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    status = assay_recipe_fits(&recipe, problem->dtype, problem->axes[ASSAY_LINEAR_K], why);
    if (status != ASSAY_OK)
        return status;
    if (!(takes->dtypes & ASSAY_DTYPE_BIT(problem->dtype)))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "no %s",
                               assay_dtype_name(problem->dtype));
    if (!(takes->codes & ASSAY_DTYPE_BIT(recipe.code)) ||
        !(takes->activations & ASSAY_DTYPE_BIT(recipe.activation)))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "not for %s", recipe.name);
    int64_t m = problem->axes[ASSAY_LINEAR_M];
    if (takes->least_m && m < takes->least_m)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "for %lld rows of x and more",
                               (long long)takes->least_m);
    if (takes->most_m && m > takes->most_m)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "for up to %lld rows of x",
                               (long long)takes->most_m);
    return ASSAY_OK;
}

enum { ROW_BLOCK = 64 };

/* How many threads are side by side over the rows: the largest divisor that fits. */
static int64_t threads_across(const struct state *s)
{
    int64_t blocks = (s->job.m + ROW_BLOCK - 1) / ROW_BLOCK, across = 1;
    if (s->body->cuts_weights && s->body->cuts_weights(&s->job, s->threads))
        return 1;
    for (int64_t d = 1; d <= s->threads; d++)
        if (s->threads % d == 0 && blocks >= 2 * d)
            across = d;
    return across;
}

/* Where part j of `along` begins: at a pair of panels, where there are enough. */
static int64_t panel_of(int64_t panels, int64_t j, int64_t along)
{
    if (panels < 4 * along || j == along)
        return panels * j / along;
    return panels / 2 * j / along * 2;
}

/* Rows are cut first, in blocks that keep a matrix unit busy: a thread then quantises and packs
 * only its own rows. What is left of the threads cuts the panels: at small m all of them do. */
static void cut(struct state *s)
{
    int64_t panels = (s->job.n + ASSAY_PANEL_ROWS - 1) / ASSAY_PANEL_ROWS;
    int64_t blocks = (s->job.m + ROW_BLOCK - 1) / ROW_BLOCK;
    int64_t across = threads_across(s), along = s->threads / across;
    for (int64_t t = 0; t < s->threads; t++) {
        int64_t i = t / along, j = t % along;
        struct linear_part part = {
            .row = blocks * i / across * ROW_BLOCK,
            .row_end = blocks * (i + 1) / across * ROW_BLOCK,
            .panel = panel_of(panels, j, along),
            .panel_end = panel_of(panels, j + 1, along),
        };
        if (part.row_end > s->job.m)
            part.row_end = s->job.m;
        s->parts[t] = part;
    }
}

static bool empty(const struct linear_part *part)
{
    return part->row >= part->row_end || part->panel >= part->panel_end;
}

/* Rows of x as they lie are only read; windows are gathered first, some of them once for all
 * weights. So that they take no more memory than this at a time, a part is cut into bands. */
static int64_t band_of(const struct linear_job *job)
{
    enum { BAND_BYTES = 4 << 20 };
    int64_t bytes = job->k * (int64_t)assay_dtype_bytes(job->dtype);
    int64_t rows = BAND_BYTES / bytes / ROW_BLOCK * ROW_BLOCK;
    return job->windows.kernel == 0 ? job->m : rows > ROW_BLOCK ? rows : ROW_BLOCK;
}

/* The rows of `part` from `row` on that are computed at once. */
static struct linear_part band_at(const struct state *s, const struct linear_part *part,
                                  int64_t row)
{
    struct linear_part band = *part;
    band.row = row;
    if (band.row_end > row + s->band)
        band.row_end = row + s->band;
    return band;
}

unsigned char *assay_linear_memory(size_t bytes, void **block)
{
    size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : 4096;
    *block = assay_calloc(1, bytes + align);
    if (!*block)
        return NULL;
    unsigned char *start = *block;
    start += (align - (uintptr_t)start % align) % align;
    if (align == HUGE_PAGE)
        madvise(start, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return start;
}

static enum assay_status make_scratch(struct state *s, struct assay_error *err)
{
    for (int32_t t = 0; t < s->threads; t++) {
        const struct linear_part *part = &s->parts[t];
        for (int64_t row = part->row; row < part->row_end && !empty(part); row += s->band) {
            struct linear_part band = band_at(s, part, row);
            size_t bytes = s->body->scratch_bytes(&s->job, &band);
            if (bytes > s->scratch_bytes)
                s->scratch_bytes = bytes;
        }
    }
    /* Whole pages and a bit, so that threads do not use the same sets of their caches. */
    s->scratch_bytes = (s->scratch_bytes + 4095) / 4096 * 4096 + LINE * 5;
    s->scratch = assay_linear_memory((size_t)s->threads * s->scratch_bytes, &s->scratch_block);
    return s->scratch ? ASSAY_OK : assay_error_nomem(err);
}

enum assay_status assay_linear_create(const struct linear_job *job,
                                      const struct linear_inputs *inputs, int32_t threads,
                                      const struct linear_body *body, void **state,
                                      struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->body = body;
    s->job = *job;
    s->inputs = *inputs;
    s->threads = threads < MAX_THREADS ? threads : MAX_THREADS;
    s->band = band_of(job);
    cut(s);
    enum assay_status status = make_scratch(s, err);
    if (status == ASSAY_OK)
        *state = s;
    else
        assay_linear_teardown(s);
    return status;
}

enum assay_status assay_linear_setup(const struct assay_problem *problem,
                                     const struct linear_body *body, void **state,
                                     struct assay_error *err)
{
    struct linear_job job = {
        .m = problem->axes[ASSAY_LINEAR_M],
        .k = problem->axes[ASSAY_LINEAR_K],
        .n = problem->axes[ASSAY_LINEAR_N],
        .dtype = problem->dtype,
        .activation = (enum assay_linear_activation)problem->params[ASSAY_LINEAR_ACTIVATION],
        .norm = (enum assay_linear_norm)problem->params[ASSAY_LINEAR_NORM],
    };
    struct linear_inputs inputs = {
        .bias = problem->params[ASSAY_LINEAR_BIAS] != 0 ? ASSAY_LINEAR_BIAS_INPUT : -1,
        .norm = assay_linear_norm_input(problem),
        .residual = assay_linear_residual_input(problem),
    };
    enum assay_status status = assay_recipe_parse(problem->recipe, &job.recipe, err);
    if (status == ASSAY_OK)
        status = assay_linear_create(&job, &inputs, problem->threads, body, state, err);
    if (status == ASSAY_OK)
        ((struct state *)*state)->host = problem->host;
    return status;
}

/* All sets from this one on. */
static void forget(struct state *s, int64_t first)
{
    for (int64_t i = first; i < s->n_packed; i++)
        assay_packed_fini(&s->packed[i]);
    s->n_packed = first < s->n_packed ? first : s->n_packed;
}

/* The weights of set 0, in the memory that it has where it was there before. */
static enum assay_status pack_first(struct state *s, const void *weights, struct assay_error *err)
{
    const struct linear_job *job = &s->job;
    forget(s, 1);
    if (s->n_packed == 1)
        return assay_packed_renew(&job->recipe, weights, s->threads, &s->packed[0], err);
    return assay_packed_create(&job->recipe, job->dtype, weights, job->n, job->k, s->threads,
                               &s->packed[0], err);
}

enum assay_status assay_linear_prepare(void *state, int64_t set, const struct assay_args *args,
                                       struct assay_error *err)
{
    struct state *s = state;
    if (set >= s->capacity) {
        int64_t capacity = set + 1 > 2 * s->capacity ? set + 1 : 2 * s->capacity;
        struct assay_packed *grown = assay_realloc(s->packed, (size_t)capacity, sizeof *grown);
        if (!grown)
            return assay_error_nomem(err);
        s->packed = grown;
        s->capacity = capacity;
    }
    enum assay_status status = set == 0 ? pack_first(s, args->in[ASSAY_LINEAR_W], err)
                                        : assay_packed_copy(&s->packed[0], &s->packed[set], err);
    if (status == ASSAY_OK)
        s->n_packed = set + 1;
    return status;
}

size_t assay_linear_prepared_bytes(void *state)
{
    const struct state *s = state;
    return s->n_packed ? s->packed[0].bytes : 0;
}

static void *scratch_of(const struct state *s, int64_t thread)
{
    return s->scratch + (size_t)thread * s->scratch_bytes;
}

static const void *optional(const struct assay_args *args, int32_t input)
{
    return input >= 0 ? args->in[input] : NULL;
}

/* One scale for all of x: every thread looks at some rows, then all know. The bits of magnitudes
 * order like the integers they are, NaN above all: so one that a thread finds is not lost. */
static float tensor_scale(const struct state *s, const struct linear_call *call)
{
    struct assay_recorder *recorder = assay_host_recorder(s->host);
    uint32_t most = 0;
#pragma omp parallel for schedule(static) num_threads(s->threads) reduction(max : most)
    for (int64_t t = 0; t < s->threads; t++) {
        int64_t row = s->job.m * t / s->threads, row_end = s->job.m * (t + 1) / s->threads;
        int64_t began = assay_recorder_now(recorder);
        uint32_t own = assay_f32_bits(s->body->amax(call, row, row_end, scratch_of(s, t)));
        most = own > most ? own : most;
        assay_recorder_share(recorder, (int32_t)t, began, row_end - row);
    }
    return assay_quant_scale(s->job.recipe.activation, assay_f32_from_bits(most));
}

static void call_part(const struct state *s, const struct linear_call *call, int64_t t, bool whole,
                      struct assay_recorder *recorder)
{
    const struct linear_part *part = &s->parts[t];
    int64_t began = assay_recorder_now(recorder);
    for (int64_t row = part->row; row < part->row_end; row += s->band) {
        struct linear_part band = band_at(s, part, row);
        (whole ? s->body->compute : s->body->activations)(call, &band, scratch_of(s, t));
    }
    assay_recorder_share(recorder, (int32_t)t, began,
                         (part->row_end - part->row) * (part->panel_end - part->panel));
}

static void call_body(const struct state *s, const struct linear_call *call, bool whole)
{
    struct assay_recorder *recorder = assay_host_recorder(s->host);
    if (s->threads == 1) {
        call_part(s, call, 0, whole, recorder);
        return;
    }
#pragma omp parallel num_threads(s->threads)
    {
        int t = omp_get_thread_num();
        if (!empty(&s->parts[t]))
            call_part(s, call, t, whole, recorder);
    }
}

static enum assay_status run(const struct state *s, const struct assay_work *work, bool whole)
{
    for (int64_t i = 0; i < work->iters; i++) {
        int64_t set = assay_work_set(work, i);
        const struct assay_args *args = &work->sets[set];
        struct linear_call call = {
            .job = &s->job,
            .x = args->in[ASSAY_LINEAR_X],
            .bias = optional(args, s->inputs.bias),
            .norm_weight = optional(args, s->inputs.norm),
            .residual = optional(args, s->inputs.residual),
            .w = &s->packed[set],
            .y = args->out[0],
        };
        if (s->job.recipe.activation_scope == ASSAY_SCOPE_TENSOR)
            call.x_scale = tensor_scale(s, &call);
        call_body(s, &call, whole);
    }
    return ASSAY_OK;
}

void assay_linear_multiply(void *state, struct linear_call call)
{
    const struct state *s = state;
    call.job = &s->job;
    call_body(s, &call, true);
}

enum assay_status assay_linear_run(void *state, const struct assay_work *work)
{
    return run(state, work, true);
}

enum assay_status assay_linear_run_activations(void *state, const struct assay_work *work)
{
    return run(state, work, false);
}

void assay_linear_teardown(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    forget(s, 0);
    assay_free(s->packed);
    assay_free(s->scratch_block);
    assay_free(s);
}
