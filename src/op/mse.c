/* mse: the mean of the squared differences, one number in f32. */
#include "op/common.h"

static void shapes(struct assay_problem *p)
{
    p->n_inputs = 2;
    p->n_outputs = 1;
    p->inputs[0] = p->inputs[1] = assay_op_bsd(p);
    p->outputs[0] = assay_op_scalar();
}

enum { BLOCK = 512 };

static double block_sum(const struct assay_problem *p, const void *const *in, int64_t at, int64_t n)
{
    double x[BLOCK], y[BLOCK], sum = 0;
    assay_dtype_load(p->dtype, in[0], at, n, x);
    assay_dtype_load(p->dtype, in[1], at, n, y);
    for (int64_t i = 0; i < n; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sum;
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    (void)row, (void)first, (void)n;
    int64_t count = assay_tensor_count(&p->inputs[0]);
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (int64_t at = 0; at < count; at += BLOCK)
        sum += block_sum(p, in, at, count - at < BLOCK ? count - at : BLOCK);
    out[0] = sum / (double)count;
}

/* ---- its terms ---- */

static int64_t terms(const struct assay_problem *p) { return assay_tensor_count(&p->inputs[0]); }

static int64_t row(const struct assay_problem *p) { return p->axes[2]; }

static double term(const struct assay_problem *p, const void *const *in, int64_t i,
                   const struct assay_change *change)
{
    double x, y;
    assay_dtype_load(p->dtype, in[0], i, 1, &x);
    assay_dtype_load(p->dtype, in[1], i, 1, &y);
    double difference = (change ? change->value : x) - y;
    return difference * difference;
}

/* A difference of 30,000 keeps x within f16. */
static struct assay_change raise_term(const struct assay_problem *p, const void *const *in,
                                      int64_t i, double value)
{
    double y;
    assay_dtype_load(p->dtype, in[1], i, 1, &y);
    struct assay_change change = {.input = 0, .at = i, .value = y + fmin(sqrt(value), 3e4)};
    return change;
}

static const struct assay_mean mean = {terms, row, term, raise_term};

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 3);
}

static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    return assay_op_tolerance_reduction(p, assay_tensor_count(&p->inputs[0]), 0);
}

static const char *const aliases[] = {"mse_loss", "loss", NULL};

const struct assay_op assay_op_mse = {
    .name = "mse",
    .title = "MSE Loss",
    .summary = "mean((x - y)^2), one number in f32",
    .aliases = aliases,
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .mean = &mean,
    .skeleton = {"mse", NULL, NULL},
    .example = ASSAY_EXAMPLE(1, 2, .in = {{1, 2}, {3, 5}}, .want = {(4 + 9) / 2.0}),
};

/* ---- backward, of x: dx = 2 (x - y) g / n ---------------------------------------------------- */

enum { G, OF_X, OF_Y };

static void shapes_backward(struct assay_problem *p)
{
    p->n_inputs = 3;
    p->n_outputs = 1;
    p->inputs[G] = assay_op_scalar();
    p->inputs[OF_X] = p->inputs[OF_Y] = p->outputs[0] = assay_op_bsd(p);
}

static void fill_backward(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    if (index == G)
        assay_op_fill_loss_gradient(data, seed, assay_tensor_count(&p->inputs[OF_X]));
    else
        assay_tensor_fill_normal(&p->inputs[index], data, seed);
}

static void backward(const struct assay_problem *p, const void *const *in, int64_t row,
                     int64_t first, int64_t n, double *out)
{
    double y[BLOCK], g;
    assay_dtype_load(ASSAY_DTYPE_F32, in[G], 0, 1, &g);
    g *= 2 / (double)assay_tensor_count(&p->inputs[OF_X]);
    assay_op_load_row(p, in, OF_X, row, first, n, out);
    for (int64_t i = 0; i < n; i++) {
        if (i % BLOCK == 0)
            assay_op_load_row(p, in, OF_Y, row, first + i, n - i < BLOCK ? n - i : BLOCK, y);
        out[i] = g * (out[i] - y[i % BLOCK]);
    }
}

static struct assay_cost cost_backward(const struct assay_problem *p)
{
    struct assay_cost c = assay_op_cost_streaming(p, 0);
    c.flops = 2 * (double)assay_tensor_count(&p->outputs[0]);
    return c;
}

/* The difference of two exact values is rounded once. */
static struct assay_tolerance tolerance_backward(const struct assay_problem *p)
{
    return assay_op_tolerance_elementwise(p, 0);
}

static const struct assay_gradient gradient = {
    .pass = ASSAY_PASS_BACKWARD,
    .forward = "mse",
    .in = {{ASSAY_FROM_GRADIENT, 0}, {ASSAY_FROM_INPUT, 0}, {ASSAY_FROM_INPUT, 1}}};

const struct assay_op assay_op_mse_backward = {
    .name = "mse_backward",
    .title = "MSE Loss backward",
    .summary = "dx = 2 (x - y) g / n, where g is the gradient of the loss, one number in f32",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes_backward,
    .fill = fill_backward,
    .reference = backward,
    .cost = cost_backward,
    .tolerance = tolerance_backward,
    .gradient = &gradient,
    .example = ASSAY_EXAMPLE(1, 2, .in = {{3}, {1, 2}, {3, 5}}, .want = {-6, -9}),
};
