/* groupnorm_driver.c: the driver of the native groupnorm kernels: how the work is cut, and what the
 * sums say.
 *
 * Variance. The first pass sums x and x^2. The variance, mean(x^2) - mean^2, loses accuracy by
 * cancellation when the mean is large against the deviation; then the sums are taken once more of
 * x - mean, which cannot cancel. Sums are put together in double. */
#include "kernel/native/image/groupnorm_native.h"

#include "base/alloc.h"
#include "kernel/host.h"

#include <float.h>
#include <math.h>

/* Waking the team costs a few microseconds; a share of this many elements takes about as long. */
enum { SHARE_MIN = 16384 };

/* A slice is not made narrower than this: memory is slow where little of it is used in a row. */
enum { SLICE_BYTES = 128, LINE = 64 };

/* Beyond so many units for each thread, it does not matter that one more than others have. */
enum { UNITS_ENOUGH = 8 };

enum { FIRST, SECOND, SUMS };

struct state {
    struct groupnorm_job job;
    const struct groupnorm_body *body;
    enum native_kind kind;
    bool stream;
    bool saves; /* groupnorm_training: the statistics are outputs, too */
    int64_t images, slices, parts;
    double eps;
    int32_t threads;
    int32_t *group;
    struct groupnorm_sums *sums[SUMS]; /* of each unit and group: plain, and shifted */
    struct groupnorm_norm *norms;      /* of each thread and group */
    float *shift;                      /* of each thread and group */
    float *scratch;                    /* of each thread */
    const struct assay_host *host;     /* of the problem, for what a profile notes */
};

/* ---- setup ----------------------------------------------------------------------------------- */

static int64_t slices_of(const struct assay_problem *p, int64_t pixels)
{
    int64_t groups = p->axes[ASSAY_GROUPNORM_GROUPS], slices = 1;
    size_t l2 = assay_cpu_info()->l2_bytes ? assay_cpu_info()->l2_bytes : (size_t)1 << 20;
    int64_t row = p->axes[ASSAY_GROUPNORM_CHANNELS] * (int64_t)assay_dtype_bytes(p->dtype);
    for (int64_t n = 2; n <= groups && row / n >= SLICE_BYTES; n++)
        if (groups % n == 0 && row % (n * LINE) == 0 && row / slices * pixels > (int64_t)l2 / 2)
            slices = n;
    return slices;
}

/* So many parts that all threads have the same number of units. */
static int64_t parts_of(int64_t units, int32_t threads, int64_t pixels)
{
    int64_t parts = 1;
    if (units >= (int64_t)UNITS_ENOUGH * threads)
        return 1;
    while (units * parts % threads != 0)
        parts++;
    return parts < pixels ? parts : pixels;
}

static void cut(const struct assay_problem *p, struct state *s)
{
    int64_t channels = p->axes[ASSAY_GROUPNORM_CHANNELS];
    int64_t count = assay_tensor_count(&p->inputs[0]);
    int64_t busy = count / SHARE_MIN < 1 ? 1 : count / SHARE_MIN, block = s->body->block;
    struct groupnorm_job *job = &s->job;
    s->images = p->axes[ASSAY_GROUPNORM_BATCH];
    job->pixels = p->axes[ASSAY_GROUPNORM_HEIGHT] * p->axes[ASSAY_GROUPNORM_WIDTH];
    s->slices = slices_of(p, job->pixels);
    s->threads = p->threads < busy ? p->threads : (int32_t)busy;
    s->parts = parts_of(s->images * s->slices, s->threads, job->pixels);
    job->channels = channels;
    job->width = channels / s->slices;
    job->groups = p->axes[ASSAY_GROUPNORM_GROUPS] / s->slices;
    job->padded = (job->width + block - 1) / block * block;
    job->silu = p->params[ASSAY_GROUPNORM_SILU] != 0;
    int64_t line = LINE / (int64_t)assay_dtype_bytes(p->dtype);
    s->stream = job->width % line == 0 && channels % line == 0 &&
                assay_native_wants_stream(assay_tensor_bytes(&p->outputs[0]) / (size_t)s->threads);
}

static bool allocate(struct state *s)
{
    const struct groupnorm_job *job = &s->job;
    size_t units = (size_t)(s->images * s->slices * s->parts), groups = (size_t)job->groups;
    size_t threads = (size_t)s->threads, padded = (size_t)job->padded;
    s->group = assay_calloc(padded, sizeof *s->group);
    for (int i = 0; i < SUMS; i++)
        s->sums[i] = assay_calloc(units * groups, sizeof *s->sums[i]);
    s->norms = assay_calloc(threads * groups, sizeof *s->norms);
    s->shift = assay_calloc(threads * groups, sizeof *s->shift);
    s->scratch = assay_calloc(threads * padded * GROUPNORM_SCRATCH, sizeof *s->scratch);
    return s->group && s->sums[FIRST] && s->sums[SECOND] && s->norms && s->shift && s->scratch;
}

/* Whole blocks of channels lie in their lanes in an order of the body's. */
static bool number_lanes(struct state *s)
{
    struct groupnorm_job *job = &s->job;
    int64_t block = s->body->block, of_group = job->width / job->groups;
    int32_t *lane_of = assay_calloc((size_t)block, sizeof *lane_of);
    if (!lane_of)
        return false;
    s->body->lanes(s->kind, lane_of);
    for (int64_t i = 0; i < job->padded; i++)
        s->group[i] = -1;
    for (int64_t c = 0; c < job->width; c++) {
        int64_t first = c / block * block;
        int64_t lane = first + block <= job->width ? first + lane_of[c - first] : c;
        s->group[lane] = (int32_t)(c / of_group);
    }
    job->group = s->group;
    assay_free(lane_of);
    return true;
}

enum assay_status assay_groupnorm_setup(const struct assay_problem *problem,
                                        const struct groupnorm_body *body, void **state,
                                        struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->body = body;
    s->kind = assay_native_kind(problem->dtype, body->sums[NATIVE_BF16_INSN] != NULL);
    s->eps = problem->params[ASSAY_GROUPNORM_EPS];
    s->saves = problem->n_outputs > 1;
    s->host = problem->host;
    cut(problem, s);
    if (!allocate(s) || !number_lanes(s)) {
        assay_groupnorm_teardown(s);
        return assay_error_nomem(err);
    }
    *state = s;
    return ASSAY_OK;
}

void assay_groupnorm_teardown(void *state)
{
    struct state *s = state;
    assay_free(s->group);
    for (int i = 0; i < SUMS; i++)
        assay_free(s->sums[i]);
    assay_free(s->norms);
    assay_free(s->shift);
    assay_free(s->scratch);
    assay_free(s);
}

/* ---- what the sums say ----------------------------------------------------------------------- */

/* Of all parts of the slice that unit `number` is of. */
static struct groupnorm_sums total(const struct state *s, int which, int64_t number, int64_t group)
{
    struct groupnorm_sums all = {0};
    int64_t first = number / s->parts * s->parts;
    for (int64_t i = first; i < first + s->parts; i++) {
        const struct groupnorm_sums *one = &s->sums[which][i * s->job.groups + group];
        all.sum += one->sum;
        all.square += one->square;
    }
    return all;
}

static double count_of(const struct state *s)
{
    int64_t channels = s->job.width / s->job.groups;
    return (double)(s->job.pixels * channels);
}

/* Where the sums of a group must be taken of x - shift, this shift, else 0. Does any need it?
 * mean^2 <= 4 variance: the cancellation costs at most a factor of 5 in accuracy. */
static bool find_shifts(const struct state *s, int64_t number, float *shift)
{
    bool any = false;
    for (int64_t g = 0; g < s->job.groups; g++) {
        struct groupnorm_sums sums = total(s, FIRST, number, g);
        double mean = sums.sum / count_of(s), square = sums.square / count_of(s);
        bool wanted = !(mean * mean <= 0.8 * square);
        shift[g] = wanted ? (float)mean : 0;
        any |= wanted;
    }
    return any;
}

static struct groupnorm_norm norm_of(const struct state *s, struct groupnorm_sums sums, float shift)
{
    double rest = sums.sum / count_of(s), square = sums.square / count_of(s);
    double variance = square - rest * rest;
    if (!(square <= DBL_MAX)) /* a NaN, or an infinity, whose distance from the mean is NaN */
        return (struct groupnorm_norm){.scale = NAN};
    double scale = 1 / sqrt((variance > 0 ? variance : 0) + s->eps);
    float near = (float)((double)shift + rest); /* subtracted first, exactly where it is near x */
    return (struct groupnorm_norm){.shift = near,
                                   .scale = (float)scale,
                                   .offset =
                                       (float)(((double)near - ((double)shift + rest)) * scale)};
}

/* ---- run ------------------------------------------------------------------------------------- */

static struct groupnorm_unit unit_at(const struct state *s, int64_t number)
{
    int64_t part = number % s->parts, slice = number / s->parts;
    return (struct groupnorm_unit){.image = slice / s->slices,
                                   .slice = slice % s->slices,
                                   .begin = s->job.pixels * part / s->parts,
                                   .end = s->job.pixels * (part + 1) / s->parts};
}

static float *scratch_of(const struct state *s, int32_t thread)
{
    return s->scratch + (int64_t)thread * s->job.padded * GROUPNORM_SCRATCH;
}

static void sum_unit(const struct state *s, const struct assay_args *args, int32_t thread,
                     int64_t number, int which, const float *shift)
{
    struct groupnorm_unit unit = unit_at(s, number);
    s->body->sums[s->kind](&s->job, args->in[0], &unit, shift, scratch_of(s, thread),
                           s->sums[which] + number * s->job.groups);
}

/* The second sums, where the first are not enough. */
static void sum_again(const struct state *s, const struct assay_args *args, int32_t thread,
                      int64_t number)
{
    float *shift = s->shift + thread * s->job.groups;
    if (find_shifts(s, number, shift))
        sum_unit(s, args, thread, number, SECOND, shift);
}

/* The statistics of a slice, by the unit that is its first part. */
static void save_unit(const struct state *s, const struct assay_args *args, int64_t number,
                      int which, const float *shift, const struct groupnorm_norm *norms)
{
    float *mean = args->out[1], *rstd = args->out[2];
    int64_t first = number / s->parts * s->job.groups;
    for (int64_t g = 0; g < s->job.groups; g++) {
        double rest = total(s, which, number, g).sum / count_of(s);
        mean[first + g] = (float)((double)shift[g] + rest);
        rstd[first + g] = norms[g].scale;
    }
}

static void apply_unit(const struct state *s, const struct assay_args *args, int32_t thread,
                       int64_t number)
{
    struct groupnorm_unit unit = unit_at(s, number);
    struct groupnorm_norm *norms = s->norms + thread * s->job.groups;
    float *shift = s->shift + thread * s->job.groups;
    int which = find_shifts(s, number, shift) ? SECOND : FIRST;
    for (int64_t g = 0; g < s->job.groups; g++)
        norms[g] = norm_of(s, total(s, which, number, g), shift[g]);
    if (s->saves && number % s->parts == 0)
        save_unit(s, args, number, which, shift, norms);
    s->body->apply[s->kind][s->stream](&s->job, args, &unit, norms, scratch_of(s, thread));
}

struct range {
    int64_t begin, end;
};

static struct range share_of(const struct state *s, int32_t thread)
{
    int64_t units = s->images * s->slices * s->parts;
    return (struct range){units * thread / s->threads, units * (thread + 1) / s->threads};
}

/* Slices that are in one part: the thread that has read one normalises it at once. */
static void run_slices(const struct state *s, const struct assay_args *args, int32_t thread,
                       struct assay_recorder *recorder)
{
    struct range share = share_of(s, thread);
    int64_t began = assay_recorder_now(recorder);
    for (int64_t i = share.begin; i < share.end; i++) {
        sum_unit(s, args, thread, i, FIRST, NULL);
        sum_again(s, args, thread, i);
        apply_unit(s, args, thread, i);
    }
    assay_recorder_share(recorder, thread, began, share.end - share.begin);
}

enum pass { PASS_SUMS, PASS_AGAIN, PASS_APPLY };

static void run_pass(const struct state *s, const struct assay_args *args, int32_t thread,
                     enum pass pass, struct assay_recorder *recorder)
{
    struct range share = share_of(s, thread);
    int64_t began = assay_recorder_now(recorder);
    for (int64_t i = share.begin; i < share.end; i++)
        if (pass == PASS_SUMS)
            sum_unit(s, args, thread, i, FIRST, NULL);
        else if (pass == PASS_AGAIN)
            sum_again(s, args, thread, i);
        else
            apply_unit(s, args, thread, share.end - 1 - (i - share.begin));
    assay_recorder_share(recorder, thread, began, share.end - share.begin);
}

static void compute(const struct state *s, const struct assay_args *args,
                    struct assay_recorder *recorder)
{
    /* The whole team, whatever the number of shares: a smaller one would cost the others their core
     * (native.h). */
    if (s->threads == 1) {
        run_slices(s, args, 0, recorder);
    } else if (s->parts == 1) {
#pragma omp parallel for schedule(static, 1)
        for (int32_t t = 0; t < s->threads; t++)
            run_slices(s, args, t, recorder);
    } else {
#pragma omp parallel
        for (enum pass pass = PASS_SUMS; pass <= PASS_APPLY; pass++) {
#pragma omp for schedule(static, 1) /* a barrier ends each pass; a thread has the same shares */
            for (int32_t t = 0; t < s->threads; t++)
                run_pass(s, args, t, pass, recorder);
        }
    }
}

enum assay_status assay_groupnorm_run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    struct assay_recorder *recorder = assay_host_recorder(s->host);
    for (int64_t i = 0; i < work->iters; i++)
        compute(s, assay_work_args(work, i), recorder);
    return ASSAY_OK;
}
