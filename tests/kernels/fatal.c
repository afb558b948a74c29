/* fatal.c: relu kernels that do not come back, each in its own way. */
#include <assay/assay_kernel.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum assay_status run_segfault(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    volatile int *volatile nowhere = NULL;
    *nowhere = 1; /* NOLINT(clang-analyzer-core.NullDereference): what it is here for */
    return ASSAY_OK;
}

static enum assay_status run_aborts(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    abort();
}

static enum assay_status run_hang(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    for (volatile int forever = 1; forever;)
        ;
    return ASSAY_OK;
}

static enum assay_status run_exits(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    exit(0);
}

/* Takes memory, and uses it, until there is none; then does what unprepared programs do. */
static enum assay_status run_hog(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    for (;;) {
        size_t bytes = 16 << 20;
        char *taken = malloc(bytes);
        for (size_t i = 0; i < bytes; i += 4096)
            ((volatile char *)taken)[i] = 1;
    }
    return ASSAY_OK;
}

static enum assay_status setup_segfault(const struct assay_problem *problem, void **state,
                                        struct assay_error *err)
{
    (void)problem, (void)state, (void)err;
    raise(SIGSEGV);
    return ASSAY_OK;
}

/* Deaf to every signal that can be ignored, and asleep. */
static enum assay_status run_deaf(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    for (;;)
        pause();
    return ASSAY_OK;
}

#define FATAL(ident, setup_, run_)                                                                 \
    static const struct assay_kernel kernel_##ident = {                                            \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "relu",                                                                              \
        .implementation = #ident,                                                                  \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .setup = setup_,                                                                           \
        .run = run_,                                                                               \
    };

FATAL(segfault, NULL, run_segfault)
FATAL(aborts, NULL, run_aborts)
FATAL(hang, NULL, run_hang)
FATAL(exits, NULL, run_exits)
FATAL(hog, NULL, run_hog)
FATAL(setup_crash, setup_segfault, run_hang)
FATAL(deaf, NULL, run_deaf)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {
        &kernel_segfault, &kernel_aborts,      &kernel_hang, &kernel_exits,
        &kernel_hog,      &kernel_setup_crash, &kernel_deaf,
    };
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
