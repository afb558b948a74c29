#include "op/common.h"

static void shapes(struct assay_problem *p)
{
    p->n_inputs = 2;
    p->n_outputs = 1;
    p->inputs[0] = p->inputs[1] = p->outputs[0] = assay_op_bsd(p);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    enum { BLOCK = 512 };
    double other[BLOCK];
    assay_op_load_row(p, in, 0, row, first, n, out);
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        assay_op_load_row(p, in, 1, row, first + done, count, other);
        for (int64_t i = 0; i < count; i++)
            out[done + i] += other[i];
    }
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 1);
}

static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    return assay_op_tolerance_elementwise(p, 0);
}

static const struct assay_op_node node = {.values = 2, .rows_axis = 1};

const struct assay_op assay_op_add = {
    .name = "add",
    .title = "Add",
    .summary = "x + y",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .skeleton = {"add", "a[i] + b[i]", NULL},
    .node = &node,
    .example = ASSAY_EXAMPLE(1, 2, .in = {{1, 2}, {10, -2}}, .want = {11, 0}),
};

/* ---- backward: both gradients are the output's ----------------------------------------------- */

static void shapes_backward(struct assay_problem *p)
{
    p->n_inputs = 1;
    p->n_outputs = 2;
    p->inputs[0] = p->outputs[0] = p->outputs[1] = assay_op_bsd(p);
}

static void backward(const struct assay_problem *p, const void *const *in, int64_t row,
                     int64_t first, int64_t n, double *out)
{
    assay_op_load_row(p, in, 0, row, first, n, out);
}

static struct assay_cost cost_backward(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 0);
}

static const struct assay_gradient gradient = {.pass = ASSAY_PASS_BACKWARD,
                                               .forward = "add",
                                               .in = {{ASSAY_FROM_GRADIENT, 0}},
                                               .of = {0, 1},
                                               .passes_on = true};

const struct assay_op assay_op_add_backward = {
    .name = "add_backward",
    .title = "Add backward",
    .summary = "dx = dy = the gradient, in two tensors",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes_backward,
    .reference = backward,
    .more = {{.reference = backward, .tolerance = tolerance}},
    .cost = cost_backward,
    .tolerance = tolerance,
    .gradient = &gradient,
    .example = ASSAY_EXAMPLE(1, 2, .in = {{3, -4}}, .want = {3, -4}),
};
