/* layernorm.c: the op layernorm in f32 on the CPU: a row at a time, rows shared out to threads. */
#include <assay/assay_kernel.h>

#include <math.h>
#include <stdlib.h>

struct sizes {
    int64_t rows, dim;
    float eps;
    int threads;
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    (void)err;
    struct sizes *s = malloc(sizeof *s);
    if (!s)
        return ASSAY_ERR_NOMEM;
    s->rows = problem->axes[0] * problem->axes[1]; /* batch, seq, dim */
    s->dim = problem->axes[2];
    s->eps = (float)problem->params[0];
    s->threads = problem->threads;
    *state = s;
    return ASSAY_OK;
}

/* The row stays in the nearest cache over the three passes. Squares are taken around the mean: the
 * difference of two means would lose digits. */
static void one_row(const float *restrict x, const float *restrict gamma,
                    const float *restrict beta, int64_t n, float eps, float *restrict y)
{
    float sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    float mean = sum / (float)n;
#pragma omp simd reduction(+ : square)
    for (int64_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean);
    float scale = 1 / sqrtf(square / (float)n + eps);
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    const struct sizes *s = state;
    for (int64_t call = 0; call < work->iters; call++) {
        const struct assay_args *args = assay_work_args(work, call);
        const float *x = args->in[0], *gamma = args->in[1], *beta = args->in[2];
        float *y = args->out[0];
#pragma omp parallel for schedule(static) num_threads(s->threads)
        for (int64_t row = 0; row < s->rows; row++)
            one_row(x + row * s->dim, gamma, beta, s->dim, s->eps, y + row * s->dim);
    }
    return ASSAY_OK;
}

static void teardown(void *state) { free(state); }

static const struct assay_kernel layernorm = {
    .struct_size = sizeof layernorm,
    .abi = ASSAY_KERNEL_ABI,
    .name = "layernorm_example",
    .op = "layernorm",
    .implementation = "example",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
    .setup = setup,
    .run = run,
    .teardown = teardown,
};
ASSAY_KERNELS(&layernorm)
