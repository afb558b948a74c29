/* linear.h: the parameters of the op `linear`, for its kernels. */
#ifndef ASSAY_OP_LINEAR_H
#define ASSAY_OP_LINEAR_H

#include "op/op.h"
#include "quant/quant.h"
#include "tensor/tensor.h"
#include <assay/assay_kernel.h>

/* x [m, k] and W [n, k] give y [m, n] = act(norm(x) W^T + bias) + residual. All but x and W are
 * optional: a mode names those that are there. */
enum { ASSAY_LINEAR_M, ASSAY_LINEAR_K, ASSAY_LINEAR_N }; /* axes */
enum {                                                   /* params */
       ASSAY_LINEAR_BIAS,                                /* 0 or 1 */
       ASSAY_LINEAR_ACTIVATION,
       ASSAY_LINEAR_NORM,
       ASSAY_LINEAR_ADD /* 0 or 1: is there a residual? */
};
/* Inputs. Behind the first two come, where they are there, in this order: the bias [n], the norm's
 * weight [k], the residual [m, n]. The norm's weight stays the same from call to call, as W does: a
 * kernel may take it over in prepare. */
enum { ASSAY_LINEAR_X, ASSAY_LINEAR_W, ASSAY_LINEAR_BIAS_INPUT };

enum assay_linear_activation {
    ASSAY_LINEAR_NONE,
    ASSAY_LINEAR_SIGMOID,
    ASSAY_LINEAR_RELU,
    ASSAY_LINEAR_LEAKYRELU, /* slope 0.01 */
    ASSAY_LINEAR_RELU6,
    ASSAY_LINEAR_GELU, /* with erf */
    ASSAY_LINEAR_SILU,
    ASSAY_LINEAR_HARDSWISH,
    ASSAY_LINEAR_ACTIVATIONS
};

const char *assay_linear_activation_name(enum assay_linear_activation activation); /* "gelu" */

/* What happens to each row of x first, in f32. Where the recipe quantises x at run time, the
 * normalised row is first rounded to the dtype, as it would be between two ops. */
enum assay_linear_norm {
    ASSAY_LINEAR_NO_NORM,
    ASSAY_LINEAR_LN,  /* (x - mean) / sqrt(var + eps), no weights */
    ASSAY_LINEAR_RMS, /* x / sqrt(mean(x^2) + eps) * weight */
    ASSAY_LINEAR_NORMS
};
#define ASSAY_LINEAR_EPS 1e-5

/* The index of an optional input, -1 where the problem has none. */
int32_t assay_linear_norm_input(const struct assay_problem *problem);
int32_t assay_linear_residual_input(const struct assay_problem *problem);

/* Weights of type and shape `w` as the recipe stores them, dequantised to f32. *out is the
 * caller's to free with assay_free. */
enum assay_status assay_linear_stored_weights(const struct assay_recipe *recipe,
                                              const struct assay_tensor *w, const void *weights,
                                              int32_t threads, float **out,
                                              struct assay_error *err);

/* Of the reference: what becomes of the sums of row `row` from `first` on: bias, activation,
 * residual. */
void assay_linear_finish(const struct assay_problem *problem, const void *const *in, int64_t row,
                         int64_t first, int64_t n, double *sums);

/* What linear_training has of linear: the same sizes, values and sums. */
void assay_linear_shapes(struct assay_problem *problem);
void assay_linear_fill(const struct assay_problem *problem, int32_t index, void *data,
                       uint64_t seed);
void assay_linear_reference_sums(const struct assay_problem *problem, const void *const *in,
                                 int64_t row, int64_t first, int64_t n, double *out, double *sizes);

/* The problem's recipe, read into *storage; the baseline where there is none. */
const struct assay_recipe *assay_linear_recipe(const struct assay_problem *problem,
                                               struct assay_recipe *storage);

/* A tensor in f32; the caller's to free with assay_free. NULL without memory. */
float *assay_linear_to_f32(const struct assay_tensor *tensor, const void *data);

/* How far y may be off because x, computed by other ops in another order, was quantised to other
 * codes here and there. */
double assay_linear_flips(const struct assay_recipe *recipe, enum assay_dtype dtype, int64_t k);

/* ---- the gradient, op linear_backward: from dY [m, n], x and W, dX [m, k] = dY W, dW [n, k] =
 * dY^T x, and dbias [n], the sums of dY's columns. Its axes are linear's. */

enum {                             /* params */
       ASSAY_LINEAR_BACKWARD_BIAS, /* 0 or 1: is there a dbias? */
       ASSAY_LINEAR_BACKWARD_ONLY
}; /* which product alone; 0: both */
enum { ASSAY_LINEAR_ONLY_DX = 1, ASSAY_LINEAR_ONLY_DW };

enum assay_linear_operand {
    ASSAY_LINEAR_OPERAND_DY, /* input 0 */
    ASSAY_LINEAR_OPERAND_X,
    ASSAY_LINEAR_OPERAND_W
};
enum assay_linear_gradient { ASSAY_LINEAR_DX, ASSAY_LINEAR_DW, ASSAY_LINEAR_DBIAS };

/* The index of an input or output of linear_backward, -1 where the mode leaves it out. */
int32_t assay_linear_backward_input(const struct assay_problem *problem,
                                    enum assay_linear_operand which);
int32_t assay_linear_backward_output(const struct assay_problem *problem,
                                     enum assay_linear_gradient which);

/* ---- training, with or without a recipe: what linear_training.c and linear_backward.c share */

/* A matrix as a product of training takes it, cast and decoded, in f32; the caller's to free with
 * assay_free. NULL without memory. */
float *assay_linear_cast(struct assay_cast cast, const struct assay_tensor *tensor,
                         const void *data);

/* Integers whose scales are powers of two in each row, each column and the whole: sums of their
 * codes' products are exact up to ASSAY_LINEAR_EXACT_TERMS. `limit` bounds all but the greatest. */
enum { ASSAY_LINEAR_EXACT_TERMS = 1 << 14 };
void assay_linear_fill_scaled(const struct assay_tensor *tensor, void *data, uint64_t seed,
                              int64_t limit);

/* Which ceiling products of training have: that of 8-bit floats where both operands of one are
 * codes. */
enum assay_math assay_linear_training_math(enum assay_dtype dtype, bool codes);

/* For can_run of kernels that have neither norm nor residual: ASSAY_OK, or ASSAY_UNSUPPORTED with
 * the reason. `problem` may be NULL. */
enum assay_status assay_linear_is_plain(const struct assay_problem *problem,
                                        struct assay_error *why);

#endif
