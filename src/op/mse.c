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
