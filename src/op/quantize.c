/* quantize: x [m, k] to codes of 8 or 4 bits and their scales; quantize.h says how. */
#include "op/quantize.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/text.h"
#include "op/common.h"

#include <stdio.h>

/* ---- modes and shapes, for dequantize too ---------------------------------------------------- */

static const enum assay_dtype formats[] = {ASSAY_DTYPE_S8, ASSAY_DTYPE_E4M3, ASSAY_DTYPE_E5M2,
                                           ASSAY_DTYPE_U4};
static const int scopes[] = {ASSAY_QUANTIZE_ROW, ASSAY_QUANTIZE_TENSOR, 256, 128, 64, 32};
enum { FORMATS = sizeof formats / sizeof formats[0], SCOPES = sizeof scopes / sizeof scopes[0] };
enum { MODE_SIZE = 16 };

static void mode_name(enum assay_dtype format, int scope, char *name)
{
    const char *text = assay_dtype_name(format);
    if (scope > 0)
        snprintf(name, MODE_SIZE, "%s-%d", text, scope);
    else
        snprintf(name, MODE_SIZE, "%s-%s", text, scope == ASSAY_QUANTIZE_ROW ? "row" : "tensor");
}

static enum assay_status unknown_mode(const struct assay_problem *p, const char *mode,
                                      struct assay_error *err)
{
    char names[FORMATS * SCOPES][MODE_SIZE];
    const char *candidates[FORMATS * SCOPES];
    for (int i = 0; i < FORMATS * SCOPES; i++) {
        mode_name(formats[i / SCOPES], scopes[i % SCOPES], names[i]);
        candidates[i] = names[i];
    }
    const char *nearest = assay_text_nearest(mode, candidates, FORMATS * SCOPES);
    return assay_error_set(err, ASSAY_ERR_INVALID, p->op,
                           "unknown mode \"%.40s\"; did you mean \"%s\"? A mode is %s", mode,
                           nearest ? nearest : "s8-row", ASSAY_QUANTIZE_MODES);
}

/* Groups must divide k, and rows of u4 must end with a whole byte. */
static enum assay_status check_k(const struct assay_problem *p, struct assay_error *err)
{
    enum assay_dtype format = assay_quantize_format(p);
    int64_t group = (int64_t)p->params[ASSAY_QUANTIZE_GROUP], k = p->axes[ASSAY_QUANTIZE_K];
    char name[MODE_SIZE], better[MODE_SIZE];
    mode_name(format, (int)group, name);
    if (format == ASSAY_DTYPE_U4 && k % 2 != 0)
        return assay_error_set(err, ASSAY_ERR_INVALID, p->op,
                               "%s: codes of 4 bits lie two to a byte, so k must be even, not %lld",
                               name, (long long)k);
    if (group <= 0 || k % group == 0)
        return ASSAY_OK;
    int fits = 2; /* the largest group that divides k, else a row */
    while (fits < SCOPES && k % scopes[fits] != 0)
        fits++;
    mode_name(format, fits < SCOPES ? scopes[fits] : ASSAY_QUANTIZE_ROW, better);
    return assay_error_set(err, ASSAY_ERR_INVALID, p->op,
                           "%s: group %lld does not divide k = %lld; %s does", name,
                           (long long)group, (long long)k, better);
}

enum assay_status assay_quantize_set_mode(struct assay_problem *p, const char *mode,
                                          struct assay_error *err)
{
    char name[MODE_SIZE];
    if (!mode[0])
        mode = "s8-row";
    for (int f = 0; f < FORMATS; f++)
        for (int s = 0; s < SCOPES; s++) {
            mode_name(formats[f], scopes[s], name);
            if (!assay_text_same(mode, name))
                continue;
            p->params[ASSAY_QUANTIZE_FORMAT] = formats[f];
            p->params[ASSAY_QUANTIZE_GROUP] = scopes[s];
            return check_k(p, err);
        }
    return unknown_mode(p, mode, err);
}

struct assay_tensor assay_quantize_matrix(const struct assay_problem *p, enum assay_dtype dtype)
{
    return (struct assay_tensor){
        .dtype = dtype, .rank = 2, .dims = {p->axes[ASSAY_QUANTIZE_M], p->axes[ASSAY_QUANTIZE_K]}};
}

int64_t assay_quantize_run(const struct assay_problem *p)
{
    int64_t group = (int64_t)p->params[ASSAY_QUANTIZE_GROUP];
    struct assay_tensor all = assay_quantize_matrix(p, p->dtype);
    return group > 0                     ? group
           : group == ASSAY_QUANTIZE_ROW ? p->axes[ASSAY_QUANTIZE_K]
                                         : assay_tensor_count(&all);
}

int64_t assay_quantize_runs(const struct assay_problem *p)
{
    struct assay_tensor all = assay_quantize_matrix(p, p->dtype);
    return assay_tensor_count(&all) / assay_quantize_run(p);
}

struct assay_tensor assay_quantize_scales(const struct assay_problem *p)
{
    bool ranged = assay_quantize_format(p) == ASSAY_DTYPE_U4;
    return (struct assay_tensor){.dtype = ASSAY_DTYPE_F32,
                                 .rank = ranged ? 2 : 1,
                                 .dims = {assay_quantize_runs(p), ranged ? 2 : 0}};
}

enum { BLOCK = 512 };

struct assay_quantize_step assay_quantize_step_of(enum assay_dtype format, enum assay_dtype dtype,
                                                  const void *x, int64_t first, int64_t n)
{
    double values[BLOCK];
    float amax = 0, least = INFINITY, most = -INFINITY;
    bool nan = false;
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        assay_dtype_load(dtype, x, first + done, count, values);
        for (int64_t i = 0; i < count; i++) {
            float value = (float)values[i];
            nan |= isnan(value);
            amax = fabsf(value) > amax ? fabsf(value) : amax;
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
    }
    if (format == ASSAY_DTYPE_U4)
        return assay_quantize_range(least, nan ? NAN : most);
    return assay_quantize_symmetric(format, nan ? NAN : amax);
}

void assay_quantize_codes(enum assay_dtype format, struct assay_quantize_step step,
                          enum assay_dtype dtype, const void *x, int64_t first, int64_t n,
                          uint8_t *codes)
{
    double values[BLOCK];
    float inverse = 1.0f / step.scale, low = assay_quantize_low(step);
    for (int64_t i = 0; i < n; i++) {
        if (i % BLOCK == 0)
            assay_dtype_load(dtype, x, first + i, n - i < BLOCK ? n - i : BLOCK, values);
        float value = (float)values[i % BLOCK];
        codes[i] = format == ASSAY_DTYPE_U4 ? assay_quantize_code_u4(value, low, step.scale)
                                            : assay_quantize_code(format, value, inverse);
    }
}

static void shapes(struct assay_problem *p)
{
    p->n_inputs = 1;
    p->n_outputs = 2;
    p->inputs[0] = assay_quantize_matrix(p, p->dtype);
    p->outputs[0] = assay_quantize_matrix(p, assay_quantize_format(p));
    p->outputs[1] = assay_quantize_scales(p);
}

/* Normal values and, about one in 500, outliers six times as large. */
static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    const struct assay_tensor *t = &p->inputs[index];
    assay_tensor_fill_normal(t, data, seed);
#pragma omp parallel for schedule(static)
    for (int64_t i = 1; i < assay_tensor_count(t); i++) {
        double value;
        if (assay_rng_at(~seed, (uint64_t)i) % 499 != 0)
            continue;
        assay_dtype_load(t->dtype, data, i, 1, &value);
        value *= 6;
        assay_dtype_store(t->dtype, &value, data, i, 1);
    }
}

/* ---- the reference: the codes themselves, bit for bit ---------------------------------------- */

/* x and, where one scale serves all of it, that scale: in place of x, so that it is not looked for
 * again for every piece of every row. Marked by a dtype of none. */
struct known {
    const void *x;
    struct assay_quantize_step step;
};

static bool is_known(const struct assay_problem *p)
{
    return p->inputs[0].dtype == ASSAY_DTYPE_NONE;
}

static struct assay_quantize_step step_of(const struct assay_problem *p, const void *x,
                                          int64_t first, int64_t n)
{
    return assay_quantize_step_of(assay_quantize_format(p), p->dtype, x, first, n);
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    uint8_t codes[BLOCK];
    enum assay_dtype format = assay_quantize_format(p);
    const struct known *known = is_known(p) ? in[0] : NULL;
    const void *x = known ? known->x : in[0];
    int64_t at = row * p->axes[ASSAY_QUANTIZE_K] + first, end = at + n;
    int64_t run = assay_quantize_run(p), run_end = 0;
    struct assay_quantize_step step = {0};
    for (int64_t count; at < end; at += count, out += count) {
        if (at >= run_end) {
            run_end = at / run * run + run;
            step = known ? known->step : step_of(p, x, run_end - run, run);
        }
        count = (run_end < end ? run_end : end) - at;
        count = count < BLOCK ? count : BLOCK;
        assay_quantize_codes(format, step, p->dtype, x, at, count, codes);
        for (int64_t i = 0; i < count; i++)
            assay_dtype_load(format, &codes[i], 0, 1, &out[i]);
    }
}

/* The scales: [runs], or for u4 [runs, 2]. */
static void reference_second(const struct assay_problem *p, const void *const *in, int64_t row,
                             int64_t first, int64_t n, double *out)
{
    const struct known *known = is_known(p) ? in[0] : NULL;
    int64_t run = assay_quantize_run(p), each = assay_quantize_format(p) == ASSAY_DTYPE_U4 ? 2 : 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t index = row * (each == 2 ? 2 : 0) + first + i;
        struct assay_quantize_step step =
            known ? known->step : step_of(p, in[0], index / each * run, run);
        out[i] = (double)(index % each ? step.zero : step.scale);
    }
}

static enum assay_status find_step(const struct assay_problem *p, const void *const *in,
                                   int32_t output, struct assay_problem *plain, void **plain_in,
                                   struct assay_error *err)
{
    (void)output;
    *plain = *p;
    plain_in[0] = NULL;
    if (p->params[ASSAY_QUANTIZE_GROUP] != ASSAY_QUANTIZE_TENSOR)
        return ASSAY_OK;
    struct known *known = assay_calloc(1, sizeof *known);
    if (!known)
        return assay_error_nomem(err);
    *known = (struct known){in[0], step_of(p, in[0], 0, assay_quantize_run(p))};
    plain->inputs[0].dtype = ASSAY_DTYPE_NONE;
    plain_in[0] = known;
    return ASSAY_OK;
}

/* Finding the greatest magnitude, the product, the rounding. */
static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 3);
}

/* One definition in f32, so one right code. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    (void)p;
    return (struct assay_tolerance){0};
}

/* A few units of f32; a zero may be what two large values leave of each other. */
static struct assay_tolerance tolerance_second(const struct assay_problem *p)
{
    bool ranged = assay_quantize_format(p) == ASSAY_DTYPE_U4;
    return (struct assay_tolerance){.relative = 0x1p-22, .absolute = ranged ? 1e-6 : 0};
}

const struct assay_op assay_op_quantize = {
    .name = "quantize",
    .title = "Quantize",
    .summary = "x [m,k] to codes of 8 or 4 bits, and their scales",
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
    .dequantised = find_step,
    .more = {{.reference = reference_second, .tolerance = tolerance_second}},
    .usual_shapes = "1024x4096",
    .usual_mode = "s8-row",
    .sample_shapes = "1x4096,37x1024,1024x4096",
    .size_words = "rows, elements of each",
    .help = "quantize and dequantize take --shape @ORDER@, @SHAPES@ where not given.",
    .skeleton = {"quantize", NULL, "64x512, 3x77"},
};
