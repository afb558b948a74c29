/* softmax: over the last axis, shifted by the row's maximum. */
#include "op/common.h"

static void shapes(struct assay_problem *p)
{
    p->n_inputs = 1;
    p->n_outputs = 1;
    p->inputs[0] = p->outputs[0] = assay_op_bsd(p);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    int64_t length = p->axes[2];
    enum { BLOCK = 512 };
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
    assay_op_load_row(p, in, 0, row, first, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = exp(out[i] - max) / sum;
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 4);
}

/* One rounding more than other reductions: kernels may keep the exponentials in the output's own
 * type before they scale them, as oneDNN does. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    struct assay_tolerance t = assay_op_tolerance_reduction(p, p->axes[2], 0);
    t.relative += 1.01 * assay_dtype_info(p->dtype)->unit;
    return t;
}

const struct assay_op assay_op_softmax = {
    .name = "softmax",
    .title = "Softmax",
    .summary = "exp(x - max) / sum, over dim",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .skeleton = {"softmax", NULL, NULL},
    .node = &assay_node_unary,
    /* The second row overflows unless its maximum is subtracted. */
    .example = ASSAY_EXAMPLE(2, 2, .in = {{0, ASSAY_LN2, 1000, 1000 + ASSAY_LN3}},
                             .want = {1.0 / 3, 2.0 / 3, 0.25, 0.75}),
};
