/* int4wo_hqq.c: int4wo with scale and zero from half-quadratic quantisation (Badri and Shaji, 2023;
 * the iteration is in quant_loops_body.h, its formulas in docs/recipes.md).
 *
 * The iteration moves the zero of a given scale. Scales come from the range of the group, whole and
 * clipped: where tails are heavy, a few weights cut off cost less than wide steps for all others.
 * What counts in the end is the squared error with scale and zero as they are stored, and the plain
 * recipe is one of the candidates, so that no group comes out worse than with it. */
#include "quant/quant_loops.h"
#include "quant/quant_recipe.h"

#include <assert.h>

enum { LARGEST_GROUP = 256 };

static bool parse(const char *name, struct assay_recipe *out)
{
    out->code = ASSAY_DTYPE_U4;
    out->scope = ASSAY_SCOPE_GROUP;
    return assay_recipe_match("int4wo-G-hqq", name, NULL, &out->group);
}

static float mean_of(const float *w, int64_t count)
{
    float sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += w[i];
    return sum / (float)count;
}

static void solve(const struct assay_recipe *recipe, enum assay_dtype dtype, const float *w,
                  int64_t count, float *scale, float *zero)
{
    static const float clips[] = {1, 0.95f, 0.9f, 0.85f, 0.8f, 0.75f, 0.7f, 0.62f, 0.54f, 0.46f};
    const struct assay_quant_loops *loops = assay_quant_loops();
    float v[LARGEST_GROUP];
    assert(count <= LARGEST_GROUP && count % 16 == 0);
    assay_solve_asymmetric(recipe, dtype, w, count, scale, zero);
    float whole = *scale, mean = mean_of(w, count);
    float middle = *zero - 0.5f * whole; /* of the range: code 7.5 */
    *scale = assay_recipe_round(dtype, *scale);
    *zero = assay_recipe_round(dtype, *zero);
    float least = loops->error_u4(w, count, *scale, *zero);
    for (size_t c = 0; c < sizeof clips / sizeof clips[0]; c++) {
        float step = assay_recipe_round(dtype, whole * clips[c]);
        if (!(step > 0))
            continue;
        for (int64_t i = 0; i < count; i++)
            v[i] = w[i] / step;
        /* A clipped range is centred nearer the mean: the tail that is cut off is the longer one.
         */
        float z = 7.5f - (mean + clips[c] * (middle - mean)) / step;
        loops->hqq(v, count, &z);
        float own_zero = assay_recipe_round(dtype, (8 - z) * step);
        float error = loops->error_u4(w, count, step, own_zero);
        if (error < least) {
            least = error;
            *scale = step;
            *zero = own_zero;
        }
    }
}

const struct assay_quant assay_quant_int4wo_hqq = {
    .pattern = "int4wo-G-hqq",
    .summary = "the same storage, scale and zero optimised (half-quadratic)",
    .usual = "int4wo-128-hqq",
    .parse = parse,
    .solve = solve,
};
