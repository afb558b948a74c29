/* newer.c: a plug-in from the future: its struct has a field this version of assay knows nothing
 * of. What both know works. */
#include <assay/assay_kernel.h>

static enum assay_status run(void *state, const struct assay_work *work)
{
    (void)state;
    for (int64_t k = 0; k < work->iters; k++) {
        const struct assay_args *args = assay_work_args(work, k);
        const float *in = args->in[0];
        float *out = args->out[0];
        out[0] = in[0] < 0 ? 0 : in[0];
    }
    return ASSAY_OK;
}

/* One element is all it can do. */
static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    (void)why;
    int one = !problem || problem->axes[0] * problem->axes[1] * problem->axes[2] == 1;
    return one ? ASSAY_OK : ASSAY_UNSUPPORTED;
}

static const struct {
    struct assay_kernel kernel;
    void (*unheard_of)(void);
} newer = {
    .kernel =
        {
            .struct_size = sizeof newer,
            .abi = ASSAY_KERNEL_ABI,
            .name = "newer",
            .op = "relu",
            .implementation = "newer",
            .device = "cpu",
            .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
            .can_run = can_run,
            .run = run,
            .units = ASSAY_UNIT_MATRIX,
        },
};

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {&newer.kernel};
    *n_kernels = 1;
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
