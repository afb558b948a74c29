/* bad_abi.c: a plug-in whose kernel was built for an abi that does not exist yet. */
#include <assay/assay_kernel.h>

static enum assay_status run(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    return ASSAY_OK;
}

static const struct assay_kernel kernel = {
    .struct_size = sizeof kernel,
    .abi = ASSAY_KERNEL_ABI + 1,
    .name = "bad_abi",
    .op = "relu",
    .implementation = "bad_abi",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
    .run = run,
};

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {&kernel};
    (void)abi;
    *n_kernels = 1;
    return list;
}
