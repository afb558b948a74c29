/* wrong_linear.c: kernels of `linear` in plain loops: two that are right, and others that are right
 * but for one mistake each, the one their name says. Every mistake is one that people make. */
#include <assay/assay_kernel.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum recipe { BASELINE, INT8WO, INT8DQ, INT4WO_32, RECIPES };
static const char *const recipe_names[RECIPES] = {"baseline", "int8wo", "int8dq", "int4wo-32"};

enum mistake {
    NONE,
    WRONG_SCALE,   /* row 1 has the scale of row 0 */
    SWAPPED_GROUP, /* the scales and zeros of two groups of one row are exchanged */
    SHORT_K,       /* the last element of k is left out */
    TRANSPOSED,    /* y^T */
    ROUNDED_SUMS,  /* sums are rounded to bf16 at every step */
    CACHED,        /* the first output is kept and returned ever after */
    STALE_WEIGHTS, /* weights that were prepared once are not prepared again */
    SHORT_N,       /* the last column has the weights of the last but one */
};

/* Weights as a recipe has them: codes, and for each group (or row) a scale and a zero. */
struct weights {
    float *codes, *scales, *zeros;
};

struct linear {
    int64_t m, k, n, group; /* group: elements that share a scale */
    enum assay_dtype dtype;
    enum recipe recipe;
    enum mistake mistake;
    struct weights *sets;
    int64_t n_sets;
    float *x; /* one row of it */
    void *kept;
    bool has_kept;
};

static float load(enum assay_dtype dtype, const void *data, int64_t i)
{
    float value;
    if (dtype == ASSAY_DTYPE_F32)
        return ((const float *)data)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)data)[i] << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float rounded(enum assay_dtype dtype, float value)
{
    uint16_t half = to_bf16(value);
    return dtype == ASSAY_DTYPE_F32 ? value : load(dtype, &half, 0);
}

static void store(enum assay_dtype dtype, void *data, int64_t i, float value)
{
    if (dtype == ASSAY_DTYPE_F32)
        ((float *)data)[i] = value;
    else
        ((uint16_t *)data)[i] = to_bf16(value);
}

static float within(float value, float least, float most)
{
    return value < least ? least : value > most ? most : value;
}

/* docs/recipes.md: amax / 127.5. */
static float to_s8(const float *w, int64_t n, float *codes)
{
    float amax = 0;
    for (int64_t i = 0; i < n; i++)
        amax = fmaxf(amax, fabsf(w[i]));
    float scale = amax > 0 ? amax / 127.5f : 1, inverse = 1.0f / scale;
    for (int64_t i = 0; i < n; i++)
        codes[i] = rintf(within(w[i] * inverse, -128, 127));
    return scale;
}

/* docs/recipes.md: (most - least) / 15, code 8 stands for the zero. */
static void to_u4(enum assay_dtype dtype, const float *w, int64_t n, float *codes, float *scale,
                  float *zero)
{
    float least = w[0], most = w[0];
    for (int64_t i = 0; i < n; i++) {
        least = fminf(least, w[i]);
        most = fmaxf(most, w[i]);
    }
    float step = least == most ? 1 : fmaxf((most - least) / 15, 1e-6f);
    *zero = rounded(dtype, least == most ? least : least + 8 * step);
    *scale = rounded(dtype, step);
    for (int64_t i = 0; i < n; i++)
        codes[i] = rintf(within((w[i] - (*zero - 8 * *scale)) / *scale, 0, 15)) - 8;
}

static void swap(float *a, float *b)
{
    float held = *a;
    *a = *b;
    *b = held;
}

static void spoil(const struct linear *s, struct weights *w)
{
    int64_t groups = s->k / s->group;
    if (s->mistake == WRONG_SCALE && s->n > 1)
        w->scales[groups] = w->scales[0];
    if (s->mistake == SWAPPED_GROUP && groups > 1) {
        int64_t at = s->n / 2 * groups;
        swap(&w->scales[at], &w->scales[at + 1]);
        swap(&w->zeros[at], &w->zeros[at + 1]);
    }
    if (s->mistake == SHORT_N && s->n > 1) {
        float *last = w->codes + (s->n - 1) * s->k;
        memcpy(last, last - s->k, (size_t)s->k * sizeof *last);
    }
}

static void fill_weights(const struct linear *s, const void *in, struct weights *w)
{
    int64_t groups = s->n * s->k / s->group;
    for (int64_t i = 0; i < s->n * s->k; i++)
        w->codes[i] = load(s->dtype, in, i);
    for (int64_t g = 0; g < groups; g++) {
        float *codes = w->codes + g * s->group;
        w->scales[g] = 1;
        w->zeros[g] = 0;
        if (s->recipe == INT4WO_32)
            to_u4(s->dtype, codes, s->group, codes, &w->scales[g], &w->zeros[g]);
        else if (s->recipe != BASELINE)
            w->scales[g] = to_s8(codes, s->group, codes);
    }
    spoil(s, w);
}

/* All sets hold the same values. */
static void copy_weights(const struct linear *s, const struct weights *from, struct weights *to)
{
    size_t groups = (size_t)(s->n * s->k / s->group);
    memcpy(to->codes, from->codes, (size_t)(s->n * s->k) * sizeof *to->codes);
    memcpy(to->scales, from->scales, groups * sizeof *to->scales);
    memcpy(to->zeros, from->zeros, groups * sizeof *to->zeros);
}

static bool make_weights(const struct linear *s, struct weights *w)
{
    size_t groups = (size_t)(s->n * s->k / s->group);
    w->codes = calloc((size_t)(s->n * s->k), sizeof *w->codes);
    w->scales = calloc(groups, sizeof *w->scales);
    w->zeros = calloc(groups, sizeof *w->zeros);
    return w->codes && w->scales && w->zeros;
}

static void forget(struct linear *s)
{
    for (int64_t i = 0; i < s->n_sets; i++) {
        free(s->sets[i].codes);
        free(s->sets[i].scales);
        free(s->sets[i].zeros);
    }
    s->n_sets = 0;
}

static enum assay_status prepare(void *state, int64_t set, const struct assay_args *args,
                                 struct assay_error *err)
{
    struct linear *s = state;
    (void)err;
    if (set == 0 && s->n_sets > 0 && s->mistake == STALE_WEIGHTS)
        return ASSAY_OK;
    if (set == 0)
        forget(s);
    struct weights *grown = realloc(s->sets, (size_t)(set + 1) * sizeof *grown);
    if (!grown)
        return ASSAY_ERR_NOMEM;
    s->sets = grown;
    s->sets[set] = (struct weights){0};
    s->n_sets = set + 1;
    if (!make_weights(s, &s->sets[set]))
        return ASSAY_ERR_NOMEM;
    if (set == 0)
        fill_weights(s, args->in[1], &s->sets[0]);
    else
        copy_weights(s, &s->sets[0], &s->sets[set]);
    return ASSAY_OK;
}

static size_t prepared_bytes(void *state)
{
    const struct linear *s = state;
    return (size_t)(s->n * s->k + 2 * s->n * s->k / s->group) * sizeof(float);
}

static void teardown(void *state)
{
    struct linear *s = state;
    forget(s);
    free(s->sets);
    free(s->x);
    free(s->kept);
    free(s);
}

static float dot_in_bf16(const float *x, const float *w, int64_t k)
{
    float sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum = rounded(ASSAY_DTYPE_BF16, sum + x[i] * w[i]);
    return sum;
}

static float dot(const struct linear *s, const struct weights *w, int64_t column)
{
    int64_t k = s->mistake == SHORT_K ? s->k - 1 : s->k, groups = s->k / s->group;
    const float *codes = w->codes + column * s->k;
    double sum = 0;
    if (s->mistake == ROUNDED_SUMS)
        return dot_in_bf16(s->x, codes, k);
    for (int64_t group = 0; group < groups; group++) {
        float scale = w->scales[column * groups + group], zero = w->zeros[column * groups + group];
        for (int64_t i = group * s->group; i < (group + 1) * s->group && i < k; i++) {
            float weight = codes[i] * scale; /* rounded before the zero is added */
            weight += zero;
            sum += (double)s->x[i] * (double)weight;
        }
    }
    return (float)sum;
}

static float load_row(struct linear *s, const void *x, int64_t row)
{
    for (int64_t i = 0; i < s->k; i++)
        s->x[i] = load(s->dtype, x, row * s->k + i);
    return s->recipe == INT8DQ ? to_s8(s->x, s->k, s->x) : 1;
}

static void compute(struct linear *s, const struct weights *w, const void *x, void *y)
{
    for (int64_t i = 0; i < s->m; i++) {
        float x_scale = load_row(s, x, i);
        for (int64_t j = 0; j < s->n; j++) {
            int64_t at = s->mistake == TRANSPOSED ? j * s->m + i : i * s->n + j;
            store(s->dtype, y, at, x_scale * dot(s, w, j));
        }
    }
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    struct linear *s = state;
    size_t bytes = (size_t)(s->m * s->n) * (s->dtype == ASSAY_DTYPE_F32 ? 4 : 2);
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        int64_t set = assay_work_set(work, i);
        if (!s->has_kept)
            compute(s, &s->sets[set], args->in[0], args->out[0]);
        else
            memcpy(args->out[0], s->kept, bytes);
        if (s->mistake == CACHED && !s->has_kept) {
            memcpy(s->kept, args->out[0], bytes);
            s->has_kept = true;
        }
    }
    return ASSAY_OK;
}

static enum assay_status run_activations(void *state, const struct assay_work *work)
{
    struct linear *s = state;
    for (int64_t i = 0; i < work->iters; i++)
        for (int64_t row = 0; row < s->m; row++)
            load_row(s, assay_work_args(work, i)->in[0], row);
    return ASSAY_OK;
}

/* Without prepare: the weights are quantised in every call. */
static enum assay_status run_plain(void *state, const struct assay_work *work)
{
    struct linear *s = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        status = prepare(s, 0, args, NULL);
        if (status == ASSAY_OK)
            compute(s, &s->sets[0], args->in[0], args->out[0]);
    }
    return status;
}

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    (void)problem;
    snprintf(text, size, "plain loops");
}

static int find_recipe(const char *name)
{
    for (int i = 0; i < RECIPES; i++)
        if (name && strcmp(name, recipe_names[i]) == 0)
            return i;
    return -1;
}

static enum assay_status refuse(struct assay_error *why, const char *text)
{
    if (why) {
        why->code = ASSAY_UNSUPPORTED;
        snprintf(why->message, sizeof why->message, "%s", text);
    }
    return ASSAY_UNSUPPORTED;
}

/* `recipes` has a bit for each one the mistake can be made with. */
static enum assay_status takes(const struct assay_problem *p, struct assay_error *why,
                               unsigned recipes, bool square)
{
    if (!p)
        return ASSAY_OK;
    int recipe = find_recipe(p->recipe);
    if (recipe < 0 || !(recipes >> recipe & 1))
        return refuse(why, "not this recipe");
    if (recipe == INT4WO_32 && p->axes[1] % 32)
        return refuse(why, "only whole groups");
    if (p->params[0] != 0 || p->params[1] != 0)
        return refuse(why, "no modes");
    if (square && p->axes[0] != p->axes[2])
        return refuse(why, "only m = n");
    return ASSAY_OK;
}

static enum assay_status setup_with(const struct assay_problem *p, enum mistake mistake,
                                    void **state)
{
    struct linear *s = calloc(1, sizeof *s);
    if (!s)
        return ASSAY_ERR_NOMEM;
    s->m = p->axes[0];
    s->k = p->axes[1];
    s->n = p->axes[2];
    s->dtype = p->dtype;
    s->recipe = (enum recipe)find_recipe(p->recipe);
    s->group = s->recipe == INT4WO_32 ? 32 : s->k;
    s->mistake = mistake;
    s->x = calloc((size_t)s->k, sizeof *s->x);
    s->kept = calloc((size_t)(s->m * s->n), sizeof(float));
    *state = s;
    if (s->x && s->kept)
        return ASSAY_OK;
    teardown(s);
    return ASSAY_ERR_NOMEM;
}

#define F32 ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32)
#define BF16 ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16)
#define EVERY 0xfu
#define ONLY(recipe) (1u << (recipe))

/* A kernel `ident` of the implementation `family`; further fields follow. */
#define LINEAR(ident, family, mistake_, dtypes_, recipes_, ...)                                    \
    static enum assay_status can_run_##ident(const struct assay_problem *p,                        \
                                             struct assay_error *why)                              \
    {                                                                                              \
        return takes(p, why, recipes_, mistake_ == TRANSPOSED);                                    \
    }                                                                                              \
    static enum assay_status setup_##ident(const struct assay_problem *p, void **state,            \
                                           struct assay_error *err)                                \
    {                                                                                              \
        (void)err;                                                                                 \
        return setup_with(p, mistake_, state);                                                     \
    }                                                                                              \
    static const struct assay_kernel kernel_##ident = {.struct_size = sizeof(struct assay_kernel), \
                                                       .abi = ASSAY_KERNEL_ABI,                    \
                                                       .name = #ident,                             \
                                                       .op = "linear",                             \
                                                       .implementation = family,                   \
                                                       .device = "cpu",                            \
                                                       .dtypes = dtypes_,                          \
                                                       .can_run = can_run_##ident,                 \
                                                       .setup = setup_##ident,                     \
                                                       .teardown = teardown,                       \
                                                       __VA_ARGS__};

#define PREPARED .prepare = prepare, .prepared_bytes = prepared_bytes, .run = run

LINEAR(right, "right", NONE, F32 | BF16, EVERY, PREPARED, .run_activations = run_activations,
       .note = note, .preference = 2)
LINEAR(right_plain, "right", NONE, F32 | BF16, EVERY, .run = run_plain, .preference = 1)
LINEAR(wrong_scale, "wrong_scale", WRONG_SCALE, F32 | BF16, ONLY(INT8WO) | ONLY(INT8DQ), PREPARED)
LINEAR(swapped_group, "swapped_group", SWAPPED_GROUP, F32 | BF16, ONLY(INT4WO_32), PREPARED)
LINEAR(short_k, "short_k", SHORT_K, F32 | BF16, EVERY, PREPARED)
LINEAR(short_n, "short_n", SHORT_N, F32 | BF16, EVERY, PREPARED)
LINEAR(transposed, "transposed", TRANSPOSED, F32 | BF16, EVERY, PREPARED)
LINEAR(rounded_sums, "rounded_sums", ROUNDED_SUMS, BF16, ONLY(BASELINE), PREPARED)
LINEAR(cached, "cached", CACHED, F32 | BF16, EVERY, PREPARED)
LINEAR(stale_weights, "stale_weights", STALE_WEIGHTS, F32 | BF16, EVERY, PREPARED)

/* Prepares nothing, and says so in one of three ways. */
static enum assay_status prepare_unable(void *state, int64_t set, const struct assay_args *args,
                                        struct assay_error *err)
{
    (void)state, (void)set, (void)args;
    return refuse(err, "not on a Monday");
}

static enum assay_status prepare_nomem(void *state, int64_t set, const struct assay_args *args,
                                       struct assay_error *err)
{
    (void)state, (void)set, (void)args, (void)err;
    return ASSAY_ERR_NOMEM;
}

/* Keeps set 0 only; it has no memory for more. */
static enum assay_status prepare_one(void *state, int64_t set, const struct assay_args *args,
                                     struct assay_error *err)
{
    return set == 0 ? prepare(state, set, args, err) : ASSAY_ERR_NOMEM;
}

LINEAR(unable, "unable", NONE, F32 | BF16, EVERY, .prepare = prepare_unable,
       .prepared_bytes = prepared_bytes, .run = run)
LINEAR(no_room, "no_room", NONE, F32 | BF16, EVERY, .prepare = prepare_nomem,
       .prepared_bytes = prepared_bytes, .run = run)
LINEAR(one_set, "one_set", NONE, F32 | BF16, EVERY, .prepare = prepare_one,
       .prepared_bytes = prepared_bytes, .run = run)

/* Knows nothing of recipes, and has no can_run to say so. */
static enum assay_status setup_ignorant(const struct assay_problem *p, void **state,
                                        struct assay_error *err)
{
    struct assay_problem plain = *p;
    (void)err;
    plain.recipe = "baseline";
    return setup_with(&plain, NONE, state);
}

static const struct assay_kernel kernel_ignorant = {
    .struct_size = sizeof(struct assay_kernel),
    .abi = ASSAY_KERNEL_ABI,
    .name = "ignorant",
    .op = "linear",
    .implementation = "ignorant",
    .device = "cpu",
    .dtypes = F32 | BF16,
    .setup = setup_ignorant,
    .teardown = teardown,
    .run = run_plain,
};

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {
        &kernel_right,   &kernel_right_plain,   &kernel_wrong_scale, &kernel_swapped_group,
        &kernel_short_k, &kernel_short_n,       &kernel_transposed,  &kernel_rounded_sums,
        &kernel_cached,  &kernel_stale_weights, &kernel_unable,      &kernel_no_room,
        &kernel_one_set, &kernel_ignorant,
    };
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
