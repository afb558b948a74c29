/* linear_training: y = x W^T + bias in a training step, and what it shares with linear_backward.c.
 *
 * linear with a weight that is none: W changes with every step, so a kernel may prepare nothing,
 * and a recipe casts x and W within the timed call. Recipes are those of training: each product of
 * the step takes the codes its two operands have in it (assay_recipe_cast), scaled along the
 * dimension it sums over. */
#include "op/linear.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/text.h"
#include "op/common.h"

static int64_t axis(const struct assay_problem *p, int i) { return p->axes[i]; }

/* ---- shared with linear_backward --------------------------------------------------------------
 */

float *assay_linear_cast(struct assay_cast cast, const struct assay_tensor *tensor,
                         const void *data)
{
    float *out = assay_linear_to_f32(tensor, data);
    if (out && assay_quant_cast(cast, out, tensor->dims[0], tensor->dims[1], out) != ASSAY_OK) {
        assay_free(out);
        out = NULL;
    }
    return out;
}

enum assay_math assay_linear_training_math(enum assay_dtype dtype, bool codes)
{
    return codes                       ? ASSAY_MATH_F8
           : dtype == ASSAY_DTYPE_BF16 ? ASSAY_MATH_BF16
           : dtype == ASSAY_DTYPE_F16  ? ASSAY_MATH_F16
                                       : ASSAY_MATH_F32;
}

/* 7 and its doubles are codes of both 8-bit floats, and 448 and 57344 are such doubles: a scope
 * whose greatest magnitude is 7 * 2^e has a power of two as its scale, and integers up to 7 times
 * powers of two then have codes without a remainder.
 *
 * Rows and columns alternate between a factor of 2 and of 1, so that a scale of the wrong one
 * shows. Each row has a 7 in a column of the larger factor, and each column in a row of it: these
 * are their greatest magnitudes. */
enum { PEAK = 7 };

static int64_t factor_of(int64_t index) { return index % 2 == 0 ? 2 : 1; }

static double scaled_integer(const struct assay_tensor *t, uint64_t seed, int64_t limit,
                             int64_t row, int64_t column)
{
    int64_t rows = (t->dims[0] + 1) / 2, columns = (t->dims[1] + 1) / 2;
    uint64_t bits = assay_rng_at(seed, (uint64_t)(row * t->dims[1] + column));
    bool peak = column == row % columns * 2 || row == column % rows * 2;
    int64_t value = (int64_t)(bits % (uint64_t)(2 * limit + 1)) - limit;
    if (peak)
        value = bits >> 63 ? -PEAK : PEAK;
    return (double)(value * factor_of(row) * factor_of(column));
}

void assay_linear_fill_scaled(const struct assay_tensor *t, void *data, uint64_t seed,
                              int64_t limit)
{
    enum { BLOCK = 512 };
    int64_t columns = t->dims[1];
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < t->dims[0]; row++)
        for (int64_t first = 0; first < columns; first += BLOCK) {
            double values[BLOCK];
            int64_t n = columns - first < BLOCK ? columns - first : BLOCK;
            for (int64_t i = 0; i < n; i++)
                values[i] = scaled_integer(t, seed, limit, row, first + i);
            assay_dtype_store(t->dtype, values, data, row * columns + first, n);
        }
}

/* ---- the op -----------------------------------------------------------------------------------
 */

static enum assay_status set_mode(struct assay_problem *p, const char *mode,
                                  struct assay_error *err)
{
    for (int i = 0; i < ASSAY_MAX_PARAMS; i++)
        p->params[i] = 0;
    p->params[ASSAY_LINEAR_BIAS] = assay_text_same(mode, "bias");
    if (!mode[0] || assay_text_same(mode, "none") || assay_text_same(mode, "bias"))
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, "linear_training",
                           "unknown mode \"%s\"; its one mode is bias: in a training step "
                           "activations, norms and residuals are ops of their own",
                           mode);
}

static bool is_weight(const struct assay_problem *p, int32_t input)
{
    (void)p, (void)input;
    return false;
}

static void fill_exact(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    const struct assay_tensor *t = &p->inputs[index];
    if (index == ASSAY_LINEAR_BIAS_INPUT) {
        struct assay_tensor row = {.dtype = t->dtype, .rank = 2, .dims = {1, t->dims[0]}};
        assay_linear_fill_scaled(&row, data, seed, PEAK);
    } else
        assay_linear_fill_scaled(t, data, seed, index == ASSAY_LINEAR_W ? PEAK : 3);
}

/* A library may round the product before it adds the bias. */
static bool adds_in_16_bits(const struct assay_problem *p)
{
    return assay_dtype_info(p->dtype)->unit > 0x1p-20 && p->params[ASSAY_LINEAR_BIAS] != 0;
}

static bool can_be_exact(const struct assay_problem *p)
{
    return axis(p, ASSAY_LINEAR_K) <= ASSAY_LINEAR_EXACT_TERMS && !adds_in_16_bits(p);
}

static enum assay_status dequantised(const struct assay_problem *p, const void *const *in,
                                     int32_t output, struct assay_problem *plain, void **plain_in,
                                     struct assay_error *err)
{
    static const enum assay_training_operand operands[] = {ASSAY_OPERAND_INPUT,
                                                           ASSAY_OPERAND_WEIGHT};
    struct assay_recipe storage;
    const struct assay_recipe *recipe = assay_linear_recipe(p, &storage);
    (void)output;
    *plain = *p;
    plain->recipe = NULL;
    for (int32_t i = 0; i < p->n_inputs; i++)
        plain_in[i] = NULL;
    for (int32_t i = ASSAY_LINEAR_X; i <= ASSAY_LINEAR_W; i++) {
        plain->inputs[i].dtype = ASSAY_DTYPE_F32;
        plain_in[i] = assay_linear_cast(
            assay_recipe_cast(recipe, ASSAY_PRODUCT_OUTPUT, operands[i]), &p->inputs[i], in[i]);
    }
    if (plain_in[ASSAY_LINEAR_X] && plain_in[ASSAY_LINEAR_W])
        return ASSAY_OK;
    for (int32_t i = ASSAY_LINEAR_X; i <= ASSAY_LINEAR_W; i++) {
        assay_free(plain_in[i]);
        plain_in[i] = NULL;
    }
    return assay_error_nomem(err);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    assay_linear_reference_sums(p, in, row, first, n, out, NULL);
}

/* Operands are read as they come, whatever they are cast to. */
static struct assay_cost cost(const struct assay_problem *p)
{
    struct assay_recipe storage;
    const struct assay_recipe *recipe = assay_linear_recipe(p, &storage);
    int64_t m = axis(p, ASSAY_LINEAR_M), k = axis(p, ASSAY_LINEAR_K), n = axis(p, ASSAY_LINEAR_N);
    struct assay_cost c = assay_op_cost_streaming(p, 0);
    c.flops = 2.0 * (double)m * (double)k * (double)n;
    c.math =
        assay_linear_training_math(p->dtype, assay_recipe_casts_both(recipe, ASSAY_PRODUCT_OUTPUT));
    c.saved_bytes = assay_recipe_saved_bytes(recipe, p->dtype, m, k);
    return c;
}

/* As linear's, without activations. Codes are those of the definition to the bit, since operands
 * are inputs, so nothing is allowed for other ones; the reference rounds each code times its scale
 * to f32, which is far below the rest. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    const struct assay_dtype_info *info = assay_dtype_info(p->dtype);
    double summed = assay_op_sum_error(p->dtype, axis(p, ASSAY_LINEAR_K));
    return (struct assay_tolerance){.relative = info->unit + 6 * 0x1p-24,
                                    .absolute = info->tiny,
                                    .summed = summed + (adds_in_16_bits(p) ? 2 * info->unit : 0)};
}

const struct assay_op assay_op_linear_training = {
    .name = "linear_training",
    .title = "Linear in training",
    .summary = "x W^T + bias, x [m,k], W [n,k], where W changes with every call, too",
    .axis_names = {"m", "k", "n"},
    .param_names = {"bias", "activation", "norm", "add"},
    .shapes = assay_linear_shapes,
    .fill = assay_linear_fill,
    .reference = reference,
    .reference_sums = assay_linear_reference_sums,
    .cost = cost,
    .tolerance = tolerance,
    .modes = "bias",
    .set_mode = set_mode,
    .takes_recipes = true,
    .trains = true,
    .is_weight = is_weight,
    .fill_exact = fill_exact,
    .can_be_exact = can_be_exact,
    .dequantised = dequantised,
    .usual_shapes = "1024x1024x1024,4096x1024x1024",
    .sample_shapes = "16x512x512,37x1024x1000,512x1024x1024",
    .size_words = "rows of x, elements summed over, outputs",
    .help = "linear_training is linear's product in a training step, where W is no weight; its "
            "recipes, and linear_backward's, are those of training.",
};
