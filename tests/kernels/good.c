/* good.c: a plug-in as it should be: relu in f32, and counters that tell whether every setup that
 * succeeded got its teardown (its state is NULL on purpose: only the success counts). */
#include <assay/assay_kernel.h>

static int64_t count_of(const struct assay_problem *problem)
{
    int64_t count = 1;
    for (int32_t i = 0; i < problem->inputs[0].rank; i++)
        count *= problem->inputs[0].dims[i];
    return count;
}

static int64_t count;
static int live;

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    (void)state, (void)err;
    count = count_of(problem);
    live++;
    return ASSAY_OK;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    (void)state;
    for (int64_t k = 0; k < work->iters; k++) {
        const struct assay_args *args = assay_work_args(work, k);
        const float *in = args->in[0];
        float *out = args->out[0];
        for (int64_t i = 0; i < count; i++)
            out[i] = in[i] < 0 ? 0 : in[i];
    }
    return ASSAY_OK;
}

static void teardown(void *state)
{
    (void)state;
    live--;
}

/* For test_group.c, by dlsym. */
ASSAY_API int good_live(void) { return live; }

static const struct assay_kernel good = {
    .struct_size = sizeof good,
    .abi = ASSAY_KERNEL_ABI,
    .name = "good",
    .op = "relu",
    .implementation = "good",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
    .setup = setup,
    .run = run,
    .teardown = teardown,
};

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {&good};
    *n_kernels = 1;
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
