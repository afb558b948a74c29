/* groupnorm_backward_driver.c: the driver of the native kernels of groupnorm_backward: units, what
 * the sums of an image say, and the gradients of gamma and beta. */
#include "kernel/native/image/groupnorm_backward_native.h"

#include "base/alloc.h"

/* Waking the team costs a few microseconds; a share of this many elements takes about as long. */
enum { SHARE_MIN = 16384 };

/* Beyond so many units for each thread, it does not matter that one more than others have. */
enum { UNITS_ENOUGH = 8 };

/* Vectors of floats of a thread, one for each channel: those of struct groupgrad_channels, and
 * scratch for sums. */
enum { MEAN, SCALE, BETA, SLOPE, OFFSET, SUMS, VECTORS = SUMS + 2 };

struct state {
    const struct groupgrad_body *body;
    enum native_kind kind;
    int64_t images, pixels, channels, groups, parts; /* parts of an image */
    int32_t threads;
    bool silu;
    double *sums;   /* of each unit: dz, and dz (x - mean), for each channel */
    float *vectors; /* of each thread */
    float *gamma, *beta;
};

static float *vector_of(const struct state *s, int32_t thread, int which)
{
    return s->vectors + ((int64_t)thread * VECTORS + which) * s->channels;
}

static double *sums_of(const struct state *s, int64_t unit)
{
    return s->sums + unit * 2 * s->channels;
}

/* ---- setup ----------------------------------------------------------------------------------- */

/* So many parts that all threads have the same number of units. */
static int64_t parts_of(int64_t images, int32_t threads, int64_t pixels)
{
    int64_t parts = 1;
    while (images < (int64_t)UNITS_ENOUGH * threads && images * parts % threads != 0)
        parts++;
    return parts < pixels ? parts : pixels;
}

static bool allocate(struct state *s)
{
    size_t channels = (size_t)s->channels;
    s->sums = assay_calloc((size_t)(s->images * s->parts) * 2 * channels, sizeof *s->sums);
    s->vectors = assay_calloc((size_t)s->threads * VECTORS * channels, sizeof *s->vectors);
    s->gamma = assay_calloc(channels, sizeof *s->gamma);
    s->beta = assay_calloc(channels, sizeof *s->beta);
    return s->sums && s->vectors && s->gamma && s->beta;
}

enum assay_status assay_groupgrad_setup(const struct assay_problem *problem,
                                        const struct groupgrad_body *body, void **state,
                                        struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    int64_t busy = assay_tensor_count(&problem->outputs[0]) / SHARE_MIN;
    busy = busy < 1 ? 1 : busy;
    s->body = body;
    s->kind = assay_native_kind(problem->dtype, body->load[NATIVE_BF16_INSN] != NULL);
    s->images = problem->axes[ASSAY_GROUPNORM_BATCH];
    s->pixels = problem->axes[ASSAY_GROUPNORM_HEIGHT] * problem->axes[ASSAY_GROUPNORM_WIDTH];
    s->channels = problem->axes[ASSAY_GROUPNORM_CHANNELS];
    s->groups = problem->axes[ASSAY_GROUPNORM_GROUPS];
    s->threads = problem->threads < busy ? problem->threads : (int32_t)busy;
    s->parts = parts_of(s->images, s->threads, s->pixels);
    s->silu = problem->params[ASSAY_GROUPNORM_SILU] != 0;
    if (!allocate(s)) {
        assay_groupgrad_teardown(s);
        return assay_error_nomem(err);
    }
    *state = s;
    return ASSAY_OK;
}

void assay_groupgrad_teardown(void *state)
{
    struct state *s = state;
    assay_free(s->sums);
    assay_free(s->vectors);
    assay_free(s->gamma);
    assay_free(s->beta);
    assay_free(s);
}

/* ---- run ------------------------------------------------------------------------------------- */

static struct groupgrad_unit unit_at(const struct state *s, int64_t number)
{
    int64_t image = number / s->parts, part = number % s->parts, first = image * s->pixels;
    return (struct groupgrad_unit){first + s->pixels * part / s->parts,
                                   first + s->pixels * (part + 1) / s->parts};
}

static struct groupgrad_channels channels_of(const struct state *s, int32_t thread)
{
    return (struct groupgrad_channels){
        .mean = vector_of(s, thread, MEAN),
        .scale = vector_of(s, thread, SCALE),
        .beta = s->beta,
        .slope = vector_of(s, thread, SLOPE),
        .offset = vector_of(s, thread, OFFSET),
    };
}

static void fill_statistics(const struct state *s, const struct assay_args *args, int32_t thread,
                            int64_t image)
{
    const float *means = args->in[ASSAY_GROUPNORM_MEAN], *rstds = args->in[ASSAY_GROUPNORM_RSTD];
    float *mean = vector_of(s, thread, MEAN), *scale = vector_of(s, thread, SCALE);
    int64_t n = s->channels / s->groups;
    for (int64_t c = 0; c < s->channels; c++) {
        mean[c] = means[image * s->groups + c / n];
        scale[c] = s->gamma[c] * rstds[image * s->groups + c / n];
    }
}

static void sum_unit(const struct state *s, const struct assay_args *args, int32_t thread,
                     int64_t number)
{
    struct groupgrad_channels from = channels_of(s, thread);
    double *sums = sums_of(s, number);
    for (int64_t c = 0; c < 2 * s->channels; c++)
        sums[c] = 0;
    fill_statistics(s, args, thread, number / s->parts);
    s->body->sums[s->kind][s->silu](args, s->channels, unit_at(s, number), &from,
                                    vector_of(s, thread, SUMS), sums);
}

/* Of an image, over its parts: the means of g and g xhat of each group, g = dz gamma. dx is
 * rstd (g - mean(g) - xhat mean(g xhat)). */
static void fill_means(const struct state *s, const struct assay_args *args, int32_t thread,
                       int64_t image)
{
    const float *rstds = args->in[ASSAY_GROUPNORM_RSTD];
    float *slope = vector_of(s, thread, SLOPE), *offset = vector_of(s, thread, OFFSET);
    int64_t n = s->channels / s->groups;
    double inverse = 1 / (double)(n * s->pixels);
    for (int64_t group = 0; group < s->groups; group++) {
        double g = 0, g_off = 0, rstd = (double)rstds[image * s->groups + group];
        for (int64_t part = 0; part < s->parts; part++) {
            const double *sums = sums_of(s, image * s->parts + part);
            for (int64_t c = group * n; c < (group + 1) * n; c++) {
                g += (double)s->gamma[c] * sums[c];
                g_off += (double)s->gamma[c] * sums[s->channels + c];
            }
        }
        for (int64_t c = group * n; c < (group + 1) * n; c++) {
            offset[c] = (float)(-rstd * g * inverse);
            slope[c] = (float)(-rstd * rstd * rstd * g_off * inverse);
        }
    }
}

static void apply_unit(const struct state *s, const struct assay_args *args, int32_t thread,
                       int64_t number)
{
    struct groupgrad_channels from = channels_of(s, thread);
    fill_statistics(s, args, thread, number / s->parts);
    fill_means(s, args, thread, number / s->parts);
    s->body->apply[s->kind][s->silu](args, s->channels, unit_at(s, number), &from);
}

enum pass { PASS_SUMS, PASS_APPLY, PASS_BOTH /* units that are whole images */ };

static void run_pass(const struct state *s, const struct assay_args *args, int32_t thread,
                     enum pass pass)
{
    int64_t units = s->images * s->parts;
    int64_t end = units * (thread + 1) / s->threads;
    for (int64_t i = units * thread / s->threads; i < end; i++) {
        if (pass != PASS_APPLY)
            sum_unit(s, args, thread, i);
        if (pass != PASS_SUMS)
            apply_unit(s, args, thread, i);
    }
}

/* dgamma and dbeta, over all units in their order. */
static void finish(const struct state *s, const struct assay_args *args)
{
    const float *rstds = args->in[ASSAY_GROUPNORM_RSTD];
    float *dgamma = vector_of(s, 0, SLOPE), *dbeta = vector_of(s, 0, OFFSET);
    int64_t n = s->channels / s->groups;
    for (int64_t c = 0; c < s->channels; c++) {
        double gamma = 0, beta = 0;
        for (int64_t unit = 0; unit < s->images * s->parts; unit++) {
            const double *sums = sums_of(s, unit);
            beta += sums[c];
            gamma += sums[s->channels + c] * (double)rstds[unit / s->parts * s->groups + c / n];
        }
        dgamma[c] = (float)gamma;
        dbeta[c] = (float)beta;
    }
    s->body->store[s->kind](dgamma, s->channels, args->out[1]);
    s->body->store[s->kind](dbeta, s->channels, args->out[2]);
}

static void compute(const struct state *s, const struct assay_args *args)
{
    s->body->load[s->kind](args->in[ASSAY_GROUPNORM_OF_GAMMA], s->channels, s->gamma);
    if (s->silu)
        s->body->load[s->kind](args->in[ASSAY_GROUPNORM_OF_BETA], s->channels, s->beta);
    /* The whole team, whatever the number of shares: a smaller one would cost the others their core
     * (native.h). */
    if (s->threads == 1) {
        run_pass(s, args, 0, PASS_BOTH);
    } else if (s->parts == 1) {
#pragma omp parallel for schedule(static, 1)
        for (int32_t t = 0; t < s->threads; t++)
            run_pass(s, args, t, PASS_BOTH);
    } else {
#pragma omp parallel
        for (enum pass pass = PASS_SUMS; pass <= PASS_APPLY; pass++) {
#pragma omp for schedule(static, 1) /* a barrier ends each pass */
            for (int32_t t = 0; t < s->threads; t++)
                run_pass(s, args, t, pass);
        }
    }
    finish(s, args);
}

enum assay_status assay_groupgrad_run(void *state, const struct assay_work *work)
{
    for (int64_t i = 0; i < work->iters; i++)
        compute(state, assay_work_args(work, i));
    return ASSAY_OK;
}
