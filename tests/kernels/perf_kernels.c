/* perf_kernels.c: kernels whose duration is known, to measure assay itself with (`make perf`).
 *
 * Each computes relu in f32 and then waits until the time-stamp counter says that the call has
 * lasted as long as its name promises. Calls of one run follow each other without a gap: the end of
 * call i is i + 1 durations after the start of the run, so that looping costs nothing. A call that
 * was held up (the process lost its core) is not made up for by shorter calls after it.
 *
 *   perf_spin_1us perf_spin_10us perf_spin_1ms   1 us, 10 us, 1 ms a call
 *   perf_same_a perf_same_b                      10 us both: no difference to be found
 *   perf_two_percent                             10.2 us: a difference that should be found
 *   perf_empty                                   relu of a single element and nothing else */
#include <assay/assay_kernel.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t ticks_now(void)
{
#if defined(__x86_64__)
    return (int64_t)__rdtsc();
#else
    return clock_ns();
#endif
}

struct instant {
    int64_t ns, ticks;
};

/* Both clocks at one moment: of several tries the one that took the fewest ticks. */
static struct instant read_both(void)
{
    struct instant best = {0, 0};
    int64_t least = INT64_MAX;
    for (int i = 0; i < 50; i++) {
        int64_t before = ticks_now(), ns = clock_ns(), after = ticks_now();
        if (after - before < least) {
            least = after - before;
            best = (struct instant){ns, before + (after - before) / 2};
        }
    }
    return best;
}

/* Both ends are known to some 20 ns, so 20 ms give the rate to 2 parts in a million. Measured once.
 */
static double ticks_per_ns(void)
{
    static double rate;
    if (rate > 0)
        return rate;
    struct instant start = read_both();
    while (clock_ns() - start.ns < 20000000)
        ;
    struct instant end = read_both();
    rate = (double)(end.ticks - start.ticks) / (double)(end.ns - start.ns);
    return rate;
}

struct spin {
    int64_t count; /* elements */
    double call_ticks;
};

static int64_t count_elements(const struct assay_tensor *tensor)
{
    int64_t count = 1;
    for (int32_t i = 0; i < tensor->rank; i++)
        count *= tensor->dims[i];
    return count;
}

static enum assay_status unsupported(struct assay_error *why, const char *message)
{
    if (why) {
        why->code = ASSAY_UNSUPPORTED;
        snprintf(why->message, sizeof why->message, "%s", message);
    }
    return ASSAY_UNSUPPORTED;
}

/* The work itself must be lost in the shortest duration. */
static enum assay_status can_spin(const struct assay_problem *problem, struct assay_error *why)
{
    if (problem && count_elements(&problem->inputs[0]) > 256)
        return unsupported(why, "takes at most 256 elements");
    return ASSAY_OK;
}

static enum assay_status set_up(const struct assay_problem *problem, void **state, double ns)
{
    struct spin *spin = malloc(sizeof *spin);
    if (!spin)
        return ASSAY_ERR_NOMEM;
    *spin = (struct spin){count_elements(&problem->inputs[0]), ns * ticks_per_ns()};
    *state = spin;
    return ASSAY_OK;
}

static void relu(const struct assay_args *args, int64_t count)
{
    const float *in = args->in[0];
    float *out = args->out[0];
    for (int64_t i = 0; i < count; i++)
        out[i] = in[i] < 0 ? 0 : in[i];
}

static enum assay_status run_spin(void *state, const struct assay_work *work)
{
    const struct spin *spin = state;
    double end = (double)ticks_now();
    for (int64_t i = 0; i < work->iters; i++) {
        relu(assay_work_args(work, i), spin->count);
        end += spin->call_ticks;
        double now = (double)ticks_now();
        while (now < end)
            now = (double)ticks_now();
        if (now > end + spin->call_ticks)
            end = now;
    }
    return ASSAY_OK;
}

static void tear_down(void *state) { free(state); }

static enum assay_status can_run_empty(const struct assay_problem *problem, struct assay_error *why)
{
    if (problem && count_elements(&problem->inputs[0]) != 1)
        return unsupported(why, "takes one element");
    return ASSAY_OK;
}

static enum assay_status run_empty(void *state, const struct assay_work *work)
{
    (void)state;
    for (int64_t i = 0; i < work->iters; i++)
        relu(assay_work_args(work, i), 1);
    return ASSAY_OK;
}

#define KERNEL(name_, ...)                                                                         \
    {                                                                                              \
        .struct_size = sizeof(struct assay_kernel), .abi = ASSAY_KERNEL_ABI, .name = name_,        \
        .op = "relu", .implementation = name_, .device = "cpu",                                    \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32), __VA_ARGS__                                    \
    }

/* A kernel's setup does not learn which kernel it is for, so each duration has one of its own. */
#define SET_UP(ident, ns)                                                                          \
    static enum assay_status set_up_##ident(const struct assay_problem *problem, void **state,     \
                                            struct assay_error *err)                               \
    {                                                                                              \
        (void)err;                                                                                 \
        return set_up(problem, state, ns);                                                         \
    }
SET_UP(1us, 1e3)
SET_UP(10us, 10e3)
SET_UP(1ms, 1e6)
SET_UP(two_percent, 10.2e3)

#define SPIN(name_, duration)                                                                      \
    KERNEL(name_, .can_run = can_spin, .setup = set_up_##duration, .run = run_spin,                \
           .teardown = tear_down)

static const struct assay_kernel kernels[] = {
    SPIN("perf_spin_1us", 1us),
    SPIN("perf_spin_10us", 10us),
    SPIN("perf_spin_1ms", 1ms),
    SPIN("perf_same_a", 10us),
    SPIN("perf_same_b", 10us),
    SPIN("perf_two_percent", two_percent),
    KERNEL("perf_empty", .can_run = can_run_empty, .run = run_empty),
};

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *list[sizeof kernels / sizeof kernels[0]];
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    for (int32_t i = 0; i < *n_kernels; i++)
        list[i] = &kernels[i];
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
