/* int4_linear.c: the op linear with the recipe int4wo-128: y = x W^T, where W is kept as codes of 4
 * bits with a scale and a zero for each 128 of them along k.
 *
 *     w = (code - 8) * scale + zero = code * scale + low
 *
 * so that for each group y gains scale * sum(code * x) + low * sum(x); the sums of x serve all rows
 * of W. Codes are streamed once and widened in registers. In a group, byte i has code i in its low
 * half and code i + 64 in its high half: both halves then meet neighbours of x. */
#include <assay/assay_kernel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 128, HALF = GROUP / 2 };

/* The weights of one set of operands. */
struct packed {
    uint8_t *codes; /* [n][k / 2] */
    float *scales;  /* [n][k / GROUP][2]: scale and low */
};

struct state {
    int64_t m, k, n;
    enum assay_dtype dtype;
    int threads;
    struct packed *sets;
    int64_t n_sets;
    float *x, *sums; /* of x in f32, [m][k]; of its groups, [m][k / GROUP] */
};

static enum assay_status fail(struct assay_error *err, enum assay_status code, const char *why)
{
    if (err && err->code == ASSAY_OK) {
        err->code = code;
        snprintf(err->message, sizeof err->message, "%s", why);
    }
    return code;
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    if (!problem)
        return ASSAY_OK;
    if (!problem->recipe || strcmp(problem->recipe, "int4wo-128") != 0)
        return fail(why, ASSAY_UNSUPPORTED, "the recipe int4wo-128 only");
    for (int32_t i = 0; i < problem->n_params; i++)
        if (problem->params[i] != 0)
            return fail(why, ASSAY_UNSUPPORTED, "no bias, activation, norm or residual");
    return ASSAY_OK;
}

/* ---- bf16: the upper half of an f32 ---- */

static float from_bf16(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t to_bf16(float value) /* to nearest even; NaN stays NaN */
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void widen(enum assay_dtype dtype, const void *from, int64_t first, int64_t n, float *to)
{
    const uint16_t *halves = from;
    if (dtype == ASSAY_DTYPE_F32)
        memcpy(to, (const float *)from + first, (size_t)n * sizeof *to);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = from_bf16(halves[first + i]);
}

/* A scale or zero as it is stored: in the type of the weights. */
static float stored(enum assay_dtype dtype, float value)
{
    return dtype == ASSAY_DTYPE_F32 ? value : from_bf16(to_bf16(value));
}

/* ---- never timed: packing ---- */

/* The formulas are the recipe's (docs/recipes.md): another rounding would be another product. */
static void pack_group(enum assay_dtype dtype, const float *w, uint8_t *codes, float *scales)
{
    float least = w[0], most = w[0];
    for (int i = 1; i < GROUP; i++) {
        least = w[i] < least ? w[i] : least;
        most = w[i] > most ? w[i] : most;
    }
    float step = (most - least) / 15.0f, scale = step >= 1e-6f ? step : 1e-6f;
    float zero = least + 8 * scale;
    if (least == most) {
        scale = 1;
        zero = least;
    }
    scale = stored(dtype, scale);
    zero = stored(dtype, zero);
    float low = zero - 8 * scale;
    for (int i = 0; i < GROUP; i++) {
        float code = rintf((w[i] - low) / scale);
        unsigned bits = code < 0 ? 0 : code > 15 ? 15 : (unsigned)code;
        if (i < HALF)
            codes[i] = (uint8_t)bits;
        else
            codes[i - HALF] |= (uint8_t)(bits << 4);
    }
    scales[0] = scale;
    scales[1] = low;
}

static void pack(const struct state *s, const void *weights, const struct packed *to)
{
    int64_t groups = s->k / GROUP;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = 0; i < s->n * groups; i++) {
        float w[GROUP];
        widen(s->dtype, weights, i * GROUP, GROUP, w);
        pack_group(s->dtype, w, to->codes + i * HALF, to->scales + 2 * i);
    }
}

static size_t code_bytes(const struct state *s) { return (size_t)(s->n * s->k / 2); }
static size_t scale_bytes(const struct state *s)
{
    return (size_t)(s->n * (s->k / GROUP) * 2) * sizeof(float);
}

static size_t prepared_bytes(void *state) { return code_bytes(state) + scale_bytes(state); }

/* A place for set number `set`; they come in order from 0. */
static struct packed *place(struct state *s, int64_t set)
{
    if (set < s->n_sets)
        return &s->sets[set];
    struct packed *sets = realloc(s->sets, (size_t)(set + 1) * sizeof *sets);
    if (!sets)
        return NULL;
    s->sets = sets;
    struct packed fresh = {aligned_alloc(64, (code_bytes(s) + 63) / 64 * 64),
                           malloc(scale_bytes(s))};
    s->sets[s->n_sets++] = fresh;
    return &s->sets[set];
}

static enum assay_status prepare(void *state, int64_t set, const struct assay_args *args,
                                 struct assay_error *err)
{
    struct state *s = state;
    struct packed *to = place(s, set);
    if (!to || !to->codes || !to->scales)
        return fail(err, ASSAY_ERR_NOMEM, "no memory for the packed weights");
    if (set == 0) {
        pack(s, args->in[1], to);
    } else { /* all sets hold the same values */
        memcpy(to->codes, s->sets[0].codes, code_bytes(s));
        memcpy(to->scales, s->sets[0].scales, scale_bytes(s));
    }
    return ASSAY_OK;
}

static void teardown(void *state)
{
    struct state *s = state;
    for (int64_t i = 0; i < s->n_sets; i++) {
        free(s->sets[i].codes);
        free(s->sets[i].scales);
    }
    free(s->sets);
    free(s->x);
    free(s->sums);
    free(s);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return fail(err, ASSAY_ERR_NOMEM, "out of memory");
    s->m = problem->axes[0];
    s->k = problem->axes[1];
    s->n = problem->axes[2];
    s->dtype = problem->dtype;
    s->threads = problem->threads;
    s->x = malloc((size_t)(s->m * s->k) * sizeof *s->x);
    s->sums = malloc((size_t)(s->m * (s->k / GROUP)) * sizeof *s->sums);
    if (!s->x || !s->sums) {
        teardown(s);
        return fail(err, ASSAY_ERR_NOMEM, "out of memory");
    }
    *state = s;
    return ASSAY_OK;
}

/* ---- timed ---- */

static void widen_x(const struct state *s, const void *x)
{
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = 0; i < s->m * (s->k / GROUP); i++) {
        float *to = s->x + i * GROUP, sum = 0;
        widen(s->dtype, x, i * GROUP, GROUP, to);
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < GROUP; j++)
            sum += to[j];
        s->sums[i] = sum;
    }
}

/* One row of x times one row of W. */
static float dot(const uint8_t *codes, const float *scales, const float *x, const float *sums,
                 int64_t groups)
{
    float y = 0;
    for (int64_t g = 0; g < groups; g++, codes += HALF, x += GROUP) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < HALF; i++)
            sum += (float)(codes[i] & 15) * x[i] + (float)(codes[i] >> 4) * x[i + HALF];
        y += scales[2 * g] * sum + scales[2 * g + 1] * sums[g];
    }
    return y;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    int64_t groups = s->k / GROUP;
    for (int64_t call = 0; call < work->iters; call++) {
        const struct assay_args *args = assay_work_args(work, call);
        const struct packed *w = &s->sets[assay_work_set(work, call)];
        float *y = args->out[0];
        uint16_t *halves = args->out[0];
        widen_x(s, args->in[0]);
#pragma omp parallel for schedule(static) num_threads(s->threads)
        for (int64_t column = 0; column < s->n; column++)
            for (int64_t row = 0; row < s->m; row++) {
                float value = dot(w->codes + column * (s->k / 2), w->scales + column * groups * 2,
                                  s->x + row * s->k, s->sums + row * groups, groups);
                if (s->dtype == ASSAY_DTYPE_F32)
                    y[row * s->n + column] = value;
                else
                    halves[row * s->n + column] = to_bf16(value);
            }
    }
    return ASSAY_OK;
}

static const struct assay_kernel int4_linear = {
    .struct_size = sizeof int4_linear,
    .abi = ASSAY_KERNEL_ABI,
    .name = "linear_example_int4",
    .op = "linear",
    .implementation = "example",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .can_run = can_run,
    .setup = setup,
    .run = run,
    .teardown = teardown,
    .prepare = prepare,
    .prepared_bytes = prepared_bytes,
};
ASSAY_KERNELS(&int4_linear)
