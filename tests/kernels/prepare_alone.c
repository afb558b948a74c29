/* prepare_alone.c: kernels with prepare that cannot tell how much they prepare. The environment
 * variable ASSAY_TEST_PREPARE selects the one the plug-in has. */
#include <assay/assay_kernel.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static enum assay_status run(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    return ASSAY_OK;
}

static enum assay_status prepare(void *state, int64_t set, const struct assay_args *args,
                                 struct assay_error *err)
{
    (void)state, (void)set, (void)args, (void)err;
    return ASSAY_OK;
}

#define ALONE(ident, size_)                                                                        \
    static const struct assay_kernel ident = {                                                     \
        .struct_size = size_,                                                                      \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = "prepare_alone",                                                                   \
        .op = "linear",                                                                            \
        .implementation = "prepare_alone",                                                         \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .run = run,                                                                                \
        .prepare = prepare,                                                                        \
    };

ALONE(whole, sizeof(struct assay_kernel))                   /* prepared_bytes is NULL */
ALONE(ended, offsetof(struct assay_kernel, prepared_bytes)) /* there is no prepared_bytes */
ALONE(halved, offsetof(struct assay_kernel, prepared_bytes) + 4)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *list[1];
    const char *which = getenv("ASSAY_TEST_PREPARE");
    list[0] = which && strcmp(which, "ended") == 0    ? &ended
              : which && strcmp(which, "halved") == 0 ? &halved
                                                      : &whole;
    *n_kernels = 1;
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
