/* norm.c: the norms of rows: layernorm, layernorm_gelu and rmsnorm. Each normalises the last axis,
 * then multiplies by gamma (rmsnorm calls it its weight) and, but for rmsnorm, adds beta. Their
 * gradients take the statistics that the forward pass saves: the mean and 1 / sqrt(var + eps) of
 * each row, or 1 / sqrt(mean(x^2) + eps), in f32. */
#include "base/rng.h"
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

/* Elements [at, at + BLOCK) of a vector, fewer at the end of a row of n from `first` on. */
static void load_vector(const struct assay_problem *p, const void *const *in, int32_t index,
                        int64_t first, int64_t n, int64_t at, double *out)
{
    assay_op_load_row(p, in, index, 0, first + at, n - at < BLOCK ? n - at : BLOCK, out);
}

/* ---- layernorm, and gelu of it ----------------------------------------------------------------
 */

/* `steepness` is how much a function behind the norm may enlarge an error. */
static void normalise(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double steepness, double *out, double *sizes)
{
    double mean, variance, gamma[BLOCK], beta[BLOCK];
    assay_op_row_moments(p, in, row, &mean, &variance);
    double scale = 1 / sqrt(variance + p->params[0]);
    struct assay_norm norm = {mean, variance, p->params[0], p->axes[2]};
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

static void rmsnorm(const struct assay_problem *p, const void *const *in, int64_t row,
                    int64_t first, int64_t n, double *out)
{
    double mean, variance, weight[BLOCK];
    assay_op_row_moments(p, in, row, &mean, &variance);
    double scale = 1 / sqrt(variance + mean * mean + p->params[0]);
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

/* ---- backward --------------------------------------------------------------------------------
 *
 * With xhat = (x - mean) rstd and g = dy gamma:
 *     dx = rstd (g - mean(g) - xhat mean(g xhat)), rmsnorm without the mean of g
 *     dgamma = sum of dy xhat over all rows, dbeta = sum of dy
 * rmsnorm has no mean: xhat = x rstd. */

struct backward {
    bool centred; /* layernorm: with mean, and with beta */
    int32_t dy, x, gamma, mean, rstd;
};
static const struct backward layernorm_inputs = {true, 0, 1, 2, 3, 4};
static const struct backward rmsnorm_inputs = {false, 0, 1, 2, -1, 3};

static const struct backward *inputs_of(const struct assay_problem *p)
{
    return p->n_inputs == 5 ? &layernorm_inputs : &rmsnorm_inputs;
}

static void shapes_backward(struct assay_problem *p, bool centred)
{
    int64_t rows = assay_op_times(p->axes[0], p->axes[1]);
    p->n_inputs = centred ? 5 : 4;
    p->n_outputs = centred ? 3 : 2;
    p->inputs[0] = p->inputs[1] = p->outputs[0] = assay_op_bsd(p);
    p->inputs[2] = p->outputs[1] = p->outputs[2] = assay_op_vector(p, p->axes[2]);
    p->inputs[3] = p->inputs[4] = assay_op_saved(p, rows);
}

static void shapes_layernorm_backward(struct assay_problem *p) { shapes_backward(p, true); }
static void shapes_rmsnorm_backward(struct assay_problem *p) { shapes_backward(p, false); }

/* x as layernorm's is filled, but for its outliers. */
static const double X_SCALE = 1, X_SHIFT = 0.5;

static void saved_of_row(const struct assay_problem *p, uint64_t seed, int64_t row, double *mean,
                         double *rstd)
{
    const struct backward *b = inputs_of(p);
    int64_t dim = p->axes[2];
    double sum = 0, square = 0, values[BLOCK];
    *mean = 0;
    for (int pass = b->centred ? 0 : 1; pass < 2; pass++) {
        for (int64_t at = 0; at < dim; at += BLOCK) {
            int64_t n = dim - at < BLOCK ? dim - at : BLOCK;
            assay_tensor_fill_values(p->dtype, seed, X_SCALE, X_SHIFT, row * dim + at, n, values);
            for (int64_t i = 0; i < n; i++) {
                sum += values[i];
                square += (values[i] - *mean) * (values[i] - *mean);
            }
        }
        if (pass == 0) {
            *mean = sum / (double)dim;
            square = 0;
        }
    }
    *rstd = 1 / sqrt(square / (double)dim + p->params[0]);
}

static void fill_backward(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    const struct backward *b = inputs_of(p);
    const struct assay_tensor *t = &p->inputs[index];
    uint64_t own = assay_rng_at(seed, (uint64_t)index), of_x = assay_rng_at(seed, (uint64_t)b->x);
    if (index == b->dy)
        assay_tensor_fill_normal(t, data, own);
    else if (index == b->x)
        assay_tensor_fill_scaled(t, data, own, X_SCALE, X_SHIFT);
    else if (index == b->gamma)
        assay_tensor_fill_scaled(t, data, own, 0.25, 1);
    else {
#pragma omp parallel for schedule(static)
        for (int64_t row = 0; row < t->dims[0]; row++) {
            double mean, rstd;
            saved_of_row(p, of_x, row, &mean, &rstd);
            assay_dtype_store(t->dtype, index == b->mean ? &mean : &rstd, data, row, 1);
        }
    }
}

/* What the forward pass saved of a row. */
static void load_saved(const struct assay_problem *p, const void *const *in, int64_t row,
                       double *mean, double *rstd)
{
    const struct backward *b = inputs_of(p);
    *mean = 0;
    if (b->centred)
        assay_dtype_load(p->inputs[b->mean].dtype, in[b->mean], row, 1, mean);
    assay_dtype_load(p->inputs[b->rstd].dtype, in[b->rstd], row, 1, rstd);
}

/* Of a row: the means of g and of g xhat, and how large the partial sums of both are. */
struct backward_row {
    double mean, rstd; /* saved */
    double g, g_xhat;  /* their means */
    double g_size, g_xhat_size;
};

static struct backward_row look_at_row(const struct assay_problem *p, const void *const *in,
                                       int64_t row)
{
    const struct backward *b = inputs_of(p);
    struct backward_row r;
    double dy[BLOCK], x[BLOCK], gamma[BLOCK], sum[2] = {0}, square[2] = {0};
    double dim = (double)p->axes[2];
    load_saved(p, in, row, &r.mean, &r.rstd);
    for (int64_t at = 0; at < p->axes[2]; at += BLOCK) {
        int64_t n = p->axes[2] - at < BLOCK ? p->axes[2] - at : BLOCK;
        assay_op_load_row(p, in, b->dy, row, at, n, dy);
        assay_op_load_row(p, in, b->x, row, at, n, x);
        assay_op_load_row(p, in, b->gamma, 0, at, n, gamma);
        for (int64_t i = 0; i < n; i++) {
            double g = dy[i] * gamma[i], term = g * (x[i] - r.mean) * r.rstd;
            sum[0] += g;
            square[0] += g * g;
            sum[1] += term;
            square[1] += term * term;
        }
    }
    r.g = b->centred ? sum[0] / dim : 0;
    r.g_size = b->centred ? assay_op_sum_size(sum[0], square[0]) / dim : 0;
    r.g_xhat = sum[1] / dim;
    r.g_xhat_size = assay_op_sum_size(sum[1], square[1]) / dim;
    return r;
}

/* Both means are off by the error of their sums, and what they are subtracted from by 16 units of
 * f32. */
static void backward_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                          int64_t first, int64_t n, double *out, double *sizes)
{
    const struct backward *b = inputs_of(p);
    struct backward_row r = look_at_row(p, in, row);
    double x[BLOCK], gamma[BLOCK];
    double units = 0x1p-20 / assay_op_sum_error(ASSAY_DTYPE_F32, p->axes[2]);
    assay_op_load_row(p, in, b->dy, row, first, n, out);
    for (int64_t i = 0; i < n; i++) {
        if (i % BLOCK == 0) {
            load_vector(p, in, b->gamma, first, n, i, gamma);
            assay_op_load_row(p, in, b->x, row, first + i, n - i < BLOCK ? n - i : BLOCK, x);
        }
        double g = out[i] * gamma[i % BLOCK], xhat = (x[i % BLOCK] - r.mean) * r.rstd;
        double magnitude = (fabs(x[i % BLOCK]) + fabs(r.mean)) * r.rstd; /* of what makes xhat */
        if (sizes)
            sizes[i] = r.rstd * (r.g_size + magnitude * r.g_xhat_size +
                                 units * (fabs(g) + fabs(r.g) + magnitude * fabs(r.g_xhat)));
        out[i] = r.rstd * (g - r.g - xhat * r.g_xhat);
    }
}

static void backward(const struct assay_problem *p, const void *const *in, int64_t row,
                     int64_t first, int64_t n, double *out)
{
    backward_sums(p, in, row, first, n, out, NULL);
}

static struct assay_tolerance tolerance_backward(const struct assay_problem *p)
{
    return assay_op_tolerance_summed(p, assay_op_sum_error(ASSAY_DTYPE_F32, p->axes[2]));
}

/* Sums over all rows of columns [first, first + n), BLOCK of them at most: of dy xhat, or of dy
 * alone. The squares are of what makes the terms, so that the error of xhat counts. */
static void column_block(const struct assay_problem *p, const void *const *in, bool scaled,
                         int64_t first, int64_t n, double *sums, double *sizes)
{
    const struct backward *b = inputs_of(p);
    double sum[BLOCK] = {0}, square[BLOCK] = {0};
#pragma omp parallel for reduction(+ : sum, square) schedule(static)
    for (int64_t row = 0; row < p->inputs[b->rstd].dims[0]; row++) {
        double dy[BLOCK], x[BLOCK], mean = 0, rstd = 1;
        assay_op_load_row(p, in, b->dy, row, first, n, dy);
        if (scaled) {
            load_saved(p, in, row, &mean, &rstd);
            assay_op_load_row(p, in, b->x, row, first, n, x);
        }
        for (int64_t i = 0; i < n; i++) {
            double size = scaled ? dy[i] * (fabs(x[i]) + fabs(mean)) * rstd : dy[i];
            sum[i] += scaled ? dy[i] * (x[i] - mean) * rstd : dy[i];
            square[i] += size * size;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        sums[i] = sum[i];
        if (sizes)
            sizes[i] = assay_op_sum_size(sum[i], square[i]);
    }
}

static void columns(const struct assay_problem *p, const void *const *in, bool scaled,
                    int64_t first, int64_t n, double *out, double *sizes)
{
    for (int64_t at = 0; at < n; at += BLOCK)
        column_block(p, in, scaled, first + at, n - at < BLOCK ? n - at : BLOCK, out + at,
                     sizes ? sizes + at : NULL);
}

static void dgamma(const struct assay_problem *p, const void *const *in, int64_t row, int64_t first,
                   int64_t n, double *out, double *sizes)
{
    (void)row;
    columns(p, in, true, first, n, out, sizes);
}

static void dbeta(const struct assay_problem *p, const void *const *in, int64_t row, int64_t first,
                  int64_t n, double *out, double *sizes)
{
    (void)row;
    columns(p, in, false, first, n, out, sizes);
}

static struct assay_tolerance tolerance_columns(const struct assay_problem *p)
{
    return assay_op_tolerance_summed(p,
                                     assay_op_sum_error(ASSAY_DTYPE_F32, p->axes[0] * p->axes[1]));
}

static struct assay_cost cost_layernorm_backward(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 12);
}

static struct assay_cost cost_rmsnorm_backward(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 9);
}

static const struct assay_gradient gradient_layernorm = {.pass = ASSAY_PASS_BACKWARD,
                                                         .forward = "layernorm",
                                                         .in = {{ASSAY_FROM_GRADIENT, 0},
                                                                {ASSAY_FROM_INPUT, X},
                                                                {ASSAY_FROM_INPUT, GAMMA},
                                                                {ASSAY_FROM_SAVED, 0},
                                                                {ASSAY_FROM_SAVED, 1}},
                                                         .of = {X, GAMMA, BETA}};

/* xhat is -1 1 -1 1: the mean of dy is 2, that of dy xhat 1. */
static const struct assay_op_example example_layernorm_backward = {
    .rows = 1,
    .dim = 4,
    .in = {{2, 4, 0, 2}, {1, 3, 1, 3}, {1, 1, 1, 1}, {2}, {1}},
    .want = {1, 1, -1, -1}};

const struct assay_op assay_op_layernorm_backward = {
    .name = "layernorm_backward",
    .title = "LayerNorm backward",
    .summary = "dx, dgamma and dbeta of layernorm, from the saved mean and 1 / sqrt(var + eps)",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"eps"},
    .params = {1e-5},
    .shapes = shapes_layernorm_backward,
    .fill = fill_backward,
    .fills_together = true,
    .reference = backward,
    .reference_sums = backward_sums,
    .more = {{.reference_sums = dgamma, .tolerance = tolerance_columns},
             {.reference_sums = dbeta, .tolerance = tolerance_columns}},
    .cost = cost_layernorm_backward,
    .tolerance = tolerance_backward,
    .gradient = &gradient_layernorm,
    .example = &example_layernorm_backward,
};

static const struct assay_gradient gradient_rmsnorm = {.pass = ASSAY_PASS_BACKWARD,
                                                       .forward = "rmsnorm",
                                                       .in = {{ASSAY_FROM_GRADIENT, 0},
                                                              {ASSAY_FROM_INPUT, X},
                                                              {ASSAY_FROM_INPUT, GAMMA},
                                                              {ASSAY_FROM_SAVED, 0}},
                                                       .of = {X, GAMMA}};

/* xhat is 1 1 -1 -1: the mean of dy xhat is 1. */
static const struct assay_op_example example_rmsnorm_backward = {
    .rows = 1,
    .dim = 4,
    .in = {{2, 4, 0, 2}, {2, 2, -2, -2}, {1, 1, 1, 1}, {0.5}},
    .want = {0.5, 1.5, 0.5, 1.5}};

const struct assay_op assay_op_rmsnorm_backward = {
    .name = "rmsnorm_backward",
    .title = "RMSNorm backward",
    .summary = "dx and dweight of rmsnorm, from the saved 1 / sqrt(mean(x^2) + eps)",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"eps"},
    .params = {1e-5},
    .shapes = shapes_rmsnorm_backward,
    .fill = fill_backward,
    .fills_together = true,
    .reference = backward,
    .reference_sums = backward_sums,
    .more = {{.reference_sums = dgamma, .tolerance = tolerance_columns}},
    .cost = cost_rmsnorm_backward,
    .tolerance = tolerance_backward,
    .gradient = &gradient_rmsnorm,
    .example = &example_rmsnorm_backward,
};
