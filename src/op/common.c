#include "op/common.h"

struct assay_tensor assay_op_bsd(const struct assay_problem *problem)
{
    return (struct assay_tensor){.dtype = problem->dtype,
                                 .rank = 3,
                                 .dims = {problem->axes[0], problem->axes[1], problem->axes[2]}};
}

struct assay_tensor assay_op_vector(const struct assay_problem *problem, int64_t n)
{
    return (struct assay_tensor){.dtype = problem->dtype, .rank = 1, .dims = {n}};
}

struct assay_tensor assay_op_scalar(void)
{
    return (struct assay_tensor){.dtype = ASSAY_DTYPE_F32, .rank = 1, .dims = {1}};
}

void assay_op_shapes_unary(struct assay_problem *problem)
{
    problem->n_inputs = problem->n_outputs = 1;
    problem->inputs[0] = problem->outputs[0] = assay_op_bsd(problem);
}

struct assay_cost assay_op_cost_streaming(const struct assay_problem *problem,
                                          double flops_per_element)
{
    struct assay_cost cost = {0};
    for (int32_t i = 0; i < problem->n_inputs; i++)
        cost.bytes_read += (double)assay_tensor_bytes(&problem->inputs[i]);
    for (int32_t i = 0; i < problem->n_outputs; i++)
        cost.bytes_written += (double)assay_tensor_bytes(&problem->outputs[i]);
    cost.flops = flops_per_element * (double)assay_tensor_count(&problem->inputs[0]);
    return cost;
}

/* Rounding the answer to the dtype costs one unit of it; f32 arithmetic with a polynomial for exp
 * or erf costs up to 16 more units of f32, relative to the answer and to what cancels in it. Near 0
 * the dtype itself ends (`tiny`). */
struct assay_tolerance assay_op_tolerance_elementwise(const struct assay_problem *problem,
                                                      double scale)
{
    const struct assay_dtype_info *out = assay_dtype_info(problem->outputs[0].dtype);
    return (struct assay_tolerance){.relative = 1.01 * out->unit + 16 * 0x1p-24,
                                    .absolute = 16 * 0x1p-24 * scale + out->tiny};
}

/* Summing n values of one sign in f32 is off by at most n units, and typically by sqrt(n); kernels
 * that sum in lanes do better. Four times the typical error, and no longer growing beyond 2^20
 * values, where a kernel must sum in blocks to be of any use. */
struct assay_tolerance assay_op_tolerance_reduction(const struct assay_problem *problem, int64_t n,
                                                    double scale)
{
    double length = n < (1 << 20) ? (double)n : 0x1p20;
    double accumulated = 0x1p-24 * (16 + 4 * sqrt(length));
    const struct assay_dtype_info *out = assay_dtype_info(problem->outputs[0].dtype);
    return (struct assay_tolerance){.relative = 1.01 * out->unit + accumulated,
                                    .absolute = accumulated * scale + out->tiny};
}

void assay_op_load_row(const struct assay_problem *problem, const void *const *in, int32_t index,
                       int64_t row, int64_t first, int64_t n, double *out)
{
    const struct assay_tensor *t = &problem->inputs[index];
    assay_dtype_load(t->dtype, in[index], row * t->dims[t->rank - 1] + first, n, out);
}

enum { MOMENT_BLOCK = 512 };

void assay_op_row_moments(const struct assay_problem *problem, const void *const *in, int64_t row,
                          double *mean, double *variance)
{
    int64_t length = problem->inputs[0].dims[problem->inputs[0].rank - 1];
    double values[MOMENT_BLOCK], sum = 0, sum_sq = 0, centre = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t first = 0; first < length; first += MOMENT_BLOCK) {
            int64_t n = length - first < MOMENT_BLOCK ? length - first : MOMENT_BLOCK;
            assay_op_load_row(problem, in, 0, row, first, n, values);
            for (int64_t i = 0; i < n && pass == 0; i++)
                sum += values[i];
            for (int64_t i = 0; i < n && pass == 1; i++)
                sum_sq += (values[i] - centre) * (values[i] - centre);
        }
        centre = sum / (double)length;
    }
    *mean = sum / (double)length;
    *variance = sum_sq / (double)length;
}

double assay_scalar_sigmoid(double x) { return 1 / (1 + exp(-x)); }

double assay_scalar_gelu(double x) { return 0.5 * x * erfc(-x * 0.70710678118654752440); }
