/* fma: a chain of 256 fused multiply-adds on every element: what arithmetic in f32 is measured by.
 */
#include "op/fma.h"
#include "op/common.h"

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    assay_op_load_row(p, in, 0, row, first, n, out);
    for (int64_t i = 0; i < n; i++)
        for (int step = 0; step < ASSAY_FMA_STEPS; step++)
            out[i] = out[i] * ASSAY_FMA_SCALE + ASSAY_FMA_SHIFT;
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 2 * ASSAY_FMA_STEPS);
}

/* A step rounds once, or twice where it is not fused, by half a unit each of what is at most 1 or
 * x; later steps shrink that. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    struct assay_tolerance t = assay_op_tolerance_elementwise(p, 0);
    t.relative += ASSAY_FMA_STEPS * 0x1p-24;
    t.absolute += ASSAY_FMA_STEPS * 0x1p-24;
    return t;
}

/* 1 stays, and what lies between x and 1 shrinks to (1 - 2^-9)^256 of it. */
#define LEFT 0.6062341884573449

const struct assay_op assay_op_fma = {
    .name = "fma",
    .title = "FMA",
    .summary = "x * (1 - 1/512) + 1/512, 256 times",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = assay_op_shapes_unary,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .skeleton = {"fma", NULL, NULL},
    .example = ASSAY_EXAMPLE(1, 3, .in = {{1, 0, 2}}, .want = {1, 1 - LEFT, 1 + LEFT}),
};
