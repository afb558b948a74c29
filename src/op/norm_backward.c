/* norm_backward.c: the gradients of the norms of rows (norm.c), from the saved statistics of each
 * row. With xhat = (x - mean) rstd, dz = dy, or dy gelu'(xhat gamma + beta) behind layernorm_gelu,
 * and g = dz gamma:
 *     dx = rstd (g - mean(g) - xhat mean(g xhat)), rmsnorm without the mean of g
 *     dgamma = sum of dz xhat over all rows, dbeta = sum of dz
 * rmsnorm has no mean: xhat = x rstd. */
#include "base/rng.h"
#include "op/common.h"

enum { X, GAMMA, BETA }; /* of the forward ops */
enum { BLOCK = 512 };

/* The inputs of a gradient; -1: it has none such. */
struct backward {
    bool centred; /* layernorm: with mean, and with the gradient of beta */
    int32_t dy, x, gamma, mean, rstd;
    int32_t beta; /* where gelu is behind the norm */
};
static const struct backward layernorm_inputs = {true, 0, 1, 2, 3, 4, -1};
static const struct backward layernorm_gelu_inputs = {true, 0, 1, 2, 3, 4, 5};
static const struct backward rmsnorm_inputs = {false, 0, 1, 2, -1, 3, -1};

static const struct backward *inputs_of(const struct assay_problem *p)
{
    return p->n_inputs == 6   ? &layernorm_gelu_inputs
           : p->n_inputs == 5 ? &layernorm_inputs
                              : &rmsnorm_inputs;
}

static void shapes_backward(struct assay_problem *p, int32_t inputs)
{
    int64_t rows = assay_op_times(p->axes[0], p->axes[1]);
    p->n_inputs = inputs;
    p->n_outputs = inputs == 4 ? 2 : 3;
    p->inputs[0] = p->inputs[1] = p->outputs[0] = assay_op_bsd(p);
    p->inputs[2] = p->outputs[1] = p->outputs[2] = assay_op_vector(p, p->axes[2]);
    p->inputs[3] = p->inputs[4] = assay_op_saved(p, rows);
    p->inputs[5] = p->inputs[2];
}

static void shapes_rmsnorm_backward(struct assay_problem *p) { shapes_backward(p, 4); }
static void shapes_layernorm_backward(struct assay_problem *p) { shapes_backward(p, 5); }
static void shapes_layernorm_gelu_backward(struct assay_problem *p) { shapes_backward(p, 6); }

/* ---- fill ------------------------------------------------------------------------------------ */

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
    else if (index == b->beta)
        assay_tensor_fill_scaled(t, data, own, 0.5, 0);
    else {
#pragma omp parallel for schedule(static)
        for (int64_t row = 0; row < t->dims[0]; row++) {
            double mean, rstd;
            saved_of_row(p, of_x, row, &mean, &rstd);
            assay_dtype_store(t->dtype, index == b->mean ? &mean : &rstd, data, row, 1);
        }
    }
}

/* ---- the reference --------------------------------------------------------------------------- */

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

/* Elements [first, first + n) of a row, BLOCK of them at most: dz, and how large what makes it is.
 * gelu' bends by 0.8 at the most, and it is 1.13 at most. */
struct backward_block {
    double dz[BLOCK], dz_size[BLOCK], x[BLOCK], gamma[BLOCK];
};

static void load_block(const struct assay_problem *p, const void *const *in, int64_t row,
                       int64_t first, int64_t n, struct backward_block *out)
{
    const struct backward *b = inputs_of(p);
    double mean, rstd, beta[BLOCK];
    assay_op_load_row(p, in, b->dy, row, first, n, out->dz);
    assay_op_load_row(p, in, b->x, row, first, n, out->x);
    assay_op_load_row(p, in, b->gamma, 0, first, n, out->gamma);
    for (int64_t i = 0; i < n; i++)
        out->dz_size[i] = fabs(out->dz[i]);
    if (b->beta < 0)
        return;
    load_saved(p, in, row, &mean, &rstd);
    assay_op_load_row(p, in, b->beta, 0, first, n, beta);
    for (int64_t i = 0; i < n; i++) {
        double magnitude = (fabs(out->x[i]) + fabs(mean)) * rstd * fabs(out->gamma[i]);
        out->dz[i] *= assay_scalar_gelu_slope((out->x[i] - mean) * rstd * out->gamma[i] + beta[i]);
        out->dz_size[i] *= 1.13 + 0.8 * (magnitude + fabs(beta[i]));
    }
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
    struct backward_block block;
    double sum[2] = {0}, square[2] = {0}, dim = (double)p->axes[2];
    load_saved(p, in, row, &r.mean, &r.rstd);
    for (int64_t at = 0; at < p->axes[2]; at += BLOCK) {
        int64_t n = p->axes[2] - at < BLOCK ? p->axes[2] - at : BLOCK;
        load_block(p, in, row, at, n, &block);
        for (int64_t i = 0; i < n; i++) {
            double g = block.dz[i] * block.gamma[i], xhat = (block.x[i] - r.mean) * r.rstd;
            double size = block.dz_size[i] * block.gamma[i];
            sum[0] += g;
            square[0] += size * size;
            sum[1] += g * xhat;
            square[1] += size * xhat * size * xhat;
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
    struct backward_row r = look_at_row(p, in, row);
    struct backward_block block;
    double units = 0x1p-20 / assay_op_sum_error(ASSAY_DTYPE_F32, p->axes[2]);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i % BLOCK;
        if (k == 0)
            load_block(p, in, row, first + i, n - i < BLOCK ? n - i : BLOCK, &block);
        double g = block.dz[k] * block.gamma[k], xhat = (block.x[k] - r.mean) * r.rstd;
        double magnitude = (fabs(block.x[k]) + fabs(r.mean)) * r.rstd; /* of what makes xhat */
        if (sizes)
            sizes[i] = r.rstd * (r.g_size + magnitude * r.g_xhat_size +
                                 units * (block.dz_size[k] * fabs(block.gamma[k]) + fabs(r.g) +
                                          magnitude * fabs(r.g_xhat)));
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

/* Sums over all rows of columns [first, first + n), BLOCK of them at most: of dz xhat, or of dz
 * alone. The squares are of what makes the terms, so that the error of xhat counts. */
static void column_block(const struct assay_problem *p, const void *const *in, bool scaled,
                         int64_t first, int64_t n, double *sums, double *sizes)
{
    const struct backward *b = inputs_of(p);
    double sum[BLOCK] = {0}, square[BLOCK] = {0};
#pragma omp parallel for reduction(+ : sum, square) schedule(static)
    for (int64_t row = 0; row < p->inputs[b->rstd].dims[0]; row++) {
        struct backward_block block;
        double mean, rstd;
        load_saved(p, in, row, &mean, &rstd);
        load_block(p, in, row, first, n, &block);
        for (int64_t i = 0; i < n; i++) {
            double xhat = scaled ? (block.x[i] - mean) * rstd : 1;
            double magnitude = scaled ? (fabs(block.x[i]) + fabs(mean)) * rstd : 1;
            double size = block.dz_size[i] * magnitude;
            sum[i] += block.dz[i] * xhat;
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

static struct assay_cost cost_layernorm_gelu_backward(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 24);
}

/* ---- the ops --------------------------------------------------------------------------------- */

static const struct assay_gradient gradient_layernorm = {.pass = ASSAY_PASS_BACKWARD,
                                                         .forward = "layernorm",
                                                         .training = "layernorm_training",
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

static const struct assay_gradient gradient_layernorm_gelu = {.pass = ASSAY_PASS_BACKWARD,
                                                              .forward = "layernorm_gelu",
                                                              .training = "layernorm_gelu_training",
                                                              .in = {{ASSAY_FROM_GRADIENT, 0},
                                                                     {ASSAY_FROM_INPUT, X},
                                                                     {ASSAY_FROM_INPUT, GAMMA},
                                                                     {ASSAY_FROM_SAVED, 0},
                                                                     {ASSAY_FROM_SAVED, 1},
                                                                     {ASSAY_FROM_INPUT, BETA}},
                                                              .of = {X, GAMMA, BETA}};

/* As layernorm's, with beta = -xhat: the slope of gelu at 0 is 1 / 2. */
static const struct assay_op_example example_layernorm_gelu_backward = {
    .rows = 1,
    .dim = 4,
    .in = {{2, 4, 0, 2}, {1, 3, 1, 3}, {1, 1, 1, 1}, {2}, {1}, {1, -1, 1, -1}},
    .want = {0.5, 0.5, -0.5, -0.5}};

const struct assay_op assay_op_layernorm_gelu_backward = {
    .name = "layernorm_gelu_backward",
    .title = "LayerNorm+GELU backward",
    .summary = "dx, dgamma and dbeta of gelu(layernorm(x)), from the saved mean and "
               "1 / sqrt(var + eps)",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"eps"},
    .params = {1e-5},
    .shapes = shapes_layernorm_gelu_backward,
    .fill = fill_backward,
    .fills_together = true,
    .reference = backward,
    .reference_sums = backward_sums,
    .more = {{.reference_sums = dgamma, .tolerance = tolerance_columns},
             {.reference_sums = dbeta, .tolerance = tolerance_columns}},
    .cost = cost_layernorm_gelu_backward,
    .tolerance = tolerance_backward,
    .gradient = &gradient_layernorm_gelu,
    .example = &example_layernorm_gelu_backward,
};

static const struct assay_gradient gradient_rmsnorm = {.pass = ASSAY_PASS_BACKWARD,
                                                       .forward = "rmsnorm",
                                                       .training = "rmsnorm_training",
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
