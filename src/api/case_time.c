/* case_time.c: the timed call. Nothing but the caller's function lies between the two readings of
 * the clock; the guard is set up before the first.
 *
 * Built without unwind tables: an exception that leaves a C++ caller's function finds no way
 * through here, ends in std::terminate and with it in the guard, instead of taking the guard's
 * handlers along. */
#include "api/case.h"

#include "base/clock.h"
#include "device/cuda/cuda.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static void end_case(struct assay_case_lane *lane, enum assay_outcome outcome, const char *reason)
{
    if (lane->figures->outcome != ASSAY_OUTCOME_OK)
        return;
    lane->figures->outcome = outcome;
    snprintf(lane->figures->reason, sizeof lane->figures->reason, "%.255s", reason);
}

enum assay_status assay_case_crashed(struct assay_case_lane *lane, const char *during)
{
    char what[96], reason[192];
    assay_guard_recover(lane->guard);
    assay_guard_describe(lane->guard, what, sizeof what);
    if (lane->calls > 0)
        snprintf(reason, sizeof reason, "%s in %s, call %lld", what, during,
                 (long long)lane->calls + 1);
    else
        snprintf(reason, sizeof reason, "%s in %s", what, during);
    end_case(lane, ASSAY_OUTCOME_CRASHED, reason);
    return ASSAY_ERR_FAILED;
}

static enum assay_status answered(struct assay_case_lane *lane, int returned, int64_t call)
{
    char reason[96];
    if (returned == 0)
        return ASSAY_OK;
    snprintf(reason, sizeof reason, "run answered %d, call %lld", returned, (long long)call);
    end_case(lane, ASSAY_OUTCOME_FAILED, reason);
    return ASSAY_ERR_FAILED;
}

static struct assay_case_timer *timer_of(assay_device *device)
{
    return (struct assay_case_timer *)device;
}

static void arm(struct assay_case_lane *lane)
{
    lane->guard->armed = !(lane->self.flags & ASSAY_CASE_UNGUARDED);
}

/* Calls in this process: how many were left when one failed, their time, and when they ended. */
struct span {
    int64_t left, ns, end;
};

static int call_hot(struct assay_case_lane *lane, struct span *span)
{
    int (*run)(void *) = lane->self.run;
    void *argument = lane->self.argument;
    int64_t left = span->left;
    int returned = 0;
    int64_t start = assay_clock_ns();
    do
        returned = run(argument);
    while (returned == 0 && --left > 0);
    *span = (struct span){.left = left, .end = assay_clock_ns()};
    span->ns = span->end - start;
    return returned;
}

/* Each call behind a sweep of the caches, and timed by itself. */
static int call_cold(const struct assay_case_timer *timer, struct assay_case_lane *lane,
                     struct span *span)
{
    int returned = 0;
    do {
        memset(timer->sweep, (int)span->left, timer->sweep_bytes);
        assay_keep(timer->sweep);
        int64_t start = assay_clock_ns();
        returned = lane->self.run(lane->self.argument);
        span->end = assay_clock_ns();
        span->ns += span->end - start;
    } while (returned == 0 && --span->left > 0);
    return returned;
}

static enum assay_status time_on_host(assay_device *device, const struct assay_kernel *kernel,
                                      void *state, const struct assay_work *work,
                                      struct assay_timing *out)
{
    struct assay_case_lane *lane = state;
    (void)kernel;
    if (sigsetjmp(lane->guard->back, 0) != 0)
        return assay_case_crashed(lane, "run");
    struct span span = {.left = work->iters};
    lane->memory->bytes_peak = lane->memory->bytes_held;
    size_t held = lane->memory->bytes_held;
    arm(lane);
    int returned = lane->self.flags & ASSAY_CASE_COLD ? call_cold(timer_of(device), lane, &span)
                                                      : call_hot(lane, &span);
    lane->guard->armed = 0;
    lane->calls += work->iters - span.left + (returned != 0);
    if (lane->memory->bytes_peak - held > lane->most)
        lane->most = lane->memory->bytes_peak - held;
    timer_of(device)->last_ns = span.end;
    out->device_ns = out->host_ns = (double)span.ns;
    return answered(lane, returned, lane->calls);
}

/* The launches of a case, within the GPU's own way of timing. */
static enum assay_status launch(void *state, const struct assay_work *work)
{
    struct assay_case_lane *lane = state;
    if (sigsetjmp(lane->guard->back, 0) != 0)
        return assay_case_crashed(lane, "run");
    int64_t done = 0;
    int returned = 0;
    arm(lane);
    for (; done < work->iters && returned == 0; done++)
        returned = lane->self.run(lane->self.argument);
    lane->guard->armed = 0;
    return answered(lane, returned, lane->calls + done);
}

static enum assay_status time_on_stream(assay_device *device, const struct assay_kernel *kernel,
                                        void *state, const struct assay_work *work,
                                        struct assay_timing *out)
{
    struct assay_case_timer *timer = timer_of(device);
    struct assay_case_lane *lane = state;
    struct assay_work on_stream = *work;
    on_stream.stream = lane->self.stream ? lane->self.stream : (void *)(uintptr_t)CU_STREAM_LEGACY_;
    size_t held = lane->memory->bytes_held;
    lane->memory->bytes_peak = held;
    enum assay_status status = timer->gpu->driver->time(timer->gpu, kernel, state, &on_stream, out);
    lane->calls += work->iters;
    if (lane->memory->bytes_peak - held > lane->most)
        lane->most = lane->memory->bytes_peak - held;
    timer->last_ns = assay_clock_ns();
    if (status != ASSAY_OK && lane->figures->outcome == ASSAY_OUTCOME_OK) {
        struct assay_error err = {0};
        assay_cuda_check(assay_cuda_driver()->cuCtxSynchronize(), "run", &err);
        end_case(lane, ASSAY_OUTCOME_FAILED,
                 err.message[0] ? err.message : "the GPU could not be timed on the case's stream");
    }
    return status;
}

/* Time as of the last call's end: a clock read less in each sample. */
static int64_t last_end(assay_device *device) { return timer_of(device)->last_ns; }

static int64_t now_ns(assay_device *device)
{
    (void)device;
    return assay_clock_ns();
}

static double no_clock(assay_device *device)
{
    (void)device;
    return 0;
}

static void not_disturbed(assay_device *device, struct assay_disturbance *out)
{
    (void)device;
    *out = (struct assay_disturbance){0};
}

static void disturbed(assay_device *device, struct assay_disturbance *out)
{
    (void)device;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    *out = (struct assay_disturbance){.context_switches = usage.ru_nivcsw};
}

void assay_case_timer_init(struct assay_case_timer *timer, assay_device *gpu, bool by_precision,
                           bool elsewhere)
{
    *timer = (struct assay_case_timer){
        .driver = {.name = "case",
                   .time = gpu ? time_on_stream : time_on_host,
                   .now_ns = elsewhere ? now_ns : last_end,
                   .clock_hz = no_clock,
                   .disturbance = by_precision ? disturbed : not_disturbed},
        .gpu = gpu,
        .last_ns = assay_clock_ns(),
    };
    timer->device.driver = &timer->driver;
}

void assay_case_lane_init(struct assay_case_lane *lane)
{
    lane->kernel = (struct assay_kernel){
        .struct_size = sizeof lane->kernel,
        .abi = ASSAY_KERNEL_ABI,
        .name = lane->self.name,
        .flags = lane->self.flags & ASSAY_CASE_GRAPH ? 0 : ASSAY_KERNEL_DIRECT,
        .run = launch,
    };
}

enum assay_status assay_case_timer_call(struct assay_case_timer *timer,
                                        struct assay_case_lane *lane, int64_t calls,
                                        struct assay_timing *out)
{
    const struct assay_args none = {0};
    struct assay_work work = {.iters = calls, .n_sets = 1, .sets = &none};
    struct assay_timing unused;
    return timer->driver.time(&timer->device, &lane->kernel, lane, &work, out ? out : &unused);
}
