/* triad: x + 3 y, STREAM's last loop: two reads and a write. */
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
            out[done + i] += 3 * other[i];
    }
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 2);
}

/* Where x and 3 y cancel, what is left has the rounding of 3 y in it. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    return assay_op_tolerance_elementwise(p, 1);
}

const struct assay_op assay_op_triad = {
    .name = "triad",
    .title = "Triad",
    .summary = "x + 3 y",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .skeleton = {"add", "a[i] + 3 * b[i]", NULL},
    .example = ASSAY_EXAMPLE(1, 2, .in = {{1, 2}, {10, -2}}, .want = {31, -4}),
};
