/* read: the XOR of all of x, taken as 32-bit words, as one number in s32. It costs nothing beside
 * the loads, is exact in any order, and changes with every bit that is left out. What is missing to
 * a whole word counts as 0. */
#include "op/common.h"

#include <string.h>

static void shapes(struct assay_problem *p)
{
    p->n_inputs = p->n_outputs = 1;
    p->inputs[0] = assay_op_bsd(p);
    p->outputs[0] = (struct assay_tensor){.dtype = ASSAY_DTYPE_S32, .rank = 1, .dims = {1}};
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    (void)row, (void)first, (void)n;
    size_t bytes = assay_tensor_bytes(&p->inputs[0]);
    uint32_t all = 0;
#pragma omp parallel for reduction(^ : all) schedule(static)
    for (size_t at = 0; at < bytes; at += sizeof all) {
        uint32_t word = 0;
        memcpy(&word, (const char *)in[0] + at,
               bytes - at < sizeof word ? bytes - at : sizeof word);
        all ^= word;
    }
    out[0] = (double)(int32_t)all;
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

const struct assay_op assay_op_read = {
    .name = "read",
    .title = "Read",
    .summary = "XOR of all of x as 32-bit words, one number in s32",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .skeleton = {"read", NULL, NULL},
    /* The words of 1.0 cancel; those of 2.0 are 0 and 0x40000000. */
    .example = ASSAY_EXAMPLE(1, 3, .in = {{1, 2, 1}}, .want = {0x40000000}),
};
