/* softmax: over the last axis, shifted by the row's maximum. */
#include "op/common.h"

static void shapes(struct assay_problem *p)
{
    p->n_inputs = 1;
    p->n_outputs = 1;
    p->inputs[0] = p->outputs[0] = assay_op_bsd(p);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    int64_t length = p->axes[2];
    enum { BLOCK = 512 };
    double values[BLOCK], max = -(double)INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t at = 0; at < length; at += BLOCK) {
            int64_t count = length - at < BLOCK ? length - at : BLOCK;
            assay_op_load_row(p, in, 0, row, at, count, values);
            for (int64_t i = 0; i < count; i++)
                if (pass == 0)
                    max = values[i] > max || isnan(values[i]) ? values[i] : max;
                else
                    sum += exp(values[i] - max);
        }
    assay_op_load_row(p, in, 0, row, first, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = exp(out[i] - max) / sum;
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 4);
}

/* One rounding more than other reductions: kernels may keep the exponentials in the output's own
 * type before they scale them, as oneDNN does. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    struct assay_tolerance t = assay_op_tolerance_reduction(p, p->axes[2], 0);
    t.relative += 1.01 * assay_dtype_info(p->dtype)->unit;
    return t;
}

const struct assay_op assay_op_softmax = {
    .name = "softmax",
    .title = "Softmax",
    .summary = "exp(x - max) / sum, over dim",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .skeleton = {"softmax", NULL, NULL},
    .node = &assay_node_unary,
    /* The second row overflows unless its maximum is subtracted. */
    .example = ASSAY_EXAMPLE(2, 2, .in = {{0, ASSAY_LN2, 1000, 1000 + ASSAY_LN3}},
                             .want = {1.0 / 3, 2.0 / 3, 0.25, 0.75}),
};

/* ---- backward, from the output: dx = y (dy - sum(dy y)) -------------------------------------- */

enum { DY, Y, BLOCK = 512 };

/* y is positive, and a row of it about 1 in all: the exponentials of normal values, over their
 * usual sum. */
static void fill_backward(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    const struct assay_tensor *t = &p->inputs[index];
    int64_t count = assay_tensor_count(t);
    double usual = (double)p->axes[2] * 1.64872127070012815; /* the mean of exp(x) is exp(1/2) */
    if (index == DY) {
        assay_tensor_fill_normal(t, data, seed);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < count; at += BLOCK) {
        double values[BLOCK];
        int64_t n = count - at < BLOCK ? count - at : BLOCK;
        assay_tensor_fill_values(ASSAY_DTYPE_F64, seed, 1, 0, at, n, values);
        for (int64_t i = 0; i < n; i++)
            values[i] = exp(values[i]) / usual;
        assay_dtype_store(t->dtype, values, data, at, n);
    }
}

/* The products dy y of a row: their sum, and how large its partial sums are. */
static double row_product(const struct assay_problem *p, const void *const *in, int64_t row,
                          double *size)
{
    int64_t length = p->axes[2];
    double dy[BLOCK], y[BLOCK], sum = 0, squares = 0;
    for (int64_t at = 0; at < length; at += BLOCK) {
        int64_t n = length - at < BLOCK ? length - at : BLOCK;
        assay_op_load_row(p, in, DY, row, at, n, dy);
        assay_op_load_row(p, in, Y, row, at, n, y);
        for (int64_t i = 0; i < n; i++) {
            sum += dy[i] * y[i];
            squares += dy[i] * y[i] * dy[i] * y[i];
        }
    }
    *size = assay_op_sum_size(sum, squares);
    return sum;
}

/* The sum's error times y, and 16 units of f32 of what is subtracted. */
static void backward_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                          int64_t first, int64_t n, double *out, double *sizes)
{
    double y[BLOCK], size, product = row_product(p, in, row, &size);
    double units = 0x1p-20 / assay_op_sum_error(ASSAY_DTYPE_F32, p->axes[2]);
    assay_op_load_row(p, in, DY, row, first, n, out);
    for (int64_t i = 0; i < n; i++) {
        if (i % BLOCK == 0)
            assay_op_load_row(p, in, Y, row, first + i, n - i < BLOCK ? n - i : BLOCK, y);
        if (sizes)
            sizes[i] = fabs(y[i % BLOCK]) * (size + units * (fabs(out[i]) + fabs(product)));
        out[i] = y[i % BLOCK] * (out[i] - product);
    }
}

static void backward(const struct assay_problem *p, const void *const *in, int64_t row,
                     int64_t first, int64_t n, double *out)
{
    backward_sums(p, in, row, first, n, out, NULL);
}

static struct assay_tolerance tolerance_backward(const struct assay_problem *p)
{
    return assay_op_tolerance_summed(p, assay_op_sum_error(ASSAY_DTYPE_F32, p->axes[2]));
}

static const struct assay_gradient gradient = {
    .pass = ASSAY_PASS_BACKWARD,
    .forward = "softmax",
    .in = {{ASSAY_FROM_GRADIENT, 0}, {ASSAY_FROM_OUTPUT, 0}}};

const struct assay_op assay_op_softmax_backward = {
    .name = "softmax_backward",
    .title = "Softmax backward",
    .summary = "dx = y (dy - sum(dy y)), over dim, from the output y",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = assay_op_shapes_gradient,
    .fill = fill_backward,
    .reference = backward,
    .reference_sums = backward_sums,
    .cost = cost,
    .tolerance = tolerance_backward,
    .gradient = &gradient,
    /* The sum of dy y is 4 / 2 + 8 / 4 + 12 / 4 = 7. */
    .example =
        ASSAY_EXAMPLE(1, 3, .in = {{4, 8, 12}, {0.5, 0.25, 0.25}}, .want = {-1.5, 0.25, 1.25}),
};
