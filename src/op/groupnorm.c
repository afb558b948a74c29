/* groupnorm: normalises each group of channels over a whole image, then gamma and beta, then silu
 * where the mode says so. Channels are last. Its gradient takes the mean and 1 / sqrt(var + eps) of
 * each image and group, which the forward pass saves in f32. */
#include "op/groupnorm.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/text.h"
#include "op/common.h"

enum { X, GAMMA, BETA };

static int64_t axis(const struct assay_problem *p, int i) { return p->axes[i]; }

static int64_t pixels_of(const struct assay_problem *p)
{
    return axis(p, ASSAY_GROUPNORM_HEIGHT) * axis(p, ASSAY_GROUPNORM_WIDTH);
}

static enum assay_status check(const struct assay_problem *p, struct assay_error *err)
{
    int64_t channels = axis(p, ASSAY_GROUPNORM_CHANNELS), groups = axis(p, ASSAY_GROUPNORM_GROUPS);
    if (channels % groups == 0)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, "groupnorm",
                           "%lld channels cannot be divided into %lld groups", (long long)channels,
                           (long long)groups);
}

static void shapes(struct assay_problem *p)
{
    p->n_inputs = 3;
    p->n_outputs = 1;
    p->inputs[X] = p->outputs[0] = (struct assay_tensor){
        .dtype = p->dtype,
        .rank = 4,
        .dims = {axis(p, ASSAY_GROUPNORM_BATCH), axis(p, ASSAY_GROUPNORM_HEIGHT),
                 axis(p, ASSAY_GROUPNORM_WIDTH), axis(p, ASSAY_GROUPNORM_CHANNELS)}};
    p->inputs[GAMMA] = p->inputs[BETA] = assay_op_vector(p, axis(p, ASSAY_GROUPNORM_CHANNELS));
}

/* Behind y the statistics of each image and group. */
static void shapes_training(struct assay_problem *p)
{
    shapes(p);
    p->n_outputs = 3;
    p->outputs[1] = p->outputs[2] = assay_op_saved(
        p, assay_op_times(axis(p, ASSAY_GROUPNORM_BATCH), axis(p, ASSAY_GROUPNORM_GROUPS)));
}

static enum assay_status set_mode(struct assay_problem *p, const char *mode,
                                  struct assay_error *err)
{
    bool silu = assay_text_same(mode, "silu");
    if (mode[0] && !silu && !assay_text_same(mode, "none"))
        return assay_error_set(err, ASSAY_ERR_INVALID, "groupnorm",
                               "unknown mode \"%.100s\"; the modes are none and silu", mode);
    p->params[ASSAY_GROUPNORM_SILU] = silu;
    return ASSAY_OK;
}

/* ---- the reference, an image at a time --------------------------------------------------------
 */

static int64_t row_block(const struct assay_problem *p) { return pixels_of(p); }

/* Mean and variance of group `number` of all images. */
static struct assay_norm norm_of_group(const struct assay_problem *p, const void *const *in,
                                       int64_t number)
{
    int64_t groups = axis(p, ASSAY_GROUPNORM_GROUPS), pixels = pixels_of(p);
    int64_t n = axis(p, ASSAY_GROUPNORM_CHANNELS) / groups, first = number % groups * n;
    double values[ASSAY_FILL_BLOCK], sum = 0, square = 0, count = (double)(pixels * n);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < pixels; i++)
            for (int64_t at = 0; at < n; at += ASSAY_FILL_BLOCK) {
                int64_t part = n - at < ASSAY_FILL_BLOCK ? n - at : ASSAY_FILL_BLOCK;
                assay_op_load_row(p, in, X, number / groups * pixels + i, first + at, part, values);
                for (int64_t c = 0; c < part && pass == 0; c++)
                    sum += values[c];
                for (int64_t c = 0; c < part && pass == 1; c++)
                    square += (values[c] - sum / count) * (values[c] - sum / count);
            }
    return (struct assay_norm){sum / count, square / count, p->params[ASSAY_GROUPNORM_EPS],
                               pixels * n};
}

/* Channels [first, first + n) of an image, held in double: normalised. `vectors` are gamma and, one
 * behind the other, beta; `sizes` may be NULL. */
static void normalise(const struct assay_problem *p, struct assay_norm norm, const double *vectors,
                      double *image, double *sizes, int64_t first, int64_t n)
{
    int64_t pixels = pixels_of(p), channels = axis(p, ASSAY_GROUPNORM_CHANNELS);
    double scale = 1 / sqrt(norm.variance + norm.eps);
    for (int64_t i = 0; i < pixels; i++)
        for (int64_t c = first; c < first + n; c++) {
            double *value = &image[i * channels + c];
            if (sizes) /* silu is no steeper than 1.1 */
                sizes[i * channels + c] =
                    1.1 * assay_op_norm_size(&norm, *value, vectors[c], vectors[channels + c]);
            *value = (*value - norm.mean) * scale;
        }
}

static double finish(const struct assay_problem *p, double value, double gamma, double beta)
{
    double y = value * gamma + beta;
    return p->params[ASSAY_GROUPNORM_SILU] != 0 ? y * assay_scalar_sigmoid(y) : y;
}

static enum assay_status reference_blocks(const struct assay_problem *p, const void *const *in,
                                          const int64_t *blocks, int64_t n, double *out,
                                          double *sizes, struct assay_error *err)
{
    int64_t pixels = pixels_of(p), channels = axis(p, ASSAY_GROUPNORM_CHANNELS);
    int64_t groups = axis(p, ASSAY_GROUPNORM_GROUPS), size = pixels * channels;
    double *vectors = assay_calloc((size_t)(2 * channels), sizeof *vectors);
    if (!vectors)
        return assay_error_nomem(err);
    assay_op_load_row(p, in, GAMMA, 0, 0, channels, vectors);
    assay_op_load_row(p, in, BETA, 0, 0, channels, vectors + channels);
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t row = 0; row < n * pixels; row++)
        assay_op_load_row(p, in, X, blocks[row / pixels] * pixels + row % pixels, 0, channels,
                          out + row * channels);
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t i = 0; i < n * groups; i++)
        normalise(p, norm_of_group(p, in, blocks[i / groups] * groups + i % groups), vectors,
                  out + i / groups * size, sizes ? sizes + i / groups * size : NULL,
                  i % groups * (channels / groups), channels / groups);
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t row = 0; row < n * pixels; row++)
        for (int64_t c = 0; c < channels; c++)
            out[row * channels + c] =
                finish(p, out[row * channels + c], vectors[c], vectors[channels + c]);
    assay_free(vectors);
    return ASSAY_OK;
}

static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    assay_op_fill_norm(p, index, data, seed);
    if (index == X)
        assay_op_fill_outliers(&p->inputs[X], data,
                               pixels_of(p) * axis(p, ASSAY_GROUPNORM_CHANNELS),
                               axis(p, ASSAY_GROUPNORM_GROUPS), seed);
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, p->params[ASSAY_GROUPNORM_SILU] != 0 ? 11 : 6);
}

static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    int64_t group = axis(p, ASSAY_GROUPNORM_CHANNELS) / axis(p, ASSAY_GROUPNORM_GROUPS);
    struct assay_tolerance t = assay_op_tolerance_norm(p, pixels_of(p) * group);
    t.absolute += p->params[ASSAY_GROUPNORM_SILU] != 0 ? 0x1p-20 : 0;
    return t;
}

/* ---- what training saves: outputs 1 and 2, seen as one row ---- */

static void saved_mean(const struct assay_problem *p, const void *const *in, int64_t row,
                       int64_t first, int64_t n, double *out, double *sizes)
{
    (void)row;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        struct assay_norm norm = norm_of_group(p, in, first + i);
        out[i] = norm.mean;
        if (sizes)
            sizes[i] = assay_op_norm_mean_size(&norm);
    }
}

static void saved_rstd(const struct assay_problem *p, const void *const *in, int64_t row,
                       int64_t first, int64_t n, double *out, double *sizes)
{
    (void)row;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        struct assay_norm norm = norm_of_group(p, in, first + i);
        out[i] = 1 / sqrt(norm.variance + norm.eps);
        if (sizes)
            sizes[i] = assay_op_norm_rstd_size(&norm);
    }
}

static struct assay_tolerance tolerance_saved(const struct assay_problem *p)
{
    int64_t group = axis(p, ASSAY_GROUPNORM_CHANNELS) / axis(p, ASSAY_GROUPNORM_GROUPS);
    return assay_op_tolerance_statistic(p, pixels_of(p) * group);
}

/* ---- in a model ------------------------------------------------------------------------------ */

static const struct assay_absorbed absorbs[] = {{"silu", ASSAY_GROUPNORM_SILU, 1, 0, false, NULL},
                                                {0}};

static const struct assay_op_node node = {
    .values = 1,
    .keys = {{"batch", 0}, {"height", 0}, {"width", 0}, {"groups", 0}},
    .has_mode = true,
    .axes = assay_node_image_axes,
    .rows_axis = ASSAY_GROUPNORM_BATCH,
    .mixes_rows = true,
    .gain = GAMMA,
    .absorbs = absorbs,
};

const struct assay_op assay_op_groupnorm = {
    .name = "groupnorm",
    .title = "GroupNorm",
    .summary = "(x - mean) / sqrt(var + eps) * gamma + beta, over groups of channels of an image; "
               "channels last, eps 1e-5",
    .axis_names = {"batch", "height", "width", "channels", "groups"},
    .param_names = {"eps", "silu"},
    .params = {1e-5},
    .shapes = shapes,
    .fill = fill,
    .cost = cost,
    .tolerance = tolerance,
    .normalised_axes = 1,
    .modes = "silu (of the answer)",
    .set_mode = set_mode,
    .check = check,
    .row_block = row_block,
    .reference_blocks = reference_blocks,
    .usual_shapes = "4x64x64x256x32",
    .sample_shapes = "1x14x14x64x8,4x32x32x128x32,1x27x25x96x32",
    .size_words = "batch, height, width, channels, groups",
    .help = "groupnorm takes @ORDER@, @SHAPES@ where not given.",
    .skeleton = {"groupnorm", NULL, "1x16x16x32x8, 2x5x7x6x3"},
    .node = &node,
};

const struct assay_op assay_op_groupnorm_training = {
    .name = "groupnorm_training",
    .title = "GroupNorm, saving",
    .summary = "groupnorm, and the mean and 1 / sqrt(var + eps) of each image and group, for the "
               "gradient",
    .axis_names = {"batch", "height", "width", "channels", "groups"},
    .param_names = {"eps", "silu"},
    .params = {1e-5},
    .shapes = shapes_training,
    .fill = fill,
    .cost = cost,
    .tolerance = tolerance,
    .more = {{.reference_sums = saved_mean, .tolerance = tolerance_saved},
             {.reference_sums = saved_rstd, .tolerance = tolerance_saved}},
    .normalised_axes = 1,
    .modes = "silu (of the answer)",
    .set_mode = set_mode,
    .check = check,
    .row_block = row_block,
    .reference_blocks = reference_blocks,
    .usual_shapes = "4x64x64x256x32",
    .sample_shapes = "1x14x14x64x8,4x32x32x128x32,1x27x25x96x32",
    .size_words = "batch, height, width, channels, groups",
    .help = "",
    .node = &node,
};

/* ---- backward ---------------------------------------------------------------------------------
 *
 * With xhat = (x - mean) rstd, dz = dy silu'(xhat gamma + beta), or dy without silu, g = dz gamma,
 * and means over an image's group:
 *     dx = rstd (g - mean(g) - xhat mean(g xhat))
 *     dgamma = sum of dz xhat over all images and pixels, dbeta = sum of dz */

static void shapes_backward(struct assay_problem *p)
{
    shapes(p);
    struct assay_tensor image = p->inputs[X], vector = p->inputs[GAMMA];
    int64_t groups =
        assay_op_times(axis(p, ASSAY_GROUPNORM_BATCH), axis(p, ASSAY_GROUPNORM_GROUPS));
    p->n_inputs = p->params[ASSAY_GROUPNORM_SILU] != 0 ? 6 : 5;
    p->n_outputs = 3;
    p->inputs[ASSAY_GROUPNORM_DY] = p->inputs[ASSAY_GROUPNORM_OF_X] = p->outputs[0] = image;
    p->inputs[ASSAY_GROUPNORM_OF_GAMMA] = p->outputs[1] = p->outputs[2] = vector;
    p->inputs[ASSAY_GROUPNORM_MEAN] = p->inputs[ASSAY_GROUPNORM_RSTD] = assay_op_saved(p, groups);
    p->inputs[ASSAY_GROUPNORM_OF_BETA] = vector;
}

/* ---- its fill ---- */

/* x as the forward op's is filled, but for its outliers. */
static const double X_SCALE = 1, X_SHIFT = 0.5;

/* Of group `number` of all images. */
static void saved_of_group(const struct assay_problem *p, uint64_t seed, int64_t number,
                           double *mean, double *rstd)
{
    int64_t groups = axis(p, ASSAY_GROUPNORM_GROUPS), pixels = pixels_of(p);
    int64_t channels = axis(p, ASSAY_GROUPNORM_CHANNELS), n = channels / groups;
    int64_t start = number / groups * pixels * channels + number % groups * n;
    double values[ASSAY_FILL_BLOCK], sum = 0, square = 0, count = (double)(pixels * n);
    for (int64_t pixel = 0; pixel < pixels; pixel++)
        for (int64_t at = 0; at < n; at += ASSAY_FILL_BLOCK) {
            int64_t part = n - at < ASSAY_FILL_BLOCK ? n - at : ASSAY_FILL_BLOCK;
            assay_tensor_fill_values(p->dtype, seed, X_SCALE, X_SHIFT,
                                     start + pixel * channels + at, part, values);
            for (int64_t i = 0; i < part; i++) {
                sum += values[i];
                square += values[i] * values[i];
            }
        }
    *mean = sum / count;
    *rstd = 1 / sqrt(fmax(square / count - *mean * *mean, 0) + p->params[ASSAY_GROUPNORM_EPS]);
}

static void fill_backward(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    static const double scales[] = {1, 1, 0.25, 0, 0, 0.5}, shifts[] = {0, 0.5, 1, 0, 0, 0};
    const struct assay_tensor *t = &p->inputs[index];
    uint64_t of_x = assay_rng_at(seed, ASSAY_GROUPNORM_OF_X);
    if (index != ASSAY_GROUPNORM_MEAN && index != ASSAY_GROUPNORM_RSTD) {
        assay_tensor_fill_scaled(t, data, assay_rng_at(seed, (uint64_t)index), scales[index],
                                 shifts[index]);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < t->dims[0]; i++) {
        double mean, rstd;
        saved_of_group(p, of_x, i, &mean, &rstd);
        assay_dtype_store(t->dtype, index == ASSAY_GROUPNORM_MEAN ? &mean : &rstd, data, i, 1);
    }
}

/* ---- its reference ---- */

/* What the gradient of an element is computed from. */
struct element {
    double dz, xhat;
    double dz_size, xhat_size; /* of what makes them */
};

/* silu' bends by 0.5 at the most, so that an error of its argument is halved; it is 1.1 at most. */
static struct element element_of(const struct assay_problem *p, const void *const *in,
                                 int64_t number, int64_t at, int64_t channel)
{
    double dy, x, mean, rstd, gamma, beta;
    struct element e;
    assay_dtype_load(p->dtype, in[ASSAY_GROUPNORM_DY], at, 1, &dy);
    assay_dtype_load(p->dtype, in[ASSAY_GROUPNORM_OF_X], at, 1, &x);
    assay_dtype_load(p->inputs[ASSAY_GROUPNORM_MEAN].dtype, in[ASSAY_GROUPNORM_MEAN], number, 1,
                     &mean);
    assay_dtype_load(p->inputs[ASSAY_GROUPNORM_RSTD].dtype, in[ASSAY_GROUPNORM_RSTD], number, 1,
                     &rstd);
    e.xhat = (x - mean) * rstd;
    e.xhat_size = (fabs(x) + fabs(mean)) * rstd;
    e.dz = dy;
    e.dz_size = fabs(dy);
    if (p->params[ASSAY_GROUPNORM_SILU] != 0) {
        assay_dtype_load(p->dtype, in[ASSAY_GROUPNORM_OF_GAMMA], channel, 1, &gamma);
        assay_dtype_load(p->dtype, in[ASSAY_GROUPNORM_OF_BETA], channel, 1, &beta);
        double y = e.xhat * gamma + beta, s = assay_scalar_sigmoid(y);
        e.dz *= s * (1 + y * (1 - s));
        e.dz_size *= 1.1 + 0.5 * (e.xhat_size * fabs(gamma) + fabs(beta));
    }
    return e;
}

/* A group of an image: where it is, and its means of g and g xhat with the sizes of their sums. */
struct group {
    int64_t number, start, first, n; /* its first element and channel, and how many channels */
    double rstd, g, g_xhat, g_size, g_xhat_size;
};

static struct group look_at_group(const struct assay_problem *p, const void *const *in,
                                  int64_t number, const double *gamma)
{
    int64_t groups = axis(p, ASSAY_GROUPNORM_GROUPS), pixels = pixels_of(p);
    int64_t channels = axis(p, ASSAY_GROUPNORM_CHANNELS), n = channels / groups;
    struct group out = {.number = number, .first = number % groups * n, .n = n};
    double square[2] = {0}, count = (double)(pixels * n);
    out.start = number / groups * pixels * channels + out.first;
    assay_dtype_load(p->inputs[ASSAY_GROUPNORM_RSTD].dtype, in[ASSAY_GROUPNORM_RSTD], number, 1,
                     &out.rstd);
    for (int64_t i = 0; i < pixels * n; i++) {
        int64_t channel = out.first + i % n;
        struct element e = element_of(p, in, number, out.start + i / n * channels + i % n, channel);
        double size = e.dz_size * gamma[channel];
        out.g += e.dz * gamma[channel];
        out.g_xhat += e.dz * gamma[channel] * e.xhat;
        square[0] += size * size;
        square[1] += size * size * e.xhat_size * e.xhat_size;
    }
    out.g_size = assay_op_sum_size(out.g, square[0]) / count;
    out.g_xhat_size = assay_op_sum_size(out.g_xhat, square[1]) / count;
    out.g /= count;
    out.g_xhat /= count;
    return out;
}

/* As in norm.c: both means are off by the error of their sums, and what they are subtracted from by
 * 16 units of f32. `out` and `sizes` are the image's. */
static void backward_group(const struct assay_problem *p, const void *const *in, int64_t number,
                           const double *gamma, double *out, double *sizes)
{
    struct group r = look_at_group(p, in, number, gamma);
    int64_t channels = axis(p, ASSAY_GROUPNORM_CHANNELS), pixels = pixels_of(p);
    double units = 0x1p-20 / assay_op_sum_error(ASSAY_DTYPE_F32, pixels * r.n);
    for (int64_t i = 0; i < pixels * r.n; i++) {
        int64_t channel = r.first + i % r.n, of_image = i / r.n * channels + channel;
        struct element e = element_of(p, in, number, r.start - r.first + of_image, channel);
        if (sizes)
            sizes[of_image] = r.rstd * (r.g_size + e.xhat_size * r.g_xhat_size +
                                        units * (e.dz_size * fabs(gamma[channel]) + fabs(r.g) +
                                                 e.xhat_size * fabs(r.g_xhat)));
        out[of_image] = r.rstd * (e.dz * gamma[channel] - r.g - e.xhat * r.g_xhat);
    }
}

static enum assay_status backward_blocks(const struct assay_problem *p, const void *const *in,
                                         const int64_t *blocks, int64_t n, double *out,
                                         double *sizes, struct assay_error *err)
{
    int64_t groups = axis(p, ASSAY_GROUPNORM_GROUPS), channels = axis(p, ASSAY_GROUPNORM_CHANNELS);
    int64_t size = pixels_of(p) * channels;
    double *gamma = assay_calloc((size_t)channels, sizeof *gamma);
    if (!gamma)
        return assay_error_nomem(err);
    assay_op_load_row(p, in, ASSAY_GROUPNORM_OF_GAMMA, 0, 0, channels, gamma);
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t i = 0; i < n * groups; i++)
        backward_group(p, in, blocks[i / groups] * groups + i % groups, gamma,
                       out + i / groups * size, sizes ? sizes + i / groups * size : NULL);
    assay_free(gamma);
    return ASSAY_OK;
}

static void channel_sums(const struct assay_problem *p, const void *const *in, bool scaled,
                         int64_t channel, double *out, double *size)
{
    int64_t groups = axis(p, ASSAY_GROUPNORM_GROUPS), channels = axis(p, ASSAY_GROUPNORM_CHANNELS);
    int64_t pixels = pixels_of(p), group = channel / (channels / groups);
    double sum = 0, square = 0;
#pragma omp parallel for reduction(+ : sum, square) schedule(static)
    for (int64_t i = 0; i < axis(p, ASSAY_GROUPNORM_BATCH) * pixels; i++) {
        struct element e =
            element_of(p, in, i / pixels * groups + group, i * channels + channel, channel);
        double one = scaled ? e.dz_size * e.xhat_size : e.dz_size;
        sum += scaled ? e.dz * e.xhat : e.dz;
        square += one * one;
    }
    *out = sum;
    if (size)
        *size = assay_op_sum_size(sum, square);
}

static void dgamma(const struct assay_problem *p, const void *const *in, int64_t row, int64_t first,
                   int64_t n, double *out, double *sizes)
{
    (void)row;
    for (int64_t i = 0; i < n; i++)
        channel_sums(p, in, true, first + i, &out[i], sizes ? &sizes[i] : NULL);
}

static void dbeta(const struct assay_problem *p, const void *const *in, int64_t row, int64_t first,
                  int64_t n, double *out, double *sizes)
{
    (void)row;
    for (int64_t i = 0; i < n; i++)
        channel_sums(p, in, false, first + i, &out[i], sizes ? &sizes[i] : NULL);
}

static struct assay_cost cost_backward(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, p->params[ASSAY_GROUPNORM_SILU] != 0 ? 22 : 12);
}

static struct assay_tolerance tolerance_backward(const struct assay_problem *p)
{
    int64_t group = axis(p, ASSAY_GROUPNORM_CHANNELS) / axis(p, ASSAY_GROUPNORM_GROUPS);
    return assay_op_tolerance_summed(p, assay_op_sum_error(ASSAY_DTYPE_F32, pixels_of(p) * group));
}

static struct assay_tolerance tolerance_channels(const struct assay_problem *p)
{
    int64_t n = axis(p, ASSAY_GROUPNORM_BATCH) * pixels_of(p);
    return assay_op_tolerance_summed(p, assay_op_sum_error(ASSAY_DTYPE_F32, n));
}

static const struct assay_gradient gradient = {.pass = ASSAY_PASS_BACKWARD,
                                               .forward = "groupnorm",
                                               .training = "groupnorm_training",
                                               .in = {{ASSAY_FROM_GRADIENT, 0},
                                                      {ASSAY_FROM_INPUT, X},
                                                      {ASSAY_FROM_INPUT, GAMMA},
                                                      {ASSAY_FROM_SAVED, 0},
                                                      {ASSAY_FROM_SAVED, 1},
                                                      {ASSAY_FROM_INPUT, BETA}},
                                               .of = {X, GAMMA, BETA}};

const struct assay_op assay_op_groupnorm_backward = {
    .name = "groupnorm_backward",
    .title = "GroupNorm backward",
    .summary = "dx, dgamma and dbeta of groupnorm, from the saved mean and 1 / sqrt(var + eps) of "
               "each image and group",
    .axis_names = {"batch", "height", "width", "channels", "groups"},
    .param_names = {"eps", "silu"},
    .params = {1e-5},
    .shapes = shapes_backward,
    .fill = fill_backward,
    .fills_together = true,
    .cost = cost_backward,
    .tolerance = tolerance_backward,
    .more = {{.reference_sums = dgamma, .tolerance = tolerance_channels},
             {.reference_sums = dbeta, .tolerance = tolerance_channels}},
    .modes = "silu (of the answer)",
    .set_mode = set_mode,
    .check = check,
    .row_block = row_block,
    .reference_blocks = backward_blocks,
    .usual_shapes = "4x64x64x256x32",
    .sample_shapes = "1x14x14x64x8,4x32x32x128x32,1x27x25x96x32",
    .size_words = "batch, height, width, channels, groups",
    .help = "",
    .gradient = &gradient,
};
