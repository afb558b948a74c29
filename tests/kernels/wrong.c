/* wrong.c: relu kernels that come back, but with something wrong. Each does right what its name
 * does not say, so that only one thing is to be found. */
#include <assay/assay_kernel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wrong {
    int64_t count, calls;
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    (void)err;
    struct wrong *w = calloc(1, sizeof *w);
    if (!w)
        return ASSAY_ERR_NOMEM;
    w->count = 1;
    for (int32_t i = 0; i < problem->inputs[0].rank; i++)
        w->count *= problem->inputs[0].dims[i];
    *state = w;
    return ASSAY_OK;
}

static void relu(const float *in, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = in[i] < 0 ? 0 : in[i];
}

/* The rest of a kernel around a body that sees `w`, `in`, `out` and `n`. */
#define WRONG(ident, ...)                                                                          \
    static enum assay_status run_##ident(void *state, const struct assay_work *work)               \
    {                                                                                              \
        struct wrong *w = state;                                                                   \
        int64_t n = w->count;                                                                      \
        for (int64_t k = 0; k < work->iters; k++) {                                                \
            const struct assay_args *args = assay_work_args(work, k);                              \
            const float *in = args->in[0];                                                         \
            float *out = args->out[0];                                                             \
            w->calls++;                                                                            \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        return ASSAY_OK;                                                                           \
    }                                                                                              \
    static const struct assay_kernel kernel_##ident = {                                            \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "relu",                                                                              \
        .implementation = #ident,                                                                  \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .setup = setup,                                                                            \
        .run = run_##ident,                                                                        \
        .teardown = free,                                                                          \
    };

WRONG(past_end, relu(in, out, n); out[n] = 1;)
WRONG(before_start, relu(in, out, n); out[-1] = 1;)
WRONG(writes_input, relu(in, out, n); float *target; memcpy(&target, &in, sizeof target);
      target[0] = 7;)
WRONG(zeros, (void)in; memset(out, 0, (size_t)n * sizeof *out);)
WRONG(unwritten, relu(in, out, n - 1);)
WRONG(nan_answer, (void)in; for (int64_t i = 0; i < n; i++) out[i] = NAN;)
WRONG(off_by_one, relu(in, out, n);
      if (n > 1) memmove(out, out + 1, (size_t)(n - 1) * sizeof *out);)
WRONG(first_call_only, if (w->calls == 1) relu(in, out, n);)
WRONG(late_wrong, relu(in, out, n); if (w->calls > 3) out[0] = -1;)
WRONG(prints, relu(in, out, n); if (w->calls == 1) puts("garbage on standard output");
      (void)fflush(stdout);)

static enum assay_status run_fails(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    return ASSAY_ERR_DEVICE;
}

static enum assay_status setup_without_memory(const struct assay_problem *problem, void **state,
                                              struct assay_error *err)
{
    (void)problem, (void)state;
    strcpy(err->message, "no room for the packed weights");
    err->code = ASSAY_ERR_NOMEM;
    return ASSAY_ERR_NOMEM;
}

static enum assay_status setup_unsupported(const struct assay_problem *problem, void **state,
                                           struct assay_error *err)
{
    (void)problem, (void)state;
    strcpy(err->message, "only on Sundays");
    err->code = ASSAY_UNSUPPORTED;
    return ASSAY_UNSUPPORTED;
}

/* Fails, and says nothing about why. */
static enum assay_status setup_silent(const struct assay_problem *problem, void **state,
                                      struct assay_error *err)
{
    (void)problem, (void)state, (void)err;
    return ASSAY_ERR_DEVICE;
}

#define FAILING(ident, setup_, run_)                                                               \
    static const struct assay_kernel kernel_##ident = {                                            \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "relu",                                                                              \
        .implementation = #ident,                                                                  \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .setup = setup_,                                                                           \
        .run = run_,                                                                               \
    };

FAILING(setup_nomem, setup_without_memory, run_zeros)
FAILING(setup_refuses, setup_unsupported, run_zeros)
FAILING(setup_silently_fails, setup_silent, run_zeros)
FAILING(run_error, NULL, run_fails)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {
        &kernel_past_end,
        &kernel_before_start,
        &kernel_writes_input,
        &kernel_zeros,
        &kernel_unwritten,
        &kernel_nan_answer,
        &kernel_off_by_one,
        &kernel_first_call_only,
        &kernel_late_wrong,
        &kernel_prints,
        &kernel_setup_nomem,
        &kernel_setup_refuses,
        &kernel_setup_silently_fails,
        &kernel_run_error,
    };
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
