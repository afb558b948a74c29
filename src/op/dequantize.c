/* dequantize: codes of 8 or 4 bits and their scales back to [m, k]; quantize.h says how they lie.
 */
#include "base/rng.h"
#include "op/common.h"
#include "op/quantize.h"

enum { CODES, SCALES }; /* inputs */

static void shapes(struct assay_problem *p)
{
    p->n_inputs = 2;
    p->n_outputs = 1;
    p->inputs[CODES] = assay_quantize_matrix(p, assay_quantize_format(p));
    p->inputs[SCALES] = assay_quantize_scales(p);
    p->outputs[0] = assay_quantize_matrix(p, p->dtype);
}

/* Any code but NaN and infinity: those are the greatest of their sign. */
static uint8_t code_at(enum assay_dtype format, uint64_t seed, int64_t i)
{
    uint64_t bits = assay_rng_at(seed, (uint64_t)i);
    unsigned most = format == ASSAY_DTYPE_E4M3 ? 0x7e : 0x7b;
    if (format == ASSAY_DTYPE_E4M3 || format == ASSAY_DTYPE_E5M2)
        return (uint8_t)(((bits & 1) << 7) | (bits >> 8) % (most + 1));
    return (uint8_t)bits;
}

static void fill_codes(const struct assay_tensor *t, uint8_t *out, uint64_t seed)
{
    int64_t bytes = (int64_t)assay_tensor_bytes(t);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < bytes; i++)
        out[i] = code_at(t->dtype, seed, i);
    out[0] = 0x3c; /* never all zeros */
}

/* Scales between 1/64 and 1/32, so that the largest e5m2 stays within f16; zeros between -1/4 and
 * 1/4. */
static void fill_scales(const struct assay_tensor *t, float *out, uint64_t seed)
{
    int64_t count = assay_tensor_count(t);
    bool ranged = t->rank == 2;
    for (int64_t i = 0; i < count; i++) {
        float uniform = (float)(assay_rng_at(seed, (uint64_t)i) >> 41) * 0x1p-23f;
        out[i] = ranged && i % 2 ? uniform * 0.5f - 0.25f : (1 + uniform) * 0x1p-6f;
    }
}

static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    if (index == CODES)
        fill_codes(&p->inputs[index], data, seed);
    else
        fill_scales(&p->inputs[index], data, seed);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    const float *scales = in[SCALES];
    bool ranged = assay_quantize_format(p) == ASSAY_DTYPE_U4;
    int64_t at = row * p->axes[ASSAY_QUANTIZE_K] + first, run = assay_quantize_run(p);
    assay_dtype_load(p->inputs[CODES].dtype, in[CODES], at, n, out);
    for (int64_t i = 0; i < n; i++) {
        int64_t r = (at + i) / run;
        out[i] = ranged ? (out[i] - 8) * (double)scales[2 * r] + (double)scales[2 * r + 1]
                        : out[i] * (double)scales[r];
    }
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 2);
}

/* What may cancel in u4 is at most 8 / 32 (see fill_scales). */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    bool ranged = assay_quantize_format(p) == ASSAY_DTYPE_U4;
    return assay_op_tolerance_elementwise(p, ranged ? 0.25 : 0);
}

const struct assay_op assay_op_dequantize = {
    .name = "dequantize",
    .title = "Dequantize",
    .summary = "codes of 8 or 4 bits and their scales to y [m,k]",
    .axis_names = {"m", "k"},
    .param_names = {"format", "group"},
    .params = {ASSAY_DTYPE_S8, ASSAY_QUANTIZE_ROW},
    .shapes = shapes,
    .fill = fill,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .modes = ASSAY_QUANTIZE_MODES,
    .set_mode = assay_quantize_set_mode,
    .usual_shapes = "1024x4096",
    .usual_mode = "s8-row",
    .sample_shapes = "1x4096,37x1024,1024x4096",
    .size_words = "rows, elements of each",
    .help = "",
    .skeleton = {"dequantize", NULL, "64x512, 3x77"},
};
