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

/* ---- backward: of the values dy silu(gate), of their gates dy x silu'(gate) ------------------ */

enum { DY, OF_X, BLOCK = 512 };

static void shapes_backward(struct assay_problem *p)
{
    shapes(p);
    struct assay_tensor x = p->inputs[0];
    p->n_inputs = 2;
    p->inputs[DY] = p->outputs[0];
    p->inputs[OF_X] = p->outputs[0] = x;
}

/* Elements of one half of a row, columns [at, at + n) of dy. What is summed to silu' is around 1,
 * but for large gates, for which it grows with them. */
static void backward_half(const struct assay_problem *p, const void *const *in, int64_t row,
                          bool gates, int64_t at, int64_t n, double *out, double *sizes)
{
    double x[BLOCK], gate[BLOCK];
    assay_op_load_row(p, in, DY, row, at, n, out);
    assay_op_load_row(p, in, OF_X, row, at, n, x);
    assay_op_load_row(p, in, OF_X, row, p->axes[2] + at, n, gate);
    for (int64_t i = 0; i < n; i++) {
        double s = assay_scalar_sigmoid(gate[i]);
        double slope = gates ? x[i] * s * (1 + gate[i] * (1 - s)) : gate[i] * s;
        if (sizes)
            sizes[i] = gates ? fabs(out[i] * x[i]) : fabs(out[i]);
        out[i] *= slope;
    }
}

static void backward_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                          int64_t first, int64_t n, double *out, double *sizes)
{
    int64_t dim = p->axes[2];
    for (int64_t done = 0, count; done < n; done += count) {
        int64_t at = first + done, end = at < dim ? dim : 2 * dim;
        count = n - done < BLOCK ? n - done : BLOCK;
        count = end - at < count ? end - at : count;
        backward_half(p, in, row, at >= dim, at % dim, count, out + done,
                      sizes ? sizes + done : NULL);
    }
}

static void backward(const struct assay_problem *p, const void *const *in, int64_t row,
                     int64_t first, int64_t n, double *out)
{
    backward_sums(p, in, row, first, n, out, NULL);
}

static struct assay_cost cost_backward(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 12);
}

static struct assay_tolerance tolerance_backward(const struct assay_problem *p)
{
    return assay_op_tolerance_summed(p, ASSAY_OP_UNITS);
}

static const struct assay_gradient gradient = {
    .pass = ASSAY_PASS_BACKWARD,
    .forward = "swiglu",
    .in = {{ASSAY_FROM_GRADIENT, 0}, {ASSAY_FROM_INPUT, 0}}};

const struct assay_op assay_op_swiglu_backward = {
    .name = "swiglu_backward",
    .title = "SwiGLU backward",
    .summary = "dx = dy silu(gate), dgate = dy x silu'(gate), both in rows [2 dim] as x and gate "
               "are",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes_backward,
    .reference = backward,
    .reference_sums = backward_sums,
    .cost = cost_backward,
    .tolerance = tolerance_backward,
    .gradient = &gradient,
    /* silu(ln 3) = 0.75 ln 3, and its slope 0.75 (1 + 0.25 ln 3); at 0 they are 0 and 0.5. */
    .example = ASSAY_EXAMPLE(1, 2, .in = {{4, 16}, {3, 2, 0, ASSAY_LN3}},
                             .want = {0, 12 * ASSAY_LN3, 6, 24 + 6 * ASSAY_LN3}),
};
