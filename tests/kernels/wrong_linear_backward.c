/* wrong_linear_backward.c: kernels of `linear_backward` in plain loops: one that is right, and
 * others that are right but for one mistake each, the one their name says. Every mistake is one
 * that people make. */
#include <assay/assay_kernel.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum mistake {
    NONE,
    TRANSPOSED,    /* dW^T, where W is square */
    NO_BIAS,       /* dbias is left as zeros */
    TWICE,         /* dW is added to what was there before: gradients nobody cleared */
    STALE_WEIGHTS, /* W is taken over once, as if it were a weight that stays */
    STALE_DW,      /* dW is that of the first call */
    SHORT_M,       /* the last row of x is left out of dW */
    SHORT_N,       /* the last column of dY is left out of dX */
    MEAN_BIAS,     /* dbias is the mean of the rows, not their sum */
    ROUNDED_SUMS,  /* dW is rounded to bf16 after every row */
};

struct backward {
    int64_t m, k, n;
    enum assay_dtype dtype;
    enum mistake mistake;
    float *dy, *x, *w, *dx, *dw, *dbias;
    bool called;
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

static void store(enum assay_dtype dtype, void *data, int64_t i, float value)
{
    if (dtype == ASSAY_DTYPE_F32)
        ((float *)data)[i] = value;
    else
        ((uint16_t *)data)[i] = to_bf16(value);
}

static void load_all(const struct backward *s, const void *from, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = load(s->dtype, from, i);
}

static void store_all(const struct backward *s, const float *from, void *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        store(s->dtype, to, i, from[i]);
}

/* Sums in float, row by row. */
static void data_gradient(const struct backward *s)
{
    int64_t n = s->mistake == SHORT_N ? s->n - 1 : s->n;
    memset(s->dx, 0, (size_t)(s->m * s->k) * sizeof *s->dx);
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t l = 0; l < s->k; l++)
                s->dx[i * s->k + l] += s->dy[i * s->n + j] * s->w[j * s->k + l];
}

static void weight_gradient(const struct backward *s)
{
    int64_t m = s->mistake == SHORT_M ? s->m - 1 : s->m;
    if (s->mistake == STALE_DW && s->called)
        return;
    memset(s->dw, 0, (size_t)(s->n * s->k) * sizeof *s->dw);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < s->n; j++)
            for (int64_t l = 0; l < s->k; l++) {
                int64_t at = s->mistake == TRANSPOSED ? l * s->n + j : j * s->k + l;
                s->dw[at] += s->dy[i * s->n + j] * s->x[i * s->k + l];
                if (s->mistake == ROUNDED_SUMS) {
                    uint16_t half = to_bf16(s->dw[at]);
                    s->dw[at] = load(ASSAY_DTYPE_BF16, &half, 0);
                }
            }
}

static void bias_gradient(const struct backward *s)
{
    memset(s->dbias, 0, (size_t)s->n * sizeof *s->dbias);
    for (int64_t i = 0; i < s->m && s->mistake != NO_BIAS; i++)
        for (int64_t j = 0; j < s->n; j++)
            s->dbias[j] += s->dy[i * s->n + j];
    for (int64_t j = 0; j < s->n && s->mistake == MEAN_BIAS; j++)
        s->dbias[j] /= (float)s->m;
}

static void compute(struct backward *s, const struct assay_args *args)
{
    load_all(s, args->in[0], s->dy, s->m * s->n);
    load_all(s, args->in[1], s->x, s->m * s->k);
    if (s->mistake != STALE_WEIGHTS || !s->called)
        load_all(s, args->in[2], s->w, s->n * s->k);
    data_gradient(s);
    weight_gradient(s);
    bias_gradient(s);
    /* What was there is no number where the harness has just made the memory: a kernel that adds up
     * clears it in its first call, and never again. */
    for (int64_t i = 0; i < s->n * s->k && s->mistake == TWICE && s->called; i++)
        s->dw[i] += load(s->dtype, args->out[1], i);
    store_all(s, s->dx, args->out[0], s->m * s->k);
    store_all(s, s->dw, args->out[1], s->n * s->k);
    store_all(s, s->dbias, args->out[2], s->n);
    s->called = true;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    for (int64_t i = 0; i < work->iters; i++)
        compute(state, assay_work_args(work, i));
    return ASSAY_OK;
}

static void teardown(void *state)
{
    struct backward *s = state;
    free(s->dy);
    free(s->x);
    free(s->w);
    free(s->dx);
    free(s->dw);
    free(s->dbias);
    free(s);
}

static enum assay_status setup_with(const struct assay_problem *p, enum mistake mistake,
                                    void **state)
{
    struct backward *s = calloc(1, sizeof *s);
    if (!s)
        return ASSAY_ERR_NOMEM;
    s->m = p->axes[0];
    s->k = p->axes[1];
    s->n = p->axes[2];
    s->dtype = p->dtype;
    s->mistake = mistake;
    s->dy = calloc((size_t)(s->m * s->n), sizeof(float));
    s->x = calloc((size_t)(s->m * s->k), sizeof(float));
    s->w = calloc((size_t)(s->n * s->k), sizeof(float));
    s->dx = calloc((size_t)(s->m * s->k), sizeof(float));
    s->dw = calloc((size_t)(s->n * s->k), sizeof(float));
    s->dbias = calloc((size_t)s->n, sizeof(float));
    *state = s;
    if (s->dy && s->x && s->w && s->dx && s->dw && s->dbias)
        return ASSAY_OK;
    teardown(s);
    return ASSAY_ERR_NOMEM;
}

/* Only the mode with all outputs; `square`: of W. */
static enum assay_status takes(const struct assay_problem *p, bool square)
{
    if (!p)
        return ASSAY_OK;
    bool all = p->n_outputs == 3, is_square = p->axes[1] == p->axes[2];
    return all && (is_square || !square) ? ASSAY_OK : ASSAY_UNSUPPORTED;
}

#define F32 ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32)
#define BF16 ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16)

#define BACKWARD(ident, mistake_, dtypes_)                                                         \
    static enum assay_status can_run_##ident(const struct assay_problem *p,                        \
                                             struct assay_error *why)                              \
    {                                                                                              \
        (void)why;                                                                                 \
        return takes(p, mistake_ == TRANSPOSED);                                                   \
    }                                                                                              \
    static enum assay_status setup_##ident(const struct assay_problem *p, void **state,            \
                                           struct assay_error *err)                                \
    {                                                                                              \
        (void)err;                                                                                 \
        return setup_with(p, mistake_, state);                                                     \
    }                                                                                              \
    static const struct assay_kernel kernel_##ident = {                                            \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "linear_backward",                                                                   \
        .implementation = #ident,                                                                  \
        .device = "cpu",                                                                           \
        .dtypes = dtypes_,                                                                         \
        .can_run = can_run_##ident,                                                                \
        .setup = setup_##ident,                                                                    \
        .run = run,                                                                                \
        .teardown = teardown,                                                                      \
    };

BACKWARD(right, NONE, F32 | BF16)
BACKWARD(transposed, TRANSPOSED, F32 | BF16)
BACKWARD(no_bias, NO_BIAS, F32 | BF16)
BACKWARD(twice, TWICE, F32 | BF16)
BACKWARD(stale_weights, STALE_WEIGHTS, F32 | BF16)
BACKWARD(stale_dw, STALE_DW, F32 | BF16)
BACKWARD(short_m, SHORT_M, F32 | BF16)
BACKWARD(short_n, SHORT_N, F32 | BF16)
BACKWARD(mean_bias, MEAN_BIAS, F32 | BF16)
BACKWARD(rounded_sums, ROUNDED_SUMS, BF16)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {
        &kernel_right,         &kernel_transposed,   &kernel_no_bias, &kernel_twice,
        &kernel_stale_weights, &kernel_stale_dw,     &kernel_short_m, &kernel_short_n,
        &kernel_mean_bias,     &kernel_rounded_sums,
    };
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
