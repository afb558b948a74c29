/* cross_entropy: over rows of logits [batch, seq, dim] and one class index (s32) a row, the mean of
 * log(sum(exp(x))) - x[class], one number in f32. */
#include "op/common.h"

static void shapes(struct assay_problem *p)
{
    p->n_inputs = 2;
    p->n_outputs = 1;
    p->inputs[0] = assay_op_bsd(p);
    p->inputs[1] = (struct assay_tensor){
        .dtype = ASSAY_DTYPE_S32, .rank = 2, .dims = {p->axes[0], p->axes[1]}};
    p->outputs[0] = assay_op_scalar();
}

static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    if (index == 1)
        assay_tensor_fill_index(&p->inputs[1], data, seed, p->axes[2]);
    else
        assay_tensor_fill_normal(&p->inputs[0], data, seed);
}

static double row_loss(const struct assay_problem *p, const void *const *in, int64_t row)
{
    enum { BLOCK = 512 };
    int64_t length = p->axes[2];
    double values[BLOCK], max = -(double)INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t at = 0; at < length; at += BLOCK) {
            int64_t count = length - at < BLOCK ? length - at : BLOCK;
            assay_op_load_row(p, in, 0, row, at, count, values);
            for (int64_t i = 0; i < count; i++)
                if (pass == 0)
                    max = values[i] > max || isnan(values[i]) ? values[i] : max;
                else
                    sum += exp(values[i] - max);
        }
    double target;
    assay_op_load_row(p, in, 0, row, ((const int32_t *)in[1])[row], 1, &target);
    return log(sum) + max - target;
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    (void)row, (void)first, (void)n;
    int64_t rows = p->axes[0] * p->axes[1];
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (int64_t r = 0; r < rows; r++)
        sum += row_loss(p, in, r);
    out[0] = sum / (double)rows;
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 4);
}

static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    return assay_op_tolerance_reduction(p, assay_tensor_count(&p->inputs[0]), 1);
}

static const char *const aliases[] = {"cross_entropy_loss", "crossentropy", "ce", "loss", NULL};

const struct assay_op assay_op_cross_entropy = {
    .name = "cross_entropy",
    .title = "Cross Entropy Loss",
    .summary = "mean over rows of log(sum(exp(x))) - x[class], one number in f32",
    .aliases = aliases,
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes,
    .fill = fill,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
};
