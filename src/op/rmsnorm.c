/* rmsnorm: x over its root mean square along the last axis, times a weight. */
#include "op/common.h"

static void shapes(struct assay_problem *p)
{
    p->n_inputs = 2;
    p->n_outputs = 1;
    p->inputs[0] = p->outputs[0] = assay_op_bsd(p);
    p->inputs[1] = assay_op_vector(p, p->axes[2]);
}

/* The weight lies around 1, as trained weights do. */
static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    assay_tensor_fill_scaled(&p->inputs[index], data, seed, index == 1 ? 0.25 : 1,
                             index == 1 ? 1 : 0);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    enum { BLOCK = 512 };
    double mean, variance, weight[BLOCK];
    assay_op_row_moments(p, in, row, &mean, &variance);
    double scale = 1 / sqrt(variance + mean * mean + p->params[0]);
    assay_op_load_row(p, in, 0, row, first, n, out);
    for (int64_t i = 0; i < n; i++) {
        if (i % BLOCK == 0)
            assay_op_load_row(p, in, 1, 0, first + i, n - i < BLOCK ? n - i : BLOCK, weight);
        out[i] *= scale * weight[i % BLOCK];
    }
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 4);
}

/* The root of a mean is off by half of what the mean is off by. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    struct assay_tolerance norm = assay_op_tolerance_norm(p, p->axes[2]);
    norm.relative += norm.summed / 2;
    norm.summed = 0;
    return norm;
}

const struct assay_op assay_op_rmsnorm = {
    .name = "rmsnorm",
    .title = "RMSNorm",
    .summary = "x / sqrt(mean(x^2) + eps) * weight, over dim; eps 1e-5",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"eps"},
    .params = {1e-5},
    .shapes = shapes,
    .fill = fill,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .normalised_axes = 2,
};
