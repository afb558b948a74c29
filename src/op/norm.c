/* norm.c: the norms of rows: layernorm, layernorm_gelu and rmsnorm. Each normalises the last axis,
 * then multiplies by gamma (rmsnorm calls it its weight) and, but for rmsnorm, adds beta. The
 * forward pass of training saves the statistics that the gradients (norm_backward.c) take: the mean
 * and 1 / sqrt(var + eps) of each row, or 1 / sqrt(mean(x^2) + eps), in f32. */
#include "op/common.h"
#include "op/node.h"

enum { X, GAMMA, BETA };

static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    assay_op_fill_norm(p, index, data, seed);
    if (index == X)
        assay_op_fill_outliers(&p->inputs[X], data, p->axes[2], 1, seed);
}
enum { BLOCK = 512 };

static void shapes_gamma(struct assay_problem *p)
{
    p->n_inputs = 2;
    p->n_outputs = 1;
    p->inputs[X] = p->outputs[0] = assay_op_bsd(p);
    p->inputs[GAMMA] = assay_op_vector(p, p->axes[2]);
}

static void shapes_gamma_beta(struct assay_problem *p)
{
    shapes_gamma(p);
    p->n_inputs = 3;
    p->inputs[BETA] = p->inputs[GAMMA];
}

/* Behind y what training saves of each row: rmsnorm has no mean. */
static void shapes_saved(struct assay_problem *p)
{
    int64_t rows = assay_op_times(p->axes[0], p->axes[1]);
    p->n_outputs = p->n_inputs; /* gamma and beta, mean and rstd; or the last of them */
    p->outputs[1] = p->outputs[2] = assay_op_saved(p, rows);
}

static void shapes_layernorm_training(struct assay_problem *p)
{
    shapes_gamma_beta(p);
    shapes_saved(p);
}

static void shapes_rmsnorm_training(struct assay_problem *p)
{
    shapes_gamma(p);
    shapes_saved(p);
}

/* Elements [at, at + BLOCK) of a vector, fewer at the end of a row of n from `first` on. */
static void load_vector(const struct assay_problem *p, const void *const *in, int32_t index,
                        int64_t first, int64_t n, int64_t at, double *out)
{
    assay_op_load_row(p, in, index, 0, first + at, n - at < BLOCK ? n - at : BLOCK, out);
}

/* ---- layernorm, and gelu of it ----------------------------------------------------------------
 */

static struct assay_norm norm_of_row(const struct assay_problem *p, const void *const *in,
                                     int64_t row)
{
    struct assay_norm norm = {.eps = p->params[0], .n = p->axes[2]};
    assay_op_row_moments(p, in, row, &norm.mean, &norm.variance);
    return norm;
}

/* `steepness` is how much a function behind the norm may enlarge an error. */
static void normalise(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double steepness, double *out, double *sizes)
{
    double gamma[BLOCK], beta[BLOCK];
    struct assay_norm norm = norm_of_row(p, in, row);
    double mean = norm.mean, scale = 1 / sqrt(norm.variance + norm.eps);
    assay_op_load_row(p, in, X, row, first, n, out);
    for (int64_t i = 0; i < n; i++) {
        if (i % BLOCK == 0) {
            load_vector(p, in, GAMMA, first, n, i, gamma);
            load_vector(p, in, BETA, first, n, i, beta);
        }
        if (sizes)
            sizes[i] =
                steepness * assay_op_norm_size(&norm, out[i], gamma[i % BLOCK], beta[i % BLOCK]);
        out[i] = (out[i] - mean) * scale * gamma[i % BLOCK] + beta[i % BLOCK];
    }
}

static void layernorm_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                           int64_t first, int64_t n, double *out, double *sizes)
{
    normalise(p, in, row, first, n, 1, out, sizes);
}

static void layernorm(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    layernorm_sums(p, in, row, first, n, out, NULL);
}

static void layernorm_gelu_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                                int64_t first, int64_t n, double *out, double *sizes)
{
    normalise(p, in, row, first, n, 1.13, out, sizes);
    for (int64_t i = 0; i < n; i++)
        out[i] = assay_scalar_gelu(out[i]);
}

static void layernorm_gelu(const struct assay_problem *p, const void *const *in, int64_t row,
                           int64_t first, int64_t n, double *out)
{
    layernorm_gelu_sums(p, in, row, first, n, out, NULL);
}

static struct assay_cost cost_layernorm(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 6);
}

static struct assay_cost cost_layernorm_gelu(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 12);
}

static struct assay_tolerance tolerance_layernorm(const struct assay_problem *p)
{
    return assay_op_tolerance_norm(p, p->axes[2]);
}

static struct assay_tolerance tolerance_layernorm_gelu(const struct assay_problem *p)
{
    struct assay_tolerance t = assay_op_tolerance_norm(p, p->axes[2]);
    t.absolute += 0x1p-20; /* erf, where its halves cancel */
    return t;
}

/* 1 2 3: mean 2, variance 2/3, 1 / sqrt(2/3 + 1e-5) = 1.2247356859083902; with gamma 2 1 1 and beta
 * 0 10 -1. The second row 5 5 5 has no variance: beta alone. */
static const struct assay_op_example example_layernorm = {
    .rows = 2,
    .dim = 3,
    .in = {{1, 2, 3, 5, 5, 5}, {2, 1, 1}, {0, 10, -1}},
    .want = {-2 * 1.2247356859083902, 10, 0.2247356859083902, 0, 10, -1}};

/* 1 3: mean 2, variance 1; gamma is sqrt(1.00001), so that this is gelu of -1 and of 1. */
static const struct assay_op_example example_layernorm_gelu = {
    .rows = 1,
    .dim = 2,
    .in = {{1, 3}, {1.0000049999875001, 1.0000049999875001}},
    .want = {-0.15865525393145705, 0.84134474606854293}};

static const struct assay_op_node node_layernorm = {
    .values = 1, .rows_axis = 1, .gain = GAMMA, .unit_weights = true};

const struct assay_op assay_op_layernorm = {
    .name = "layernorm",
    .title = "LayerNorm",
    .summary = "(x - mean) / sqrt(var + eps) * gamma + beta, over dim; eps 1e-5",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"eps"},
    .params = {1e-5},
    .shapes = shapes_gamma_beta,
    .fill = fill,
    .reference = layernorm,
    .reference_sums = layernorm_sums,
    .cost = cost_layernorm,
    .tolerance = tolerance_layernorm,
    .normalised_axes = 2,
    .skeleton = {"layernorm", "value", NULL},
    .node = &node_layernorm,
    .example = &example_layernorm,
};

const struct assay_op assay_op_layernorm_gelu = {
    .name = "layernorm_gelu",
    .title = "LayerNorm+GELU",
    .summary = "gelu(layernorm(x)), fused; eps 1e-5",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"eps"},
    .params = {1e-5},
    .shapes = shapes_gamma_beta,
    .fill = fill,
    .reference = layernorm_gelu,
    .reference_sums = layernorm_gelu_sums,
    .cost = cost_layernorm_gelu,
    .tolerance = tolerance_layernorm_gelu,
    .normalised_axes = 2,
    .skeleton = {"layernorm", "0.5f * value * erfcf(-0.70710678f * value)", NULL},
    .example = &example_layernorm_gelu,
};

/* ---- what training saves of them: outputs 1 and 2, seen as one row ---- */

static void saved_mean(const struct assay_problem *p, const void *const *in, int64_t row,
                       int64_t first, int64_t n, double *out, double *sizes)
{
    (void)row;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        struct assay_norm norm = norm_of_row(p, in, first + i);
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
        struct assay_norm norm = norm_of_row(p, in, first + i);
        out[i] = 1 / sqrt(norm.variance + norm.eps);
        if (sizes)
            sizes[i] = assay_op_norm_rstd_size(&norm);
    }
}

static struct assay_tolerance tolerance_saved(const struct assay_problem *p)
{
    return assay_op_tolerance_statistic(p, p->axes[2]);
}

const struct assay_op assay_op_layernorm_training = {
    .name = "layernorm_training",
    .title = "LayerNorm, saving",
    .summary = "layernorm, and the mean and 1 / sqrt(var + eps) of each row, for the gradient",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"eps"},
    .params = {1e-5},
    .shapes = shapes_layernorm_training,
    .fill = fill,
    .reference = layernorm,
    .reference_sums = layernorm_sums,
    .more = {{.reference_sums = saved_mean, .tolerance = tolerance_saved},
             {.reference_sums = saved_rstd, .tolerance = tolerance_saved}},
    .cost = cost_layernorm,
    .tolerance = tolerance_layernorm,
    .normalised_axes = 2,
    .node = &node_layernorm,
    .example = &example_layernorm,
};

const struct assay_op assay_op_layernorm_gelu_training = {
    .name = "layernorm_gelu_training",
    .title = "LayerNorm+GELU, saving",
    .summary = "layernorm_gelu, and the mean and 1 / sqrt(var + eps) of each row, for the gradient",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"eps"},
    .params = {1e-5},
    .shapes = shapes_layernorm_training,
    .fill = fill,
    .reference = layernorm_gelu,
    .reference_sums = layernorm_gelu_sums,
    .more = {{.reference_sums = saved_mean, .tolerance = tolerance_saved},
             {.reference_sums = saved_rstd, .tolerance = tolerance_saved}},
    .cost = cost_layernorm_gelu,
    .tolerance = tolerance_layernorm_gelu,
    .normalised_axes = 2,
    .example = &example_layernorm_gelu,
};

/* ---- rmsnorm ----------------------------------------------------------------------------------
 */

/* The weight lies around 1, as trained weights do. */
static void fill_rmsnorm(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    assay_tensor_fill_scaled(&p->inputs[index], data, seed, index == GAMMA ? 0.25 : 1,
                             index == GAMMA ? 1 : 0);
    if (index == X)
        assay_op_fill_outliers(&p->inputs[X], data, p->axes[2], 1, seed);
}

static double root_of_row(const struct assay_problem *p, const void *const *in, int64_t row)
{
    struct assay_norm norm = norm_of_row(p, in, row);
    return 1 / sqrt(norm.variance + norm.mean * norm.mean + norm.eps);
}

static void rmsnorm(const struct assay_problem *p, const void *const *in, int64_t row,
                    int64_t first, int64_t n, double *out)
{
    double weight[BLOCK], scale = root_of_row(p, in, row);
    assay_op_load_row(p, in, X, row, first, n, out);
    for (int64_t i = 0; i < n; i++) {
        if (i % BLOCK == 0)
            load_vector(p, in, GAMMA, first, n, i, weight);
        out[i] *= scale * weight[i % BLOCK];
    }
}

static struct assay_cost cost_rmsnorm(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 4);
}

/* The root of a mean is off by half of what the mean is off by. */
static struct assay_tolerance tolerance_rmsnorm(const struct assay_problem *p)
{
    struct assay_tolerance norm = assay_op_tolerance_norm(p, p->axes[2]);
    norm.relative += norm.summed / 2;
    norm.summed = 0;
    return norm;
}

/* 1 2 3: mean square 14/3, 1 / sqrt(14/3 + 1e-5) = 0.46290955391201943. */
static const struct assay_op_example example_rmsnorm = {
    .rows = 1,
    .dim = 3,
    .in = {{1, 2, 3}, {1, 2, -1}},
    .want = {0.46290955391201943, 4 * 0.46290955391201943, -3 * 0.46290955391201943}};

static const struct assay_op_node node_rmsnorm = {.values = 1, .rows_axis = 1, .gain = GAMMA};

const struct assay_op assay_op_rmsnorm = {
    .name = "rmsnorm",
    .title = "RMSNorm",
    .summary = "x / sqrt(mean(x^2) + eps) * weight, over dim; eps 1e-5",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"eps"},
    .params = {1e-5},
    .shapes = shapes_gamma,
    .fill = fill_rmsnorm,
    .reference = rmsnorm,
    .cost = cost_rmsnorm,
    .tolerance = tolerance_rmsnorm,
    .normalised_axes = 2,
    .skeleton = {"rmsnorm", NULL, NULL},
    .node = &node_rmsnorm,
    .example = &example_rmsnorm,
};

static void saved_root(const struct assay_problem *p, const void *const *in, int64_t row,
                       int64_t first, int64_t n, double *out, double *sizes)
{
    (void)row;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        out[i] = root_of_row(p, in, first + i);
        if (sizes)
            sizes[i] = out[i] / 2; /* as in tolerance_rmsnorm */
    }
}

const struct assay_op assay_op_rmsnorm_training = {
    .name = "rmsnorm_training",
    .title = "RMSNorm, saving",
    .summary = "rmsnorm, and 1 / sqrt(mean(x^2) + eps) of each row, for the gradient",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"eps"},
    .params = {1e-5},
    .shapes = shapes_rmsnorm_training,
    .fill = fill_rmsnorm,
    .reference = rmsnorm,
    .more = {{.reference_sums = saved_root, .tolerance = tolerance_saved}},
    .cost = cost_rmsnorm,
    .tolerance = tolerance_rmsnorm,
    .normalised_axes = 2,
    .node = &node_rmsnorm,
    .example = &example_rmsnorm,
};
