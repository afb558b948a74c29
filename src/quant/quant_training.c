/* quant_training.c: recipes in training steps: which operand of which product is cast how, and the
 * definition of that cast. */
#include "quant/quant_recipe.h"

#include "base/alloc.h"

#include <math.h>

enum assay_status assay_recipe_trains(const struct assay_recipe *recipe, struct assay_error *why)
{
    if (recipe->trains || (recipe->quant && recipe->code == ASSAY_DTYPE_NONE))
        return ASSAY_OK;
    return assay_error_set(why, ASSAY_UNSUPPORTED, recipe->name,
                           "%s is not for training; float8dq-tensor, float8dq-row and "
                           "float8dq-row-gw-hp are",
                           recipe->name);
}

static bool has_operand(enum assay_training_product product, enum assay_training_operand operand)
{
    return product == ASSAY_PRODUCT_OUTPUT           ? operand != ASSAY_OPERAND_GRADIENT
           : product == ASSAY_PRODUCT_INPUT_GRADIENT ? operand != ASSAY_OPERAND_INPUT
                                                     : operand != ASSAY_OPERAND_WEIGHT;
}

/* Does the product sum over the operand's rows, so that what is summed lies in a column? */
static bool sums_rows(enum assay_training_product product, enum assay_training_operand operand)
{
    return product == ASSAY_PRODUCT_WEIGHT_GRADIENT ||
           (product == ASSAY_PRODUCT_INPUT_GRADIENT && operand == ASSAY_OPERAND_WEIGHT);
}

struct assay_cast assay_recipe_cast(const struct assay_recipe *recipe,
                                    enum assay_training_product product,
                                    enum assay_training_operand operand)
{
    struct assay_cast cast = {ASSAY_DTYPE_NONE, ASSAY_SCOPE_NONE};
    if (!recipe->trains || !has_operand(product, operand) ||
        recipe->precise_operands >> operand & 1 || recipe->precise_products >> product & 1)
        return cast;
    bool tensor = recipe->scope == ASSAY_SCOPE_TENSOR;
    cast.code = tensor && operand == ASSAY_OPERAND_GRADIENT ? ASSAY_DTYPE_E5M2 : ASSAY_DTYPE_E4M3;
    cast.scope = tensor                        ? ASSAY_SCOPE_TENSOR
                 : sums_rows(product, operand) ? ASSAY_SCOPE_COLUMN
                                               : ASSAY_SCOPE_ROW;
    return cast;
}

bool assay_recipe_casts_both(const struct assay_recipe *recipe, enum assay_training_product product)
{
    bool both = true;
    for (int i = 0; i < ASSAY_OPERANDS; i++) {
        enum assay_training_operand operand = (enum assay_training_operand)i;
        if (has_operand(product, operand))
            both &= assay_recipe_cast(recipe, product, operand).code != ASSAY_DTYPE_NONE;
    }
    return both;
}

static int64_t scopes_of(enum assay_quant_scope scope, int64_t rows, int64_t columns)
{
    return scope == ASSAY_SCOPE_ROW ? rows : scope == ASSAY_SCOPE_COLUMN ? columns : 1;
}

static int64_t scope_at(enum assay_quant_scope scope, int64_t row, int64_t column)
{
    return scope == ASSAY_SCOPE_ROW ? row : scope == ASSAY_SCOPE_COLUMN ? column : 0;
}

/* The greatest magnitude of each scope; NaN where there is one. */
static void find_amax(enum assay_quant_scope scope, const float *x, int64_t rows, int64_t columns,
                      float *amax)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            float *most = &amax[scope_at(scope, i, j)], size = fabsf(x[i * columns + j]);
            if (!(size <= *most) && !isnan(*most))
                *most = size;
        }
}

static float cast_one(enum assay_dtype code, float x, float scale)
{
    float scaled = x * (1.0f / scale);
    return (code == ASSAY_DTYPE_E4M3 ? assay_e4m3_to_f32(assay_e4m3_from_f32(scaled))
                                     : assay_e5m2_to_f32(assay_e5m2_from_f32(scaled))) *
           scale;
}

enum assay_status assay_quant_cast(struct assay_cast cast, const float *x, int64_t rows,
                                   int64_t columns, float *out)
{
    if (cast.code == ASSAY_DTYPE_NONE) {
        if (out != x)
            memcpy(out, x, (size_t)(rows * columns) * sizeof *out);
        return ASSAY_OK;
    }
    int64_t scopes = scopes_of(cast.scope, rows, columns);
    float *scales = assay_calloc((size_t)scopes, sizeof *scales);
    if (!scales)
        return ASSAY_ERR_NOMEM;
    find_amax(cast.scope, x, rows, columns, scales);
    for (int64_t i = 0; i < scopes; i++)
        scales[i] = assay_quant_scale(cast.code, scales[i]);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            out[i * columns + j] =
                cast_one(cast.code, x[i * columns + j], scales[scope_at(cast.scope, i, j)]);
    assay_free(scales);
    return ASSAY_OK;
}

double assay_recipe_saved_bytes(const struct assay_recipe *recipe, enum assay_dtype dtype,
                                int64_t m, int64_t k)
{
    struct assay_cast cast =
        assay_recipe_cast(recipe, ASSAY_PRODUCT_WEIGHT_GRADIENT, ASSAY_OPERAND_INPUT);
    double count = (double)m * (double)k;
    if (cast.code == ASSAY_DTYPE_NONE)
        return count * (double)assay_dtype_bytes(dtype);
    return count + (double)scopes_of(cast.scope, m, k) * sizeof(float);
}
