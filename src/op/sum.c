/* sum: all elements added up, one number in f32: the loss of a model in training, whose gradient is
 * ones. */
#include "op/common.h"

enum { BLOCK = 512 };

static void shapes(struct assay_problem *p)
{
    p->n_inputs = p->n_outputs = 1;
    p->inputs[0] = assay_op_bsd(p);
    p->outputs[0] = assay_op_scalar();
}

static void reference_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                           int64_t first, int64_t n, double *out, double *sizes)
{
    (void)row, (void)first, (void)n;
    int64_t count = assay_tensor_count(&p->inputs[0]);
    double sum = 0, squares = 0;
#pragma omp parallel for reduction(+ : sum, squares) schedule(static)
    for (int64_t at = 0; at < count; at += BLOCK) {
        double x[BLOCK];
        int64_t here = count - at < BLOCK ? count - at : BLOCK;
        assay_dtype_load(p->inputs[0].dtype, in[0], at, here, x);
        for (int64_t i = 0; i < here; i++) {
            sum += x[i];
            squares += x[i] * x[i];
        }
    }
    out[0] = sum;
    if (sizes)
        sizes[0] = assay_op_sum_size(sum, squares);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    reference_sums(p, in, row, first, n, out, NULL);
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 1);
}

/* The output is f32, whatever is summed. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    return (struct assay_tolerance){
        .relative = ASSAY_OP_UNITS,
        .absolute = assay_dtype_info(ASSAY_DTYPE_F32)->tiny,
        .summed = assay_op_sum_error(ASSAY_DTYPE_F32, assay_tensor_count(&p->inputs[0]))};
}

const struct assay_op assay_op_sum = {
    .name = "sum",
    .title = "Sum",
    .summary = "the sum of all x, one number in f32",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes,
    .reference = reference,
    .reference_sums = reference_sums,
    .cost = cost,
    .tolerance = tolerance,
    .example = ASSAY_EXAMPLE(1, 3, .in = {{1, -4, 8}}, .want = {5}),
};
