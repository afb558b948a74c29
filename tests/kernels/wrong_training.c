/* wrong_training.c: forward passes of training that save something wrong, and optimizers with the
 * mistakes they are known for, in f32. Each does right what its name does not say; those that begin
 * with honest do everything right. */
#include <assay/assay_kernel.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum fault {
    HONEST,
    NEIGHBOUR_MEAN, /* of the next row */
    SAVES_VARIANCE, /* in place of 1 / sqrt(variance + eps) */
    NO_EPS,         /* 1 / sqrt(variance) */
    NO_STATISTICS,  /* what inference does */
    SKIPPED,        /* weights stay what they are */
    NO_CORRECTION,  /* of the moments, which begin at 0 */
    NO_DECAY,
    OLD_MOMENT,  /* the step is along m, not m'; along b, not b' */
    PLAIN_DECAY, /* decay goes into the gradient, as Adam has it */
    UPHILL,      /* along the gradient */
    KEEPS_BUFFER /* b' is b */
};

struct state {
    struct assay_problem problem;
};

static void end(void *state) { free(state); }

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    (void)err;
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return ASSAY_ERR_NOMEM;
    s->problem = *problem;
    *state = s;
    return ASSAY_OK;
}

/* ---- layernorm_training ---- */

struct moments {
    double mean, variance;
};

static struct moments moments_of(const float *x, int64_t n)
{
    struct moments m = {0};
    for (int64_t i = 0; i < n; i++)
        m.mean += (double)x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        m.variance += ((double)x[i] - m.mean) * ((double)x[i] - m.mean) / (double)n;
    return m;
}

static void norm(const struct assay_problem *p, const struct assay_args *args, enum fault fault)
{
    int64_t rows = p->axes[0] * p->axes[1], dim = p->axes[2];
    const float *x = args->in[0], *gamma = args->in[1], *beta = args->in[2];
    float *y = args->out[0], *mean = args->out[1], *rstd = args->out[2];
    for (int64_t row = 0; row < rows; row++) {
        struct moments m = moments_of(x + row * dim, dim);
        struct moments next = moments_of(x + (row + 1) % rows * dim, dim);
        double scale = 1 / sqrt(m.variance + p->params[0]);
        for (int64_t i = row * dim; i < (row + 1) * dim; i++)
            y[i] = (float)(((double)x[i] - m.mean) * scale * (double)gamma[i - row * dim] +
                           (double)beta[i - row * dim]);
        if (fault == NO_STATISTICS)
            continue;
        mean[row] = (float)(fault == NEIGHBOUR_MEAN ? next.mean : m.mean);
        rstd[row] = (float)(fault == SAVES_VARIANCE ? m.variance
                            : fault == NO_EPS       ? 1 / sqrt(m.variance)
                                                    : scale);
    }
}

/* ---- adamw ---- */

static void adamw(const struct assay_problem *p, const struct assay_args *args, enum fault fault)
{
    const float *w = args->in[0], *g = args->in[1], *m = args->in[2], *v = args->in[3];
    float *out = args->out[0], *new_m = args->out[1], *new_v = args->out[2];
    double lr = p->params[0], beta1 = p->params[1], beta2 = p->params[2], eps = p->params[3];
    double decay = fault == NO_DECAY ? 0 : p->params[4], step = p->params[5];
    double known1 = fault == NO_CORRECTION ? 1 : 1 - pow(beta1, step);
    double known2 = fault == NO_CORRECTION ? 1 : 1 - pow(beta2, step);
    for (int64_t i = 0; i < p->axes[0] * p->axes[1] * p->axes[2]; i++) {
        double gradient = (double)g[i] + (fault == PLAIN_DECAY ? decay * (double)w[i] : 0);
        double a = beta1 * (double)m[i] + (1 - beta1) * gradient;
        double b = beta2 * (double)v[i] + (1 - beta2) * gradient * gradient;
        double along = fault == OLD_MOMENT ? (double)m[i] : a;
        double kept = fault == PLAIN_DECAY ? 1 : 1 - lr * decay;
        double new_w = (double)w[i] * kept - lr / known1 * along / (sqrt(b / known2) + eps);
        out[i] = fault == SKIPPED ? w[i] : (float)new_w;
        new_m[i] = (float)a;
        new_v[i] = (float)b;
    }
}

/* ---- sgd with momentum ---- */

static void sgd(const struct assay_problem *p, const struct assay_args *args, enum fault fault)
{
    const float *w = args->in[0], *g = args->in[1], *b = args->in[2];
    float *out = args->out[0], *new_b = args->out[1];
    double lr = fault == UPHILL ? -p->params[0] : p->params[0], momentum = p->params[2];
    double decay = fault == NO_DECAY ? 0 : p->params[1];
    for (int64_t i = 0; i < p->axes[0] * p->axes[1] * p->axes[2]; i++) {
        double step = momentum * (double)b[i] + (double)g[i] + decay * (double)w[i];
        out[i] = (float)((double)w[i] - lr * (fault == OLD_MOMENT ? (double)b[i] : step));
        new_b[i] = fault == KEEPS_BUFFER ? b[i] : (float)step;
    }
}

/* ---- the kernels ---- */

#define WRONG(ident, op_, fault)                                                                   \
    static enum assay_status run_##ident(void *state, const struct assay_work *work)               \
    {                                                                                              \
        const struct state *s = state;                                                             \
        for (int64_t k = 0; k < work->iters; k++)                                                  \
            op_(&s->problem, assay_work_args(work, k), fault);                                     \
        return ASSAY_OK;                                                                           \
    }                                                                                              \
    static const struct assay_kernel kernel_##ident = {                                            \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = OP_##op_,                                                                            \
        .implementation = #ident,                                                                  \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .setup = setup,                                                                            \
        .run = run_##ident,                                                                        \
        .teardown = end,                                                                           \
    };
#define OP_norm "layernorm_training"
#define OP_adamw "adamw"
#define OP_sgd "sgd"

WRONG(honest_norm, norm, HONEST)
WRONG(neighbour_mean, norm, NEIGHBOUR_MEAN)
WRONG(saves_variance, norm, SAVES_VARIANCE)
WRONG(no_eps, norm, NO_EPS)
WRONG(no_statistics, norm, NO_STATISTICS)
WRONG(honest_adamw, adamw, HONEST)
WRONG(skipped, adamw, SKIPPED)
WRONG(no_correction, adamw, NO_CORRECTION)
WRONG(no_decay, adamw, NO_DECAY)
WRONG(old_moment, adamw, OLD_MOMENT)
WRONG(plain_decay, adamw, PLAIN_DECAY)
WRONG(honest_sgd, sgd, HONEST)
WRONG(uphill, sgd, UPHILL)
WRONG(sgd_no_decay, sgd, NO_DECAY)
WRONG(old_buffer, sgd, OLD_MOMENT)
WRONG(keeps_buffer, sgd, KEEPS_BUFFER)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {
        &kernel_honest_norm,  &kernel_neighbour_mean, &kernel_saves_variance,
        &kernel_no_eps,       &kernel_no_statistics,  &kernel_honest_adamw,
        &kernel_skipped,      &kernel_no_correction,  &kernel_no_decay,
        &kernel_old_moment,   &kernel_plain_decay,    &kernel_honest_sgd,
        &kernel_uphill,       &kernel_sgd_no_decay,   &kernel_old_buffer,
        &kernel_keeps_buffer,
    };
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
