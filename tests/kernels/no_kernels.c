/* no_kernels.c: a plug-in that has nothing for this abi. */
#include <assay/assay_kernel.h>

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    (void)abi;
    *n_kernels = 0;
    return NULL;
}
