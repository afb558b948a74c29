/* linear_backward_openblas.c: dX = dY W and dW = dY^T x by sgemm, from operands as they are stored,
 * and the bias's gradient as who has BLAS computes it: dY^T times a vector of ones. f32 only:
 * sbgemm, in builds that have it, gives f32. */
#include "base/alloc.h"
#include "kernel/openblas/openblas.h"
#include "op/linear.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct state {
    const struct assay_openblas_api *blas;
    int m, k, n, threads;
    int32_t x, w, dx, dw, dbias; /* inputs and outputs; -1: there is none */
    float *ones;                 /* m of them */
};

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    const struct assay_openblas_api *blas;
    enum assay_status status = assay_openblas_api(&blas, why);
    for (int32_t i = 0; status == ASSAY_OK && problem && i < problem->n_axes; i++)
        if (problem->axes[i] > INT_MAX)
            status = assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                                     "OpenBLAS counts in 32 bits: %lld is too large",
                                     (long long)problem->axes[i]);
    if (status == ASSAY_OK && problem && problem->recipe &&
        strcmp(problem->recipe, "baseline") != 0)
        status = assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "only the baseline, no %s",
                                 problem->recipe);
    return status;
}

static void teardown(void *state)
{
    struct state *s = state;
    assay_free(s->ones);
    assay_free(s);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    const struct assay_openblas_api *blas;
    enum assay_status status = assay_openblas_api(&blas, err);
    if (status != ASSAY_OK)
        return status;
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    *s = (struct state){
        .blas = blas,
        .m = (int)problem->axes[ASSAY_LINEAR_M],
        .k = (int)problem->axes[ASSAY_LINEAR_K],
        .n = (int)problem->axes[ASSAY_LINEAR_N],
        .x = assay_linear_backward_input(problem, ASSAY_LINEAR_OPERAND_X),
        .w = assay_linear_backward_input(problem, ASSAY_LINEAR_OPERAND_W),
        .dx = assay_linear_backward_output(problem, ASSAY_LINEAR_DX),
        .dw = assay_linear_backward_output(problem, ASSAY_LINEAR_DW),
        .dbias = assay_linear_backward_output(problem, ASSAY_LINEAR_DBIAS),
        .ones = assay_calloc((size_t)problem->axes[ASSAY_LINEAR_M], sizeof(float)),
    };
    if (!s->ones) {
        teardown(s);
        return assay_error_nomem(err);
    }
    for (int i = 0; i < s->m; i++)
        s->ones[i] = 1;
    assay_openblas_set_threads(blas, problem->threads);
    s->threads = blas->get_num_threads(); /* fewer where it was built for fewer */
    *state = s;
    return ASSAY_OK;
}

static void multiply(const struct state *s, const struct assay_args *args)
{
    const float *dy = args->in[ASSAY_LINEAR_OPERAND_DY];
    if (s->dx >= 0)
        s->blas->sgemm(ASSAY_BLAS_ROW_MAJOR, ASSAY_BLAS_NO_TRANS, ASSAY_BLAS_NO_TRANS, s->m, s->k,
                       s->n, 1, dy, s->n, args->in[s->w], s->k, 0, args->out[s->dx], s->k);
    if (s->dw >= 0)
        s->blas->sgemm(ASSAY_BLAS_ROW_MAJOR, ASSAY_BLAS_TRANS, ASSAY_BLAS_NO_TRANS, s->n, s->k,
                       s->m, 1, dy, s->n, args->in[s->x], s->k, 0, args->out[s->dw], s->k);
    if (s->dbias >= 0)
        s->blas->sgemv(ASSAY_BLAS_ROW_MAJOR, ASSAY_BLAS_TRANS, s->m, s->n, 1, dy, s->n, s->ones, 1,
                       0, args->out[s->dbias], 1);
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
    bool one = problem->threads > 1 && blas->get_parallel() == ASSAY_OPENBLAS_SEQUENTIAL;
    snprintf(text, size, "%s, sgemm%s", assay_openblas_text(),
             one ? ", 1 thread (built without)" : "");
}

extern const struct assay_kernel assay_kernel_linear_backward_openblas;
const struct assay_kernel assay_kernel_linear_backward_openblas = {
    .struct_size = sizeof(struct assay_kernel),
    .abi = ASSAY_KERNEL_ABI,
    .name = "linear_backward_openblas",
    .op = "linear_backward",
    .implementation = "openblas",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
    .can_run = can_run,
    .setup = setup,
    .run = run,
    .teardown = teardown,
    .note = note,
};
