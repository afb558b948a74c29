/* linear_openblas.c: W as it is stored, read the other way round by sgemm. One row of x is a matrix
 * times a vector: sgemv is 2.5 times as fast there. bf16 comes out of sbgemm in f32, and rounding
 * it is part of the call. The library has no form in which weights could be kept, no bias, no
 * activation, and neither f16 nor integers. */
#include "base/alloc.h"
#include "kernel/openblas/openblas.h"
#include "op/linear.h"
#include "tensor/tensor.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct state {
    const struct assay_openblas_api *blas;
    int m, k, n, threads;
    bool bf16;
    void *scratch;  /* of bf16: what holds ... */
    float *product; /* ... the product in f32, aligned to a cache line */
};

static enum assay_status can_multiply(const struct assay_problem *p,
                                      const struct assay_openblas_api *blas,
                                      struct assay_error *why)
{
    if (p->recipe && strcmp(p->recipe, "baseline") != 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "only the baseline, no %s", p->recipe);
    if (p->params[ASSAY_LINEAR_BIAS] != 0 || p->params[ASSAY_LINEAR_ACTIVATION] != 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "OpenBLAS has no bias and no activations");
    if (p->dtype == ASSAY_DTYPE_BF16 && !blas->sbgemm)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "this OpenBLAS has no sbgemm");
    for (int32_t i = 0; i < p->n_axes; i++)
        if (p->axes[i] > INT_MAX)
            return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                                   "OpenBLAS counts in 32 bits: %lld is too large",
                                   (long long)p->axes[i]);
    return ASSAY_OK;
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    const struct assay_openblas_api *blas;
    enum assay_status status = assay_openblas_api(&blas, why);
    if (status == ASSAY_OK)
        status = assay_linear_is_plain(problem, why);
    return status == ASSAY_OK && problem ? can_multiply(problem, blas, why) : status;
}

static void teardown(void *state)
{
    struct state *s = state;
    assay_free(s->scratch);
    assay_free(s);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    enum { LINE = 64 };
    const struct assay_openblas_api *blas;
    enum assay_status status = assay_openblas_api(&blas, err);
    if (status != ASSAY_OK)
        return status;
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    *s = (struct state){.blas = blas,
                        .m = (int)problem->axes[ASSAY_LINEAR_M],
                        .k = (int)problem->axes[ASSAY_LINEAR_K],
                        .n = (int)problem->axes[ASSAY_LINEAR_N],
                        .threads = problem->threads,
                        .bf16 = problem->dtype == ASSAY_DTYPE_BF16};
    if (s->bf16) {
        size_t count = (size_t)assay_tensor_count(&problem->outputs[0]);
        s->scratch = assay_calloc(count + LINE / sizeof(float), sizeof(float));
        if (!s->scratch) {
            teardown(s);
            return assay_error_nomem(err);
        }
        char *start = s->scratch;
        s->product = (float *)(void *)(start + (LINE - (uintptr_t)start % LINE) % LINE);
    }
    assay_openblas_set_threads(blas, s->threads);
    s->threads = blas->get_num_threads(); /* fewer where it was built for fewer */
    *state = s;
    return ASSAY_OK;
}

/* Small ones on this thread: waking others would take longer. */
static void round_product(const struct state *s, uint16_t *y)
{
    enum { BLOCK = 4096 };
    int64_t count = (int64_t)s->m * s->n;
#pragma omp parallel for schedule(static) num_threads(s->threads) if (count > 16 * BLOCK)
    for (int64_t first = 0; first < count; first += BLOCK) {
        int64_t end = count - first < BLOCK ? count : first + BLOCK;
        for (int64_t i = first; i < end; i++)
            y[i] = assay_bf16_from_f32(s->product[i]);
    }
}

static void multiply(const struct state *s, const struct assay_args *args)
{
    const void *x = args->in[ASSAY_LINEAR_X], *w = args->in[ASSAY_LINEAR_W];
    if (s->bf16) {
        s->blas->sbgemm(ASSAY_BLAS_ROW_MAJOR, ASSAY_BLAS_NO_TRANS, ASSAY_BLAS_TRANS, s->m, s->n,
                        s->k, 1, x, s->k, w, s->k, 0, s->product, s->n);
        round_product(s, args->out[0]);
    } else if (s->m == 1) {
        s->blas->sgemv(ASSAY_BLAS_ROW_MAJOR, ASSAY_BLAS_NO_TRANS, s->n, s->k, 1, w, s->k, x, 1, 0,
                       args->out[0], 1);
    } else {
        s->blas->sgemm(ASSAY_BLAS_ROW_MAJOR, ASSAY_BLAS_NO_TRANS, ASSAY_BLAS_TRANS, s->m, s->n,
                       s->k, 1, x, s->k, w, s->k, 0, args->out[0], s->n);
    }
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    if (s->blas->get_num_threads() != s->threads) /* another problem's */
        s->blas->set_num_threads(s->threads);
    for (int64_t i = 0; i < work->iters; i++)
        multiply(s, assay_work_args(work, i));
    return ASSAY_OK;
}

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    const struct assay_openblas_api *blas;
    if (assay_openblas_api(&blas, NULL) != ASSAY_OK)
        return;
    const char *name = problem->dtype == ASSAY_DTYPE_BF16   ? "sbgemm"
                       : problem->axes[ASSAY_LINEAR_M] == 1 ? "sgemv"
                                                            : "sgemm";
    bool one = problem->threads > 1 && blas->get_parallel() == ASSAY_OPENBLAS_SEQUENTIAL;
    snprintf(text, size, "%s, %s%s", assay_openblas_text(), name,
             one ? ", 1 thread (built without)" : "");
}

extern const struct assay_kernel assay_kernel_linear_openblas;
const struct assay_kernel assay_kernel_linear_openblas = {
    .struct_size = sizeof(struct assay_kernel),
    .abi = ASSAY_KERNEL_ABI,
    .name = "linear_openblas",
    .op = "linear",
    .implementation = "openblas",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .can_run = can_run,
    .setup = setup,
    .run = run,
    .teardown = teardown,
    .note = note,
};
