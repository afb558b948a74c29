/* noisy.c: relu kernels that compute what they should and disturb the worker they run in: they
 * write into its pipe, copy it, take its descriptors, or have it killed. */
#include <assay/assay_kernel.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t count; /* the elements of the last problem that was set up: there is one at a time */

static void note_count(const struct assay_problem *problem)
{
    count = 1;
    for (int32_t i = 0; i < problem->inputs[0].rank; i++)
        count *= problem->inputs[0].dims[i];
}

static enum assay_status run_relu(void *state, const struct assay_work *work)
{
    (void)state;
    for (int64_t k = 0; k < work->iters; k++) {
        const struct assay_args *args = assay_work_args(work, k);
        const float *in = args->in[0];
        float *out = args->out[0];
        for (int64_t i = 0; i < count; i++)
            out[i] = in[i] < 0 ? 0 : in[i];
    }
    return ASSAY_OK;
}

static enum assay_status setup_quiet(const struct assay_problem *problem, void **state,
                                     struct assay_error *err)
{
    (void)state, (void)err;
    note_count(problem);
    return ASSAY_OK;
}

/* The worker's end of the pipe to the supervisor; -1: not found. */
static int find_pipe(void)
{
    struct stat info;
    for (int fd = 3; fd < 64; fd++)
        if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) &&
            (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
            return fd;
    return -1;
}

static void write_into_pipe(const char *text)
{
    ssize_t written = write(find_pipe(), text, strlen(text));
    (void)written;
}

static enum assay_status setup_chatty(const struct assay_problem *problem, void **state,
                                      struct assay_error *err)
{
    (void)state, (void)err;
    note_count(problem);
    write_into_pipe("hello from a kernel\n");
    return ASSAY_OK;
}

/* Without a newline: what comes next is joined to it. */
static enum assay_status setup_mumbles(const struct assay_problem *problem, void **state,
                                       struct assay_error *err)
{
    (void)state, (void)err;
    note_count(problem);
    write_into_pipe("mumble");
    return ASSAY_OK;
}

/* From here on there are two of us. */
static enum assay_status setup_forks(const struct assay_problem *problem, void **state,
                                     struct assay_error *err)
{
    (void)state, (void)err;
    note_count(problem);
    return fork() < 0 ? ASSAY_ERR_IO : ASSAY_OK;
}

static enum assay_status setup_leaks(const struct assay_problem *problem, void **state,
                                     struct assay_error *err)
{
    (void)state, (void)err;
    note_count(problem);
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    return ASSAY_OK;
}

static enum assay_status setup_closes(const struct assay_problem *problem, void **state,
                                      struct assay_error *err)
{
    (void)state, (void)err;
    note_count(problem);
    close(find_pipe());
    return ASSAY_OK;
}

static enum assay_status run_killed(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    raise(SIGKILL);
    return ASSAY_OK;
}

/* While the group is prepared: ASSAY_NOISY_KILL names a pipe with a character for each runner that
 * is to be killed when it loads this plug-in. Some of them can write no files. */
__attribute__((constructor)) static void kill_runner(void)
{
    const char *path = getenv("ASSAY_NOISY_KILL");
    char letter;
    int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd >= 0 && read(fd, &letter, 1) == 1)
        raise(SIGKILL);
    if (fd >= 0)
        close(fd);
}

#define NOISY(ident, setup_, run_)                                                                 \
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

NOISY(quiet, setup_quiet, run_relu)
NOISY(chatty, setup_chatty, run_relu)
NOISY(mumbles, setup_mumbles, run_relu)
NOISY(forks, setup_forks, run_relu)
NOISY(leaks, setup_leaks, run_relu)
NOISY(closes, setup_closes, run_relu)
NOISY(killed, setup_quiet, run_killed)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {
        &kernel_quiet, &kernel_chatty, &kernel_mumbles, &kernel_forks,
        &kernel_leaks, &kernel_closes, &kernel_killed,
    };
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
