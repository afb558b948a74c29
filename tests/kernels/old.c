/* old.c: a plug-in built before kernels had prepare and the fields after it: its struct ends with
 * teardown, and the memory behind it must not be read. */
#include <assay/assay_kernel.h>

#include <stddef.h>
#include <stdlib.h>

/* struct assay_kernel as it was then. */
struct old_kernel {
    uint32_t struct_size, abi;
    const char *name, *op, *implementation, *device;
    uint64_t dtypes;
    int32_t preference;
    enum assay_status (*can_run)(const struct assay_problem *problem, struct assay_error *why);
    enum assay_status (*setup)(const struct assay_problem *problem, void **state,
                               struct assay_error *err);
    enum assay_status (*run)(void *state, const struct assay_work *work);
    void (*teardown)(void *state);
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    int64_t *count = malloc(sizeof *count);
    (void)err;
    if (!count)
        return ASSAY_ERR_NOMEM;
    *count = 1;
    for (int32_t i = 0; i < problem->inputs[0].rank; i++)
        *count *= problem->inputs[0].dims[i];
    *state = count;
    return ASSAY_OK;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    const int64_t *count = state;
    for (int64_t k = 0; k < work->iters; k++) {
        const struct assay_args *args = assay_work_args(work, k);
        const float *in = args->in[0];
        float *out = args->out[0];
        for (int64_t i = 0; i < *count; i++)
            out[i] = in[i] < 0 ? 0 : in[i];
    }
    return ASSAY_OK;
}

static const struct {
    struct old_kernel kernel;
    uintptr_t behind[16]; /* calling any of these crashes */
} old = {
    .kernel =
        {
            .struct_size = sizeof(struct old_kernel),
            .abi = ASSAY_KERNEL_ABI,
            .name = "old",
            .op = "relu",
            .implementation = "old",
            .device = "cpu",
            .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
            .setup = setup,
            .run = run,
            .teardown = free,
        },
    .behind = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31},
};

_Static_assert(sizeof(struct old_kernel) == offsetof(struct assay_kernel, prepare),
               "the old struct is the beginning of the new one");

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *list[1];
    list[0] = (const struct assay_kernel *)(const void *)&old;
    *n_kernels = 1;
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
