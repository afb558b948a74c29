/* int4_linear.c: the op linear with the recipe int4wo-128: y = x W^T, where W is kept as codes of 4
 * bits with a scale and a zero for each 128 of them along k.
 *
 *     w = (code - 8) * scale + zero = code * scale + low
 *
 * so that for each group y gains scale * sum(code * x) + low * sum(x); the sums of x serve all rows
 * of W. The 128 codes of a group are 16 words, and code i is in word i % 16 at bit i / 16 * 4: a
 * shift and a mask give 16 codes that meet 16 neighbours of x. */
#include <assay/assay_kernel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 128, LANES = 16, CODES = GROUP / LANES /* in a word */ };

/* The weights of one set of operands. */
struct packed {
    int32_t *codes; /* [n][k / GROUP][LANES] */
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
static void pack_group(enum assay_dtype dtype, const float *w, int32_t *codes, float *scales)
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
    for (int lane = 0; lane < LANES; lane++) {
        uint32_t word = 0;
        for (int i = 0; i < CODES; i++) {
            float code = rintf((w[i * LANES + lane] - low) / scale);
            word |= (code < 0 ? 0 : code > 15 ? 15 : (uint32_t)code) << 4 * i;
        }
        codes[lane] = (int32_t)word;
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
        pack_group(s->dtype, w, to->codes + i * LANES, to->scales + 2 * i);
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

enum { ROWS = 4 };
typedef int32_t ints __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef float floats __attribute__((vector_size(LANES * sizeof(float))));

/* `rows` rows of x from `row` on, times one row of W: codes are widened once for all of them. */
static inline __attribute__((always_inline)) void products(const struct state *s,
                                                           const struct packed *w, int64_t column,
                                                           int64_t row, const int rows, float *y)
{
    int64_t groups = s->k / GROUP;
    const int32_t *codes = w->codes + column * groups * LANES;
    const float *scales = w->scales + column * groups * 2, *x = s->x + row * s->k;
    floats total[ROWS] = {0};
    float rest[ROWS] = {0};
    for (int64_t g = 0; g < groups; g++, codes += LANES, scales += 2, x += GROUP) {
        floats part[ROWS] = {0};
        ints words;
        memcpy(&words, codes, sizeof words);
        for (int i = 0; i < CODES; i++) {
            floats code = __builtin_convertvector(words >> 4 * i & 15, floats);
            for (int r = 0; r < rows; r++) {
                floats values;
                memcpy(&values, x + r * s->k + i * LANES, sizeof values);
                part[r] += code * values;
            }
        }
        for (int r = 0; r < rows; r++) {
            total[r] += scales[0] * part[r];
            rest[r] += scales[1] * s->sums[(row + r) * groups + g];
        }
    }
    for (int r = 0; r < rows; r++) {
        y[r] = rest[r];
        for (int lane = 0; lane < LANES; lane++)
            y[r] += total[r][lane];
    }
}

static void store(const struct state *s, void *y, int64_t at, float value)
{
    if (s->dtype == ASSAY_DTYPE_F32)
        ((float *)y)[at] = value;
    else
        ((uint16_t *)y)[at] = to_bf16(value);
}

static void one_column(const struct state *s, const struct packed *w, int64_t column, void *y)
{
    float values[ROWS];
    int64_t row = 0;
    for (; row + ROWS <= s->m; row += ROWS) {
        products(s, w, column, row, ROWS, values);
        for (int r = 0; r < ROWS; r++)
            store(s, y, (row + r) * s->n + column, values[r]);
    }
    for (; row < s->m; row++) {
        products(s, w, column, row, 1, values);
        store(s, y, row * s->n + column, values[0]);
    }
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    for (int64_t call = 0; call < work->iters; call++) {
        const struct assay_args *args = assay_work_args(work, call);
        const struct packed *w = &s->sets[assay_work_set(work, call)];
        widen_x(s, args->in[0]);
#pragma omp parallel for schedule(static) num_threads(s->threads)
        for (int64_t column = 0; column < s->n; column++)
            one_column(s, w, column, args->out[0]);
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
