/* my_relu.c: a kernel of your own, as a plug-in: relu in f32, on one thread.
 *
 * docs/adding.md walks through it; tests/docs/adding_kernel.sh builds and runs it. */
#include <assay/assay_kernel.h>

#include <stdio.h>
#include <stdlib.h>

enum { LONGEST_ROW = 65536 };

struct state {
    int64_t count;
};

static enum assay_status say(struct assay_error *err, enum assay_status code, const char *message)
{
    if (err && err->code == ASSAY_OK) { /* err may be NULL; the first error stays */
        err->code = code;
        snprintf(err->message, sizeof err->message, "%s", message);
    }
    return code;
}

/* Without a problem the question is whether this machine can run it at all. Type, op and device are
 * checked before anyone asks. */
static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    if (problem && problem->axes[problem->n_axes - 1] > LONGEST_ROW)
        return say(why, ASSAY_UNSUPPORTED, "rows of at most 65536 elements");
    return ASSAY_OK;
}

/* Whatever can be done once is done here: this is never timed. */
static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    struct state *s = malloc(sizeof *s);
    if (!s)
        return say(err, ASSAY_ERR_NOMEM, "out of memory");
    s->count = 1;
    for (int32_t i = 0; i < problem->inputs[0].rank; i++)
        s->count *= problem->inputs[0].dims[i];
    *state = s;
    return ASSAY_OK;
}

/* The timed part: work->iters calls, each on the operands that are its turn. */
static enum assay_status run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    for (int64_t call = 0; call < work->iters; call++) {
        const struct assay_args *args = assay_work_args(work, call);
        const float *x = args->in[0];
        float *y = args->out[0];
        for (int64_t i = 0; i < s->count; i++)
            y[i] = x[i] < 0 ? 0 : x[i]; /* NaN stays NaN, as in the op's reference */
    }
    return ASSAY_OK;
}

static void teardown(void *state) { free(state); }

static const struct assay_kernel my_relu = {
    .struct_size = sizeof my_relu,
    .abi = ASSAY_KERNEL_ABI,
    .name = "my_relu",
    .op = "relu",
    .implementation = "mine",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
    .can_run = can_run,
    .setup = setup,
    .run = run,
    .teardown = teardown,
};

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const kernels[] = {&my_relu};
    *n_kernels = 1;
    return abi == ASSAY_KERNEL_ABI ? kernels : NULL;
}
