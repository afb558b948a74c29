/* copy: y = x, bit for bit. With read and triad it is what bandwidth is measured by: probes of the
 * machine run the same loops. */
#include "op/common.h"

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    assay_op_load_row(p, in, 0, row, first, n, out);
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 0);
}

static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    (void)p;
    return (struct assay_tolerance){0};
}

const struct assay_op assay_op_copy = {
    .name = "copy",
    .title = "Copy",
    .summary = "x, copied",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = assay_op_shapes_unary,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .skeleton = {"elementwise", "x", NULL},
    .example = ASSAY_EXAMPLE(1, 3, .in = {{1, -2, 0.1}}, .want = {1, -2, 0.1}),
};
