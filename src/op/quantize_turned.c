/* quantize_turned: x [m, k] to 8-bit floats [k, m] and their scales: a cast for a product that sums
 * over m, as dW = dY^T x does. A scale is that of a row of the output, a column of x, or of all.
 * Codes and scales are defined in quantize.h. */
#include "op/quantize.h"

#include "base/alloc.h"
#include "base/text.h"
#include "op/common.h"

enum { BLOCK = 512 };

static int64_t axis(const struct assay_problem *p, int i) { return p->axes[i]; }

static bool is_tensor(const struct assay_problem *p)
{
    return p->params[ASSAY_QUANTIZE_GROUP] == ASSAY_QUANTIZE_TENSOR;
}

static enum assay_status set_mode(struct assay_problem *p, const char *mode,
                                  struct assay_error *err)
{
    static const struct {
        const char *name;
        enum assay_dtype format;
        int scope;
    } modes[] = {{"e4m3-row", ASSAY_DTYPE_E4M3, ASSAY_QUANTIZE_ROW},
                 {"e4m3-tensor", ASSAY_DTYPE_E4M3, ASSAY_QUANTIZE_TENSOR},
                 {"e5m2-row", ASSAY_DTYPE_E5M2, ASSAY_QUANTIZE_ROW},
                 {"e5m2-tensor", ASSAY_DTYPE_E5M2, ASSAY_QUANTIZE_TENSOR}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (assay_text_same(mode[0] ? mode : "e4m3-row", modes[i].name)) {
            p->params[ASSAY_QUANTIZE_FORMAT] = modes[i].format;
            p->params[ASSAY_QUANTIZE_GROUP] = modes[i].scope;
            return ASSAY_OK;
        }
    return assay_error_set(err, ASSAY_ERR_INVALID, p->op,
                           "unknown mode \"%.40s\"; it is e4m3-row, e4m3-tensor, e5m2-row or "
                           "e5m2-tensor",
                           mode);
}

static void shapes(struct assay_problem *p)
{
    int64_t m = axis(p, ASSAY_QUANTIZE_M), k = axis(p, ASSAY_QUANTIZE_K);
    p->n_inputs = 1;
    p->n_outputs = 2;
    p->inputs[0] = assay_quantize_matrix(p, p->dtype);
    p->outputs[0] =
        (struct assay_tensor){.dtype = assay_quantize_format(p), .rank = 2, .dims = {k, m}};
    p->outputs[1] =
        (struct assay_tensor){.dtype = ASSAY_DTYPE_F32, .rank = 1, .dims = {is_tensor(p) ? 1 : k}};
}

/* x and the scales of its columns, found once. In place of x, marked by a dtype of none. */
struct known {
    const void *x;
    float scales[];
};

static void find_amax(const struct assay_problem *p, const void *x, float *amax)
{
    int64_t m = axis(p, ASSAY_QUANTIZE_M), k = axis(p, ASSAY_QUANTIZE_K);
    for (int64_t row = 0; row < m; row++)
        for (int64_t first = 0; first < k; first += BLOCK) {
            double values[BLOCK];
            int64_t n = k - first < BLOCK ? k - first : BLOCK;
            assay_dtype_load(p->dtype, x, row * k + first, n, values);
            for (int64_t i = 0; i < n; i++) {
                float *most = &amax[is_tensor(p) ? 0 : first + i], size = fabsf((float)values[i]);
                if (!(size <= *most) && !isnan(*most))
                    *most = size;
            }
        }
}

static enum assay_status find_scales(const struct assay_problem *p, const void *const *in,
                                     int32_t output, struct assay_problem *plain, void **plain_in,
                                     struct assay_error *err)
{
    int64_t n = is_tensor(p) ? 1 : axis(p, ASSAY_QUANTIZE_K);
    struct known *known = assay_calloc(1, sizeof *known + (size_t)n * sizeof(float));
    (void)output;
    *plain = *p;
    plain_in[0] = known;
    if (!known)
        return assay_error_nomem(err);
    known->x = in[0];
    find_amax(p, in[0], known->scales);
    for (int64_t i = 0; i < n; i++)
        known->scales[i] = assay_quant_scale(assay_quantize_format(p), known->scales[i]);
    plain->inputs[0].dtype = ASSAY_DTYPE_NONE;
    return ASSAY_OK;
}

static const struct known *known_of(const struct assay_problem *p, const void *const *in)
{
    return p->inputs[0].dtype == ASSAY_DTYPE_NONE ? in[0] : NULL;
}

/* The scale of a row of the output, found anew where it is not known. */
static float scale_of(const struct assay_problem *p, const void *const *in, int64_t row)
{
    const struct known *known = known_of(p, in);
    int64_t k = axis(p, ASSAY_QUANTIZE_K), count = axis(p, ASSAY_QUANTIZE_M) * k;
    float amax = 0;
    if (known)
        return known->scales[is_tensor(p) ? 0 : row];
    for (int64_t i = is_tensor(p) ? 0 : row; i < count; i += is_tensor(p) ? 1 : k) {
        double value;
        assay_dtype_load(p->dtype, in[0], i, 1, &value);
        float size = fabsf((float)value);
        amax = size <= amax || isnan(amax) ? amax : size;
    }
    return assay_quant_scale(assay_quantize_format(p), amax);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    const struct known *known = known_of(p, in);
    const void *x = known ? known->x : in[0];
    enum assay_dtype format = assay_quantize_format(p);
    float inverse = 1.0f / scale_of(p, in, row);
    for (int64_t i = 0; i < n; i++) {
        double value;
        assay_dtype_load(p->dtype, x, (first + i) * axis(p, ASSAY_QUANTIZE_K) + row, 1, &value);
        uint8_t code = assay_quantize_code(format, (float)value, inverse);
        assay_dtype_load(format, &code, 0, 1, &out[i]);
    }
}

static void reference_scales(const struct assay_problem *p, const void *const *in, int64_t row,
                             int64_t first, int64_t n, double *out)
{
    (void)row;
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)scale_of(p, in, first + i);
}

/* Finding the greatest magnitude, the product, the rounding. */
static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 3);
}

static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    (void)p;
    return (struct assay_tolerance){0};
}

static struct assay_tolerance tolerance_scales(const struct assay_problem *p)
{
    (void)p;
    return (struct assay_tolerance){.relative = 0x1p-22};
}

const struct assay_op assay_op_quantize_turned = {
    .name = "quantize_turned",
    .title = "Quantize and transpose",
    .summary = "x [m,k] to 8-bit floats [k,m], and a scale for each of their rows or for all",
    .axis_names = {"m", "k"},
    .param_names = {"format", "group"},
    .params = {ASSAY_DTYPE_E4M3, ASSAY_QUANTIZE_ROW},
    .shapes = shapes,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .modes = "e4m3-row, e4m3-tensor, e5m2-row or e5m2-tensor",
    .set_mode = set_mode,
    .dequantised = find_scales,
    .more = {{.reference = reference_scales, .tolerance = tolerance_scales}},
    .usual_shapes = "1024x4096",
    .usual_mode = "e4m3-row",
    .sample_shapes = "37x1024,1024x4096",
    .size_words = "rows, elements of each",
    .help = "quantize_turned takes the sizes of x, as quantize does, and gives its columns' codes.",
};
