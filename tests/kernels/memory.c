/* memory.c: kernels of relu that allocate memory with malloc, as a user's do: in setup and in every
 * call. */
#include <assay/assay_kernel.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, SETUP_MIB = 3, RUN_MIB = 40 };

static enum assay_status relu(const struct assay_problem *problem, const struct assay_work *work)
{
    int64_t n = 1;
    for (int32_t i = 0; i < problem->n_axes; i++)
        n *= problem->axes[i];
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        const float *x = args->in[0];
        float *y = args->out[0];
        for (int64_t j = 0; j < n; j++)
            y[j] = x[j] > 0 ? x[j] : 0;
    }
    return ASSAY_OK;
}

struct state {
    const struct assay_problem *problem;
    char *scratch;
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    (void)err;
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return ASSAY_ERR_NOMEM;
    s->problem = problem;
    *state = s;
    return ASSAY_OK;
}

static enum assay_status setup_scratch(const struct assay_problem *problem, void **state,
                                       struct assay_error *err)
{
    enum assay_status status = setup(problem, state, err);
    struct state *s = status == ASSAY_OK ? *state : NULL;
    if (!s)
        return status;
    s->scratch = malloc(SETUP_MIB * MIB);
    if (!s->scratch) {
        free(s);
        return ASSAY_ERR_NOMEM;
    }
    memset(s->scratch, 1, SETUP_MIB * MIB);
    return ASSAY_OK;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    return relu(s->problem, work);
}

/* Touched, so that it is resident; and volatile, so that no compiler does without it. */
static enum assay_status run_allocating(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    volatile char *room = malloc(RUN_MIB * MIB);
    if (!room)
        return ASSAY_ERR_NOMEM;
    for (size_t i = 0; i < RUN_MIB * (size_t)MIB; i += 4096)
        room[i] = 1;
    enum assay_status status = relu(s->problem, work);
    free((void *)(uintptr_t)room);
    return status;
}

static void teardown(void *state)
{
    struct state *s = state;
    free(s->scratch);
    free(s);
}

#define KERNEL(name_, ...)                                                                         \
    static const struct assay_kernel name_ = {                                                     \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #name_,                                                                            \
        .op = "relu",                                                                              \
        .implementation = #name_,                                                                  \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .teardown = teardown,                                                                      \
        __VA_ARGS__,                                                                               \
    };
KERNEL(takes_none, .setup = setup, .run = run)
KERNEL(takes_in_setup, .setup = setup_scratch, .run = run)
KERNEL(takes_in_run, .setup = setup, .run = run_allocating)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const kernels[] = {&takes_none, &takes_in_setup,
                                                         &takes_in_run};
    *n_kernels = 3;
    return abi == ASSAY_KERNEL_ABI ? kernels : NULL;
}
