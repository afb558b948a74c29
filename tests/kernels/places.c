/* places.c: a relu that counts on how many sets of operands its runs of several calls were. */
#include <assay/assay_kernel.h>

#include <stdio.h>

enum { MOST = 256 };
static int64_t count;
static const void *seen[MOST];
static int n_seen;

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    (void)state, (void)err;
    count = 1;
    for (int32_t i = 0; i < problem->inputs[0].rank; i++)
        count *= problem->inputs[0].dims[i];
    return ASSAY_OK;
}

static void note(const void *in)
{
    int i = 0;
    while (i < n_seen && seen[i] != in)
        i++;
    if (i == n_seen && n_seen < MOST)
        seen[n_seen++] = in;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    (void)state;
    if (work->n_sets == 1 && work->iters > 1) /* a hot sample */
        note(assay_work_args(work, 0)->in[0]);
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
    printf("%d places\n", n_seen);
    fflush(stdout);
}

static const struct assay_kernel places = {
    .struct_size = sizeof places,
    .abi = ASSAY_KERNEL_ABI,
    .name = "places",
    .op = "relu",
    .implementation = "places",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
    .setup = setup,
    .run = run,
    .teardown = teardown,
};

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {&places};
    *n_kernels = 1;
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
