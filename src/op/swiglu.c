/* swiglu: what lies between the two linear layers of a gated MLP. Each row of x is two halves, the
 * values and their gates. */
#include "op/common.h"

static void shapes(struct assay_problem *p)
{
    p->n_inputs = p->n_outputs = 1;
    p->inputs[0] = p->outputs[0] = assay_op_bsd(p);
    /* Sizes near the end of the range are refused by their product, so this one must not wrap. */
    p->inputs[0].dims[2] = p->axes[2] > INT64_MAX / 2 ? INT64_MAX : 2 * p->axes[2];
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    enum { BLOCK = 512 };
    double gate[BLOCK];
    assay_op_load_row(p, in, 0, row, first, n, out);
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        assay_op_load_row(p, in, 0, row, p->axes[2] + first + done, count, gate);
        for (int64_t i = 0; i < count; i++)
            out[done + i] *= gate[i] * assay_scalar_sigmoid(gate[i]);
    }
}

/* For each element of the output silu's 5 and a product; two elements of x make one. */
static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 3);
}

static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    return assay_op_tolerance_elementwise(p, 1);
}

/* Half the columns of x. */
static enum assay_status node_axes(const struct assay_node_sizes *sizes, int64_t *axes,
                                   struct assay_error *err)
{
    if (sizes->columns % 2)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "swiglu needs an even number of columns: a row has two halves");
    axes[0] = 1;
    axes[1] = sizes->rows;
    axes[2] = sizes->columns / 2;
    return ASSAY_OK;
}

static const struct assay_op_node node = {.values = 1, .axes = node_axes, .rows_axis = 1};

const struct assay_op assay_op_swiglu = {
    .name = "swiglu",
    .title = "SwiGLU",
    .summary = "x * silu(gate), where each row [2 dim] is x and gate; silu(gate) = gate * "
               "sigmoid(gate)",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .skeleton = {"swiglu", NULL, NULL},
    .node = &node,
    .example = ASSAY_EXAMPLE(1, 2, .in = {{2, 3, 0, ASSAY_LN3}}, .want = {0, 3 * 0.75 * ASSAY_LN3}),
};
