/* own_clock.c: a relu that is slow, in a file that defines its own clock, which stands still. The
 * program's clock must be the system's. */
#include <assay/assay_kernel.h>

#include <time.h>

ASSAY_API int clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    *time = (struct timespec){.tv_sec = 1};
    return 0;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    (void)state;
    for (int64_t k = 0; k < work->iters; k++) {
        const struct assay_args *args = assay_work_args(work, k);
        const float *in = args->in[0];
        float *out = args->out[0];
        for (volatile int i = 0; i < 100000; i++)
            ;
        for (int i = 0; i < 30; i++) /* the size the test asks for */
            out[i] = in[i] < 0 ? 0 : in[i];
    }
    return ASSAY_OK;
}

static const struct assay_kernel kernel = {
    .struct_size = sizeof(struct assay_kernel),
    .abi = ASSAY_KERNEL_ABI,
    .name = "own_clock",
    .op = "relu",
    .implementation = "own_clock",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
    .run = run,
};

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {&kernel};
    *n_kernels = 1;
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
