/* wrong_gradients.c: kernels of layernorm_backward with the mistakes that gradients are known for.
 * Each does right what its name does not say; `honest` does everything right, in f32, row after
 * row. */
#include <assay/assay_kernel.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum fault {
    HONEST,
    WRONG_SIGN,     /* of the part of dx along xhat */
    DROPPED_BETA,   /* dbeta is zeros */
    NEIGHBOUR_RSTD, /* the statistic of the next row */
    ADDED_TWICE,    /* adds to what is in the outputs already, if there is something */
    STALE,          /* the gradients of the call before */
    SKIPS_ROWS      /* one row in thirty is not in dgamma */
};

struct state {
    int64_t rows, dim;
    bool called;
    float *kept, *dx, *dgamma, *dbeta; /* of the call before: dx, dgamma, dbeta */
};

static void end(void *state)
{
    struct state *s = state;
    free(s->kept);
    free(s);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    (void)err;
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return ASSAY_ERR_NOMEM;
    s->rows = problem->axes[0] * problem->axes[1];
    s->dim = problem->axes[2];
    s->kept = calloc((size_t)((s->rows + 2) * s->dim), sizeof *s->kept);
    if (!s->kept) {
        free(s);
        return ASSAY_ERR_NOMEM;
    }
    s->dx = s->kept;
    s->dgamma = s->dx + s->rows * s->dim;
    s->dbeta = s->dgamma + s->dim;
    *state = s;
    return ASSAY_OK;
}

struct tensors {
    const float *dy, *x, *gamma, *mean, *rstd;
    float *dx, *dgamma, *dbeta;
};

static void row_gradient(const struct state *s, const struct tensors *t, enum fault fault,
                         int64_t row)
{
    const float *dy = t->dy + row * s->dim, *x = t->x + row * s->dim, mean = t->mean[row];
    const float n = (float)s->dim;
    float rstd = t->rstd[fault == NEIGHBOUR_RSTD ? (row + 1) % s->rows : row], g = 0, along = 0;
    for (int64_t i = 0; i < s->dim; i++) {
        g += dy[i] * t->gamma[i];
        along += dy[i] * t->gamma[i] * (x[i] - mean) * rstd;
    }
    if (fault == WRONG_SIGN)
        along = -along;
    for (int64_t i = 0; i < s->dim; i++) {
        float xhat = (x[i] - mean) * rstd;
        t->dx[row * s->dim + i] = rstd * (dy[i] * t->gamma[i] - g / n - xhat * along / n);
        t->dgamma[i] += fault == SKIPS_ROWS && row % 30 == 7 ? 0 : dy[i] * xhat;
        t->dbeta[i] += fault == DROPPED_BETA ? 0 : dy[i];
    }
}

static void compute(const struct state *s, const struct tensors *t, enum fault fault)
{
    memset(t->dgamma, 0, (size_t)s->dim * sizeof *t->dgamma);
    memset(t->dbeta, 0, (size_t)s->dim * sizeof *t->dbeta);
    for (int64_t row = 0; row < s->rows; row++)
        row_gradient(s, t, fault, row);
}

/* What nobody has written is NaN when assay looks; a framework has zeros there. */
static void add(float *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = isnan(to[i]) ? from[i] : to[i] + from[i];
}

static void call(struct state *s, const struct assay_args *args, enum fault fault)
{
    struct tensors t = {args->in[0], args->in[1],  args->in[2],  args->in[3],
                        args->in[4], args->out[0], args->out[1], args->out[2]};
    const struct tensors out = t;
    int64_t n = s->rows * s->dim;
    bool keeps = fault == ADDED_TWICE || fault == STALE;
    if (keeps) {
        t.dx = s->dx;
        t.dgamma = s->dgamma;
        t.dbeta = s->dbeta;
    }
    if (fault != STALE || !s->called)
        compute(s, &t, fault);
    if (fault == ADDED_TWICE) {
        add(out.dx, s->dx, n);
        add(out.dgamma, s->dgamma, s->dim);
        add(out.dbeta, s->dbeta, s->dim);
    } else if (fault == STALE) {
        memcpy(out.dx, s->dx, (size_t)n * sizeof *s->dx);
        memcpy(out.dgamma, s->dgamma, (size_t)s->dim * sizeof *s->dgamma);
        memcpy(out.dbeta, s->dbeta, (size_t)s->dim * sizeof *s->dbeta);
        compute(s, &t, fault);
    }
    s->called = true;
}

/* The rest of a kernel around a fault. */
#define WRONG(ident, fault)                                                                        \
    static enum assay_status run_##ident(void *state, const struct assay_work *work)               \
    {                                                                                              \
        for (int64_t k = 0; k < work->iters; k++)                                                  \
            call(state, assay_work_args(work, k), fault);                                          \
        return ASSAY_OK;                                                                           \
    }                                                                                              \
    static const struct assay_kernel kernel_##ident = {                                            \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "layernorm_backward",                                                                \
        .implementation = #ident,                                                                  \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .setup = setup,                                                                            \
        .run = run_##ident,                                                                        \
        .teardown = end,                                                                           \
    };

WRONG(honest, HONEST)
WRONG(wrong_sign, WRONG_SIGN)
WRONG(dropped_beta, DROPPED_BETA)
WRONG(neighbour_rstd, NEIGHBOUR_RSTD)
WRONG(added_twice, ADDED_TWICE)
WRONG(stale, STALE)
WRONG(skips_rows, SKIPS_ROWS)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {
        &kernel_honest,      &kernel_wrong_sign, &kernel_dropped_beta, &kernel_neighbour_rstd,
        &kernel_added_twice, &kernel_stale,      &kernel_skips_rows,
    };
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
