/* duplicate_name.c: a plug-in whose kernel has the name of a built-in one. */
#include <assay/assay_kernel.h>

static enum assay_status run(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    return ASSAY_OK;
}

static const struct assay_kernel kernel = {
    .struct_size = sizeof kernel,
    .abi = ASSAY_KERNEL_ABI,
    .name = "relu_ref",
    .op = "relu",
    .implementation = "duplicate_name",
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
