/* groupnorm: normalises each group of channels over a whole image, then gamma and beta, then silu
 * where the mode says so. Channels are last. */
#include "op/groupnorm.h"

#include "base/alloc.h"
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

/* Channels [first, first + n) of an image, held in double: normalised. `vectors` are gamma and, one
 * behind the other, beta; `sizes` may be NULL. */
static void normalise(const struct assay_problem *p, const double *vectors, double *image,
                      double *sizes, int64_t first, int64_t n)
{
    int64_t pixels = pixels_of(p), channels = axis(p, ASSAY_GROUPNORM_CHANNELS);
    double sum = 0, square = 0, count = (double)(pixels * n);
    for (int64_t i = 0; i < pixels; i++)
        for (int64_t c = first; c < first + n; c++)
            sum += image[i * channels + c];
    double mean = sum / count;
    for (int64_t i = 0; i < pixels; i++)
        for (int64_t c = first; c < first + n; c++) {
            double off = image[i * channels + c] - mean;
            square += off * off;
        }
    double scale = 1 / sqrt(square / count + p->params[ASSAY_GROUPNORM_EPS]);
    struct assay_norm norm = {mean, square / count, p->params[ASSAY_GROUPNORM_EPS], pixels * n};
    for (int64_t i = 0; i < pixels; i++)
        for (int64_t c = first; c < first + n; c++) {
            double *value = &image[i * channels + c];
            if (sizes) /* silu is no steeper than 1.1 */
                sizes[i * channels + c] =
                    1.1 * assay_op_norm_size(&norm, *value, vectors[c], vectors[channels + c]);
            *value = (*value - mean) * scale;
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
        normalise(p, vectors, out + i / groups * size, sizes ? sizes + i / groups * size : NULL,
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
