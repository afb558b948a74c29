#include "op/common.h"

#include "base/rng.h"

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

struct assay_tensor assay_op_saved(const struct assay_problem *problem, int64_t n)
{
    bool wide = problem->dtype == ASSAY_DTYPE_F64; /* in tests */
    return (struct assay_tensor){
        .dtype = wide ? ASSAY_DTYPE_F64 : ASSAY_DTYPE_F32, .rank = 1, .dims = {n}};
}

void assay_op_shapes_unary(struct assay_problem *problem)
{
    problem->n_inputs = problem->n_outputs = 1;
    problem->inputs[0] = problem->outputs[0] = assay_op_bsd(problem);
}

void assay_op_shapes_gradient(struct assay_problem *problem)
{
    problem->n_inputs = 2;
    problem->n_outputs = 1;
    problem->inputs[0] = problem->inputs[1] = problem->outputs[0] = assay_op_bsd(problem);
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

/* Rounding the output to the dtype costs one unit of it; f32 arithmetic with a polynomial for exp
 * or erf costs up to 16 more units of f32, relative to the output and to what cancels in it. Near 0
 * the dtype itself ends (`tiny`). */
struct assay_tolerance assay_op_tolerance_elementwise(const struct assay_problem *problem,
                                                      double scale)
{
    const struct assay_dtype_info *out = assay_dtype_info(problem->outputs[0].dtype);
    return (struct assay_tolerance){.relative = 1.01 * out->unit + 16 * 0x1p-24,
                                    .absolute = 16 * 0x1p-24 * scale + out->tiny};
}

struct assay_tolerance assay_op_tolerance_summed(const struct assay_problem *problem, double summed)
{
    const struct assay_dtype_info *out = assay_dtype_info(problem->dtype);
    return (struct assay_tolerance){
        .relative = 1.01 * out->unit + ASSAY_OP_UNITS, .absolute = out->tiny, .summed = summed};
}

/* Summing n values of one sign in f32, one after the other: the partial sums grow in a line to the
 * sum, so six deviations of the error (see assay_op_sum_error) are 6 sqrt(n / 3) / sqrt(3) = 2
 * sqrt(n) units, and 3.5 sqrt(n) where the largest come first. Kernels that sum in L lanes or
 * blocks do better by L. It grows no further beyond 2^20 values, where a kernel must sum in blocks
 * to be of any use. */
static double reduction_error(int64_t n)
{
    double length = n < (1 << 20) ? (double)n : 0x1p20;
    return 0x1p-24 * (16 + 4 * sqrt(length));
}

struct assay_tolerance assay_op_tolerance_reduction(const struct assay_problem *problem, int64_t n,
                                                    double scale)
{
    double accumulated = reduction_error(n);
    const struct assay_dtype_info *out = assay_dtype_info(problem->outputs[0].dtype);
    return (struct assay_tolerance){.relative = 1.01 * out->unit + accumulated,
                                    .absolute = accumulated * scale + out->tiny};
}

/* A sum of n products in f32, in an order nobody knows. Addition number i rounds the partial sum
 * s_i: an error within u |s_i|, u = 2^-24, independent of the others, with a deviation of at most
 * u |s_i| / sqrt(3). Together they deviate by u sqrt(n / 3) times the root of the mean square of
 * the partial sums. Those of terms in random order are a straight line to the sum y plus a Brownian
 * bridge: |y| / sqrt(3) for the line; for the bridge Q / sqrt(6) on average, and more than Q in one
 * sum of 400, where Q is the root of the sum of the squared terms. Six deviations:
 *     6 u sqrt(n / 3) (|y| / sqrt(3) + Q) <= 3.5 sqrt(n) u (|y| + Q),
 * and 8 u for the products and what comes behind the sum. That bridge and rounding together exceed
 * it has a chance below 1e-8 for an element. sqrt(n) Q is the sum of the terms' magnitudes where
 * they are equal and more where they are not, so this is 3.5 u of that sum: far below its worst
 * case, n u.
 *     Matrix units for 16-bit types add 4 to 16 products at a time, aligned to the greatest, and
 * cut off what does not fit into 24 to 26 bits: towards 0, so that these errors do not average out.
 * At n / 8 steps, each of up to 2^-23 of a partial sum of (|y| + Q) / 2 on average, that is n 2^-27
 * (|y| + Q); twice as much is allowed. */
double assay_op_sum_error(enum assay_dtype dtype, int64_t n)
{
    bool narrow = assay_dtype_info(dtype)->bits <= 16;
    double length = (double)n;
    return 0x1p-24 * (8 + 3.5 * sqrt(length)) + (narrow ? length * 0x1p-26 : 0);
}

/* With e = reduction_error(n) = 2^-24 (16 + 4 sqrt(n)):
 *   the mean is off by e / 2 of itself, and by a few units of the deviation;
 *   x - mean by a unit of both;
 *   the variance, of squares of differences, by e / 2 of itself; as mean(x^2) - mean^2 by e / 2 of
 *   variance + 3 mean^2. Its root by half as much.
 * Units count 16-fold, as everywhere. */
double assay_op_norm_size(const struct assay_norm *norm, double x, double gamma, double beta)
{
    double total = norm->variance + norm->eps, units = 0x1p-20 / reduction_error(norm->n);
    double centred = fabs(x - norm->mean), mean = fabs(norm->mean);
    double spread = (norm->variance + 3 * mean * mean) / total;
    double off =
        0.25 * centred * spread + 0.5 * mean + units * (fabs(x) + mean + sqrt(norm->variance));
    return off / sqrt(total) * fabs(gamma) + units * fabs(beta);
}

double assay_op_norm_mean_size(const struct assay_norm *norm)
{
    double units = 0x1p-20 / reduction_error(norm->n);
    return 0.5 * fabs(norm->mean) + units * (fabs(norm->mean) + sqrt(norm->variance));
}

double assay_op_norm_rstd_size(const struct assay_norm *norm)
{
    double total = norm->variance + norm->eps, units = 0x1p-20 / reduction_error(norm->n);
    double spread = (norm->variance + 3 * norm->mean * norm->mean) / total;
    return (0.25 * spread + units) / sqrt(total);
}

struct assay_tolerance assay_op_tolerance_statistic(const struct assay_problem *problem, int64_t n)
{
    struct assay_tensor saved = assay_op_saved(problem, 1);
    const struct assay_dtype_info *info = assay_dtype_info(saved.dtype);
    return (struct assay_tolerance){.relative = 1.01 * info->unit + 16 * 0x1p-24,
                                    .absolute = info->tiny,
                                    .summed = reduction_error(n)};
}

struct assay_tolerance assay_op_tolerance_norm(const struct assay_problem *problem, int64_t n)
{
    const struct assay_dtype_info *out = assay_dtype_info(problem->outputs[0].dtype);
    return (struct assay_tolerance){.relative = 1.01 * out->unit + 16 * 0x1p-24,
                                    .absolute = out->tiny,
                                    .summed = reduction_error(n)};
}

void assay_op_fill_loss_gradient(void *data, uint64_t seed, int64_t terms)
{
    double uniform = (double)(assay_rng_mix(seed) >> 11) * 0x1p-53;
    double value = (double)terms * (0.75 + 0.5 * uniform);
    assay_dtype_store(ASSAY_DTYPE_F32, &value, data, 0, 1);
}

void assay_op_fill_norm(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    static const double scales[] = {1, 0.25, 0.5}, shifts[] = {0.5, 1, 0};
    assay_tensor_fill_scaled(&p->inputs[index], data, seed, scales[index], shifts[index]);
}

void assay_op_fill_outliers(const struct assay_tensor *x, void *data, int64_t block, int64_t groups,
                            uint64_t seed)
{
    enum { MANY = 65536, OUTLIERS = 19 };
    struct assay_rng rng = {assay_rng_mix(seed ^ UINT64_C(0x6f75746c69657273))};
    int64_t n = block / groups, blocks = assay_tensor_count(x) / block;
    double value = sqrt((double)n / fmax(1, (double)OUTLIERS / (double)groups));
    for (int64_t i = 0; i < blocks * OUTLIERS && n > MANY; i++) {
        int64_t at = i / OUTLIERS * block + assay_rng_below(&rng, block);
        assay_dtype_store(x->dtype, &value, data, at, 1);
        value = -value;
    }
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

/* Phi(x) + x phi(x), the normal distribution and its density. */
double assay_scalar_gelu_slope(double x)
{
    double density = 0.39894228040143267794 * exp(-0.5 * x * x); /* 1 / sqrt(2 pi) */
    return 0.5 * erfc(-x * 0.70710678118654752440) + x * density;
}
