/* common.h: what several ops share: [batch, seq, dim] shapes, costs, tolerances, element-wise ops.
 */
#ifndef ASSAY_OP_COMMON_H
#define ASSAY_OP_COMMON_H

#include "op/node.h"

#define ASSAY_BSD_AXES                                                                             \
    {                                                                                              \
        "batch", "seq", "dim"                                                                      \
    }

/* x: [batch, seq, dim] of the problem's dtype. */
struct assay_tensor assay_op_bsd(const struct assay_problem *problem);
/* a * b, INT64_MAX where that is too large: sizes are then refused by their product. */
static inline int64_t assay_op_times(int64_t a, int64_t b)
{
    return a > INT64_MAX / b ? INT64_MAX : a * b;
}
/* A vector of `n` elements of the problem's dtype. */
struct assay_tensor assay_op_vector(const struct assay_problem *problem, int64_t n);
/* One number in f32: the output of a loss. */
struct assay_tensor assay_op_scalar(void);
/* `n` statistics that a forward pass saves: f32, whatever the problem's dtype, but for f64. */
struct assay_tensor assay_op_saved(const struct assay_problem *problem, int64_t n);

/* y = f(x), both [batch, seq, dim]. */
void assay_op_shapes_unary(struct assay_problem *problem);

/* Every input once in, every output once out, and this many operations for each element of x. */
struct assay_cost assay_op_cost_streaming(const struct assay_problem *problem,
                                          double flops_per_element);

/* An element-wise function in f32 arithmetic, then rounded to the dtype. `scale` is how large the
 * values that cancel may be: the part of the error that does not shrink with the output. */
struct assay_tolerance assay_op_tolerance_elementwise(const struct assay_problem *problem,
                                                      double scale);
/* A reduction over n values in f32: see common.c for the derivation. */
struct assay_tolerance assay_op_tolerance_reduction(const struct assay_problem *problem, int64_t n,
                                                    double scale);

/* How large the partial sums of a sum are whose terms are as likely to come in any order as in any
 * other; `squares` is the sum of the terms' squares. */
static inline double assay_op_sum_size(double sum, double squares)
{
    return fabs(sum) + sqrt(squares);
}
/* The error of such a sum of n products of this dtype, as a part of that size: the tolerance's
 * `summed`. See common.c for the derivation. */
double assay_op_sum_error(enum assay_dtype dtype, int64_t n);
/* Of outputs in the problem's dtype that come from f32 arithmetic, with this `summed`. */
struct assay_tolerance assay_op_tolerance_summed(const struct assay_problem *problem,
                                                 double summed);
/* 16 units of f32 as the `summed` of elements whose sizes are what they are computed from. */
#define ASSAY_OP_UNITS (16 * 0x1p-24)

/* An element of a norm over n values, (x - mean) / sqrt(variance + eps) * gamma + beta: its size,
 * to which this tolerance's `summed` refers. */
struct assay_norm {
    double mean, variance, eps;
    int64_t n;
};
double assay_op_norm_size(const struct assay_norm *norm, double x, double gamma, double beta);
struct assay_tolerance assay_op_tolerance_norm(const struct assay_problem *problem, int64_t n);

/* The same of the mean and of 1 / sqrt(variance + eps), as a forward pass saves them
 * (assay_op_saved), and the tolerance of both. */
double assay_op_norm_mean_size(const struct assay_norm *norm);
double assay_op_norm_rstd_size(const struct assay_norm *norm);
struct assay_tolerance assay_op_tolerance_statistic(const struct assay_problem *problem, int64_t n);

/* The `fill` of norms with gamma and beta. x has a mean that is not 0, so that a kernel that
 * forgets to subtract it is caught; gamma lies around 1 and beta around 0, as trained ones do. */
void assay_op_fill_norm(const struct assay_problem *problem, int32_t index, void *data,
                        uint64_t seed);

/* For the x of norms: where statistics are over more than 65536 values, which hardly change when
 * some of them are left out, a few large ones make up half of the variance. A block, a row or an
 * image, holds `groups` that are normalised each by itself. */
void assay_op_fill_outliers(const struct assay_tensor *x, void *data, int64_t block, int64_t groups,
                            uint64_t seed);

/* Row `row`, elements [first, first + n) of input `index`, in double. */
void assay_op_load_row(const struct assay_problem *problem, const void *const *in, int32_t index,
                       int64_t row, int64_t first, int64_t n, double *out);

/* Mean and variance (population) of a whole row of input 0, in double. */
void assay_op_row_moments(const struct assay_problem *problem, const void *const *in, int64_t row,
                          double *mean, double *variance);

/* The scalar functions more than one op needs, in double. */
double assay_scalar_sigmoid(double x);
double assay_scalar_gelu(double x);
double assay_scalar_gelu_slope(double x); /* its derivative */

/* For worked examples: exp of these is 2 and 3. */
#define ASSAY_LN2 0.69314718055994530942
#define ASSAY_LN3 1.09861228866810969140

/* A worked example: ASSAY_EXAMPLE(rows, dim, .in = {{…}, {…}}, .want = {…}). */
#define ASSAY_EXAMPLE(rows_, dim_, ...)                                                            \
    &(const struct assay_op_example) { .rows = rows_, .dim = dim_, __VA_ARGS__ }

/* dx = dy f'(of x or y): both inputs and the output are [batch, seq, dim]. */
void assay_op_shapes_gradient(struct assay_problem *problem);

/* The gradient of a loss that is a mean over so many terms, one number: about as many, as the loss
 * scales of mixed precision are, so that the gradients of terms are around 1 and no type's range
 * ends before them. */
void assay_op_fill_loss_gradient(void *data, uint64_t seed, int64_t terms);

/* Defines the gradient of such an op from `double f(double dy, double x)`: its inputs are the
 * gradient of y and what `source_` says, x or y. An error of f is within 16 units of f32 of
 * `scale_` times dy. */
#define ASSAY_ELEMENTWISE_GRADIENT(ident, title_, summary_, source_, f, formula_, flops_, scale_,  \
                                   ...)                                                            \
    static void sums_##ident##_backward(const struct assay_problem *p, const void *const *in,      \
                                        int64_t row, int64_t first, int64_t n, double *out,        \
                                        double *sizes)                                             \
    {                                                                                              \
        enum { BLOCK = 512 };                                                                      \
        double x[BLOCK];                                                                           \
        assay_op_load_row(p, in, 0, row, first, n, out);                                           \
        for (int64_t i = 0; i < n; i++) {                                                          \
            if (i % BLOCK == 0)                                                                    \
                assay_op_load_row(p, in, 1, row, first + i, n - i < BLOCK ? n - i : BLOCK, x);     \
            if (sizes)                                                                             \
                sizes[i] = isfinite(out[i]) ? (scale_)*fabs(out[i]) : 0;                           \
            out[i] = f(out[i], x[i % BLOCK]);                                                      \
        }                                                                                          \
    }                                                                                              \
    static void reference_##ident##_backward(const struct assay_problem *p, const void *const *in, \
                                             int64_t row, int64_t first, int64_t n, double *out)   \
    {                                                                                              \
        sums_##ident##_backward(p, in, row, first, n, out, NULL);                                  \
    }                                                                                              \
    static struct assay_cost cost_##ident##_backward(const struct assay_problem *p)                \
    {                                                                                              \
        return assay_op_cost_streaming(p, flops_);                                                 \
    }                                                                                              \
    static struct assay_tolerance tolerance_##ident##_backward(const struct assay_problem *p)      \
    {                                                                                              \
        return assay_op_tolerance_summed(p, ASSAY_OP_UNITS);                                       \
    }                                                                                              \
    static const struct assay_gradient gradient_##ident = {                                        \
        .pass = ASSAY_PASS_BACKWARD,                                                               \
        .forward = #ident,                                                                         \
        .in = {{ASSAY_FROM_GRADIENT, 0}, {source_, 0}}};                                           \
    const struct assay_op assay_op_##ident##_backward = {                                          \
        .name = #ident "_backward",                                                                \
        .title = title_ " backward",                                                               \
        .summary = summary_,                                                                       \
        .axis_names = ASSAY_BSD_AXES,                                                              \
        .shapes = assay_op_shapes_gradient,                                                        \
        .reference = reference_##ident##_backward,                                                 \
        .reference_sums = sums_##ident##_backward,                                                 \
        .cost = cost_##ident##_backward,                                                           \
        .tolerance = tolerance_##ident##_backward,                                                 \
        .gradient = &gradient_##ident,                                                             \
        .skeleton = {"add", formula_, NULL},                                                       \
        __VA_ARGS__}

/* Defines the whole of a one-input element-wise op from `double f(double)`. `formula_` is the same
 * in C for skeletons, an expression of `float x`. What follows `scale_` are further fields of the
 * struct, at least `.example`. */
#define ASSAY_ELEMENTWISE_OP(ident, title_, summary_, aliases_, f, formula_, flops_, scale_, ...)  \
    static void reference_##ident(const struct assay_problem *p, const void *const *in,            \
                                  int64_t row, int64_t first, int64_t n, double *out)              \
    {                                                                                              \
        assay_op_load_row(p, in, 0, row, first, n, out);                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = f(out[i]);                                                                    \
    }                                                                                              \
    static struct assay_cost cost_##ident(const struct assay_problem *p)                           \
    {                                                                                              \
        return assay_op_cost_streaming(p, flops_);                                                 \
    }                                                                                              \
    static struct assay_tolerance tolerance_##ident(const struct assay_problem *p)                 \
    {                                                                                              \
        return assay_op_tolerance_elementwise(p, scale_);                                          \
    }                                                                                              \
    const struct assay_op assay_op_##ident = {.name = #ident,                                      \
                                              .title = title_,                                     \
                                              .summary = summary_,                                 \
                                              .aliases = aliases_,                                 \
                                              .axis_names = ASSAY_BSD_AXES,                        \
                                              .shapes = assay_op_shapes_unary,                     \
                                              .reference = reference_##ident,                      \
                                              .cost = cost_##ident,                                \
                                              .tolerance = tolerance_##ident,                      \
                                              .skeleton = {"elementwise", formula_, NULL},         \
                                              .node = &assay_node_unary,                           \
                                              __VA_ARGS__}

#endif
