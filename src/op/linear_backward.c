/* linear_backward: the gradients of y = x W^T + bias: dX = dY W, dW = dY^T x and dbias, the sums of
 * dY's columns; dY [m, n], x [m, k], W [n, k].
 *
 * Two products of the forward pass's size, which can be measured apart: mode dx has dX alone and
 * reads no x, mode dw has dW (and dbias) and reads no W. There is no backward of the activations,
 * norms and residuals that linear can have around its product: their gradients are ops of their
 * own, as they are nodes of their own in a model that is trained.
 *
 * No input is a weight here: in a training step W changes with every call, as x and dY do, so
 * kernels may prepare nothing, and what they pack or cast they do so within the timed call. */
#include "op/linear.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/text.h"
#include "op/common.h"

#include <stdio.h>

static int64_t axis(const struct assay_problem *p, int i) { return p->axes[i]; }

static bool has_bias(const struct assay_problem *p)
{
    return p->params[ASSAY_LINEAR_BACKWARD_BIAS] != 0;
}

int32_t assay_linear_backward_output(const struct assay_problem *p,
                                     enum assay_linear_gradient which)
{
    int only = (int)p->params[ASSAY_LINEAR_BACKWARD_ONLY];
    bool dx = only != ASSAY_LINEAR_ONLY_DW, dw = only != ASSAY_LINEAR_ONLY_DX;
    if (which == ASSAY_LINEAR_DX)
        return dx ? 0 : -1;
    if (which == ASSAY_LINEAR_DW)
        return dw ? dx : -1;
    return dw && has_bias(p) ? dx + 1 : -1;
}

int32_t assay_linear_backward_input(const struct assay_problem *p, enum assay_linear_operand which)
{
    bool x = assay_linear_backward_output(p, ASSAY_LINEAR_DW) >= 0;
    bool w = assay_linear_backward_output(p, ASSAY_LINEAR_DX) >= 0;
    if (which == ASSAY_LINEAR_OPERAND_X)
        return x ? 1 : -1;
    if (which == ASSAY_LINEAR_OPERAND_W)
        return w ? 1 + x : -1;
    return 0;
}

/* ---- problems -------------------------------------------------------------------------------- */

static struct assay_tensor matrix(const struct assay_problem *p, int64_t rows, int64_t columns)
{
    return (struct assay_tensor){.dtype = p->dtype, .rank = 2, .dims = {rows, columns}};
}

static void shapes(struct assay_problem *p)
{
    int64_t m = axis(p, ASSAY_LINEAR_M), k = axis(p, ASSAY_LINEAR_K), n = axis(p, ASSAY_LINEAR_N);
    int32_t x = assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_X);
    int32_t w = assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_W);
    int32_t dx = assay_linear_backward_output(p, ASSAY_LINEAR_DX);
    int32_t dw = assay_linear_backward_output(p, ASSAY_LINEAR_DW);
    int32_t dbias = assay_linear_backward_output(p, ASSAY_LINEAR_DBIAS);
    p->n_inputs = 1 + (x >= 0) + (w >= 0);
    p->n_outputs = (dx >= 0) + (dw >= 0) + (dbias >= 0);
    p->inputs[0] = matrix(p, m, n);
    if (x >= 0)
        p->inputs[x] = matrix(p, m, k);
    if (w >= 0)
        p->inputs[w] = matrix(p, n, k);
    if (dx >= 0)
        p->outputs[dx] = matrix(p, m, k);
    if (dw >= 0)
        p->outputs[dw] = matrix(p, n, k);
    if (dbias >= 0)
        p->outputs[dbias] = assay_op_vector(p, n);
}

static enum assay_status refuse(const char *word, const char *mode, struct assay_error *err)
{
    for (int i = ASSAY_LINEAR_NONE + 1; i < ASSAY_LINEAR_ACTIVATIONS; i++)
        if (assay_text_same(word, assay_linear_activation_name((enum assay_linear_activation)i)))
            return assay_error_set(err, ASSAY_ERR_INVALID, "linear_backward",
                                   "has no gradient of %s, which is an op of its own, "
                                   "%s_backward; modes: bias, dx, dw, bias+dw",
                                   word, word);
    if (assay_text_same(word, "ln") || assay_text_same(word, "rms") || assay_text_same(word, "add"))
        return assay_error_set(err, ASSAY_ERR_INVALID, "linear_backward",
                               "has no gradient of a norm before the product or a residual behind "
                               "it (\"%s\"); modes: bias, dx, dw, bias+dw",
                               word);
    return assay_error_set(err, ASSAY_ERR_INVALID, "linear_backward",
                           "unknown mode \"%s\"; a mode is bias, dx or dw (that product alone), or "
                           "bias+dw",
                           mode);
}

/* One word of a mode; false where there is no such word, or one of its kind came before. */
static bool set_word(struct assay_problem *p, const char *word)
{
    int param = ASSAY_LINEAR_BACKWARD_ONLY, value = 1;
    if (assay_text_same(word, "none"))
        return true;
    if (assay_text_same(word, "bias"))
        param = ASSAY_LINEAR_BACKWARD_BIAS;
    else if (assay_text_same(word, "dx"))
        value = ASSAY_LINEAR_ONLY_DX;
    else if (assay_text_same(word, "dw"))
        value = ASSAY_LINEAR_ONLY_DW;
    else
        return false;
    if (p->params[param] != 0)
        return false;
    p->params[param] = value;
    return true;
}

/* "none", "bias", "dx", "dw", "bias+dw". */
static enum assay_status set_mode(struct assay_problem *p, const char *mode,
                                  struct assay_error *err)
{
    for (int i = 0; i < ASSAY_MAX_PARAMS; i++)
        p->params[i] = 0;
    char word[32];
    for (const char *rest = mode[0] ? mode : NULL; rest;) {
        size_t length = strcspn(rest, "+");
        snprintf(word, sizeof word, "%.*s", (int)length, rest);
        if (!set_word(p, word))
            return refuse(word, mode, err);
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    if (has_bias(p) && p->params[ASSAY_LINEAR_BACKWARD_ONLY] == ASSAY_LINEAR_ONLY_DX)
        return assay_error_set(err, ASSAY_ERR_INVALID, "linear_backward",
                               "dx is the gradient of x alone: the bias has its gradient in bias "
                               "and bias+dw");
    return ASSAY_OK;
}

static bool casts(const struct assay_problem *p)
{
    struct assay_recipe storage;
    return assay_linear_recipe(p, &storage)->trains;
}

static bool is_weight(const struct assay_problem *p, int32_t input)
{
    (void)p, (void)input;
    return false;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* dY and x around 0 with deviation 1, W as trained weights are, as linear has them. */
static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    const struct assay_tensor *t = &p->inputs[index];
    bool w = index == assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_W);
    double deviation = w ? 1 / sqrt((double)axis(p, ASSAY_LINEAR_K)) : 1;
    double first = 1.5 * deviation; /* never all zeros, and no outlier either */
    assay_tensor_fill_scaled(t, data, seed, deviation, 0);
    assay_dtype_store(t->dtype, &first, data, 0, 1);
}

/* Small integers: with these limits, which linear has, too, sums of a quarter of a million products
 * stay within the integers of f32, and as random as these are within f16. Where a recipe casts them
 * they have scales that are powers of two, too. */
static void fill_exact(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    enum { BLOCK = 512 };
    const struct assay_tensor *t = &p->inputs[index];
    bool w = index == assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_W);
    int64_t count = assay_tensor_count(t), limit = w ? 7 : 3;
    if (casts(p)) {
        assay_linear_fill_scaled(t, data, seed, limit);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < count; at += BLOCK) {
        double values[BLOCK];
        int64_t n = count - at < BLOCK ? count - at : BLOCK;
        for (int64_t i = 0; i < n; i++) {
            uint64_t r = assay_rng_at(seed, (uint64_t)(at + i)) % (uint64_t)(2 * limit + 1);
            values[i] = (double)((int64_t)r - limit);
        }
        assay_dtype_store(t->dtype, values, data, at, n);
    }
}

static bool can_be_exact(const struct assay_problem *p)
{
    bool dx = assay_linear_backward_output(p, ASSAY_LINEAR_DX) >= 0;
    bool dw = assay_linear_backward_output(p, ASSAY_LINEAR_DW) >= 0;
    int64_t most = casts(p) ? ASSAY_LINEAR_EXACT_TERMS : 1 << 18;
    return (!dx || axis(p, ASSAY_LINEAR_N) <= most) && (!dw || axis(p, ASSAY_LINEAR_M) <= most);
}

/* ---- recipes ----------------------------------------------------------------------------------
 */

static enum assay_training_product product_of(const struct assay_problem *p, int32_t output)
{
    return output == assay_linear_backward_output(p, ASSAY_LINEAR_DX)
               ? ASSAY_PRODUCT_INPUT_GRADIENT
               : ASSAY_PRODUCT_WEIGHT_GRADIENT;
}

/* Each product has codes of its own, dbias none: it sums dY as it comes. */
static enum assay_status dequantised(const struct assay_problem *p, const void *const *in,
                                     int32_t output, struct assay_problem *plain, void **plain_in,
                                     struct assay_error *err)
{
    struct assay_recipe storage;
    const struct assay_recipe *recipe = assay_linear_recipe(p, &storage);
    const int32_t inputs[ASSAY_OPERANDS] = {
        [ASSAY_OPERAND_INPUT] = assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_X),
        [ASSAY_OPERAND_WEIGHT] = assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_W),
        [ASSAY_OPERAND_GRADIENT] = 0};
    bool is_product = output != assay_linear_backward_output(p, ASSAY_LINEAR_DBIAS);
    *plain = *p;
    plain->recipe = NULL;
    for (int32_t i = 0; i < p->n_inputs; i++)
        plain_in[i] = NULL;
    for (int i = 0; i < ASSAY_OPERANDS && is_product; i++) {
        int32_t input = inputs[i];
        struct assay_cast cast =
            assay_recipe_cast(recipe, product_of(p, output), (enum assay_training_operand)i);
        if (input < 0 || cast.code == ASSAY_DTYPE_NONE)
            continue;
        plain_in[input] = assay_linear_cast(cast, &p->inputs[input], in[input]);
        plain->inputs[input].dtype = ASSAY_DTYPE_F32;
        if (plain_in[input])
            continue;
        for (int32_t k = 0; k < p->n_inputs; k++) {
            assay_free(plain_in[k]);
            plain_in[k] = NULL;
        }
        return assay_error_nomem(err);
    }
    return ASSAY_OK;
}

/* ---- the reference --------------------------------------------------------------------------- */

/* A row of a gradient is a sum of rows: of W, each times an element of a row of dY; of x, each
 * times an element of a column of dY; of dY. */
struct row_sum {
    int32_t input;              /* whose rows are summed */
    int64_t terms;              /* how many */
    int64_t factor, factor_row; /* of term l: element `factor` + l * `factor_row` of dY; -1: 1 */
};

static struct row_sum row_sum_of(const struct assay_problem *p, int32_t output, int64_t row)
{
    int64_t m = axis(p, ASSAY_LINEAR_M), n = axis(p, ASSAY_LINEAR_N);
    if (output == assay_linear_backward_output(p, ASSAY_LINEAR_DX))
        return (struct row_sum){assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_W), n, row * n,
                                1};
    if (output == assay_linear_backward_output(p, ASSAY_LINEAR_DW))
        return (struct row_sum){assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_X), m, row, n};
    return (struct row_sum){0, m, -1, 0};
}

enum { BLOCK = 512 };

/* Elements [first, first + n) of a row, BLOCK of them at most. */
static void sum_block(const struct assay_problem *p, const void *const *in,
                      const struct row_sum *row, int64_t first, int64_t n, double *out,
                      double *sizes)
{
    double sum[BLOCK] = {0}, square[BLOCK] = {0}, terms[BLOCK], factor = 1;
    for (int64_t l = 0; l < row->terms; l++) {
        if (row->factor >= 0)
            assay_dtype_load(p->inputs[0].dtype, in[0], row->factor + l * row->factor_row, 1,
                             &factor);
        assay_op_load_row(p, in, row->input, l, first, n, terms);
        for (int64_t i = 0; i < n; i++) {
            double term = factor * terms[i];
            sum[i] += term;
            square[i] += term * term;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        out[i] = sum[i];
        if (sizes)
            sizes[i] = assay_op_sum_size(sum[i], square[i]);
    }
}

static void gradient_sums(const struct assay_problem *p, const void *const *in, int32_t output,
                          int64_t row, int64_t first, int64_t n, double *out, double *sizes)
{
    struct row_sum sum = row_sum_of(p, output, row);
    for (int64_t at = 0; at < n; at += BLOCK)
        sum_block(p, in, &sum, first + at, n - at < BLOCK ? n - at : BLOCK, out + at,
                  sizes ? sizes + at : NULL);
}

/* relative: the rounding to the dtype, and a few of f32. Codes are those of the definition to the
 *   bit, since operands are inputs: a recipe adds no more than its scales' roundings.
 * summed: a sum of products (assay_op_sum_error), of n for dX and of m for dW. A kernel may take
 *   dbias for the product of a row of ones with dY, so it has the tolerance of one. */
static struct assay_tolerance gradient_tolerance(const struct assay_problem *p, int32_t output)
{
    const struct assay_dtype_info *info = assay_dtype_info(p->dtype);
    return (struct assay_tolerance){
        .relative = info->unit + 6 * 0x1p-24,
        .absolute = info->tiny,
        .summed = assay_op_sum_error(p->dtype, row_sum_of(p, output, 0).terms)};
}

#define OUTPUT(i)                                                                                  \
    static void sums_##i(const struct assay_problem *p, const void *const *in, int64_t row,        \
                         int64_t first, int64_t n, double *out, double *sizes)                     \
    {                                                                                              \
        gradient_sums(p, in, i, row, first, n, out, sizes);                                        \
    }                                                                                              \
    static struct assay_tolerance tolerance_##i(const struct assay_problem *p)                     \
    {                                                                                              \
        return gradient_tolerance(p, i);                                                           \
    }
OUTPUT(0)
OUTPUT(1)
OUTPUT(2)

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    gradient_sums(p, in, 0, row, first, n, out, NULL);
}

/* ---- cost ------------------------------------------------------------------------------------ */

static struct assay_cost cost(const struct assay_problem *p)
{
    double m = (double)axis(p, ASSAY_LINEAR_M), n = (double)axis(p, ASSAY_LINEAR_N);
    double product = 2 * m * n * (double)axis(p, ASSAY_LINEAR_K);
    bool dx = assay_linear_backward_output(p, ASSAY_LINEAR_DX) >= 0;
    bool dw = assay_linear_backward_output(p, ASSAY_LINEAR_DW) >= 0;
    struct assay_recipe storage;
    const struct assay_recipe *recipe = assay_linear_recipe(p, &storage);
    struct assay_cost c = assay_op_cost_streaming(p, 0);
    c.math = assay_linear_training_math(
        p->dtype, (dx && assay_recipe_casts_both(recipe, ASSAY_PRODUCT_INPUT_GRADIENT)) ||
                      (dw && assay_recipe_casts_both(recipe, ASSAY_PRODUCT_WEIGHT_GRADIENT)));
    c.flops = (dx ? product : 0) + (dw ? product : 0) + (has_bias(p) ? m * n : 0);
    return c;
}

static const struct assay_gradient gradient_dx = {
    .pass = ASSAY_PASS_BACKWARD,
    .forward = "linear",
    .in = {{ASSAY_FROM_GRADIENT, 0}, {ASSAY_FROM_INPUT, ASSAY_LINEAR_W}},
    .of = {ASSAY_LINEAR_X}};

static const struct assay_gradient gradient_dw = {
    .pass = ASSAY_PASS_BACKWARD,
    .forward = "linear",
    .in = {{ASSAY_FROM_GRADIENT, 0}, {ASSAY_FROM_INPUT, ASSAY_LINEAR_X}},
    .of = {ASSAY_LINEAR_W, ASSAY_LINEAR_BIAS_INPUT}};

static const struct assay_gradient *in_mode(const struct assay_problem *p)
{
    int only = (int)p->params[ASSAY_LINEAR_BACKWARD_ONLY];
    return only == ASSAY_LINEAR_ONLY_DX   ? &gradient_dx
           : only == ASSAY_LINEAR_ONLY_DW ? &gradient_dw
                                          : NULL;
}

/* A model's layer always wants dW; dX not where x is what the model is given. */
static void only(uint32_t wanted, double *params)
{
    params[ASSAY_LINEAR_BACKWARD_ONLY] = wanted >> ASSAY_LINEAR_X & 1 ? 0 : ASSAY_LINEAR_ONLY_DW;
}

/* Of the modes that have both products. */
static const struct assay_gradient gradient = {
    .pass = ASSAY_PASS_BACKWARD,
    .forward = "linear",
    .in_mode = in_mode,
    .only = only,
    .in = {{ASSAY_FROM_GRADIENT, 0},
           {ASSAY_FROM_INPUT, ASSAY_LINEAR_X},
           {ASSAY_FROM_INPUT, ASSAY_LINEAR_W}},
    .of = {ASSAY_LINEAR_X, ASSAY_LINEAR_W, ASSAY_LINEAR_BIAS_INPUT}};

const struct assay_op assay_op_linear_backward = {
    .name = "linear_backward",
    .title = "Linear backward",
    .summary = "dX = dY W, dW = dY^T x, dbias = sums of dY's columns; dY [m,n], x [m,k], W [n,k]",
    .axis_names = {"m", "k", "n"},
    .param_names = {"bias", "only"},
    .shapes = shapes,
    .fill = fill,
    .reference = reference,
    .reference_sums = sums_0,
    .more = {{.reference_sums = sums_1, .tolerance = tolerance_1},
             {.reference_sums = sums_2, .tolerance = tolerance_2}},
    .cost = cost,
    .tolerance = tolerance_0,
    .modes = "bias (its gradient, too), dx or dw (that product alone), bias+dw",
    .set_mode = set_mode,
    .takes_recipes = true,
    .trains = true,
    .is_weight = is_weight,
    .dequantised = dequantised,
    .fill_exact = fill_exact,
    .can_be_exact = can_be_exact,
    .step_modes = (const char *const[]){"dx", "dw", NULL},
    .usual_shapes = "1024x1024x1024,4096x1024x1024",
    .sample_shapes = "16x512x512,37x1024x1000,512x1024x1024",
    .size_words = "rows of x, elements of one, outputs",
    .help =
        "linear_backward takes the sizes of linear; --mode dx or dw has one of its two products "
        "alone.",
    .gradient = &gradient,
};
