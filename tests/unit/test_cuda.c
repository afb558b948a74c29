/* test_cuda.c: the CUDA device on stand-ins for NVIDIA's libraries (tests/device/fake_*.c): its
 * memory, how it times, what it remembers, what it says when something fails. */
#include "unit.h"

#include "base/alloc.h"
#include "base/last_words.h"
#include "runner/memory.h"
#include "device/cuda/cuda_gpu.h"
#include "device/device.h"
#include "op/attention.h"
#include "op/conv.h"
#include "op/groupnorm.h"
#include "op/op.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAKES ASSAY_BINARY_DIR "/fakes/"

static assay_device *open_gpu(void)
{
    const struct assay_device_driver *driver;
    int32_t index;
    assay_device *device = NULL;
    struct assay_error err = {0};
    if (assay_device_parse("cuda", &driver, &index, &err) != ASSAY_OK ||
        assay_device_open(driver, index, 4, &device, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    return device;
}

static int open_each(void **state)
{
    *state = open_gpu();
    return 0;
}

static int close_each(void **state)
{
    assay_device_close(*state);
    return 0;
}

static void test_gpu_is_described(void **state)
{
    assay_device *device = *state;
    struct assay_device_info info;
    device->driver->describe(device, &info);
    assert_string_equal(info.name, "Fake GPU");
    assert_int_equal(info.cores, 4);
    assert_int_equal(info.llc_bytes, 65536);
    assert_true(info.memory_available <= info.memory_bytes);
    assert_int_equal(device->threads, 1);
    assert_int_equal(assay_cuda_properties()->major, 9);
    assert_near(device->driver->clock_hz(device), 1.5e9, 0);
}

static void test_one_gpu_at_a_time(void **state)
{
    assay_device *device = *state, *second = NULL;
    struct assay_error err = {0};
    assert_int_equal(assay_device_open(device->driver, 0, 1, &second, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "one GPU at a time"));
    assert_null(second);
    assert_ptr_equal(assay_cuda_gpu(), device);
}

static void test_memory_is_counted_and_copied(void **state)
{
    assay_device *device = *state;
    char there[300], back[300] = {0};
    void *a = NULL, *b = NULL;
    for (size_t i = 0; i < sizeof there; i++)
        there[i] = (char)i;
    assert_int_equal(assay_cuda_alloc(sizeof there, &a, NULL), ASSAY_OK);
    assert_int_equal(assay_device_alloc(device, sizeof there, &b, NULL), ASSAY_OK);
    assert_int_equal(device->bytes_held, 600);
    assert_int_equal(assay_cuda_upload(a, there, sizeof there, NULL), ASSAY_OK);
    assert_int_equal(device->driver->copy(device, b, a, sizeof there, NULL), ASSAY_OK);
    assert_int_equal(device->driver->download(device, back, b, sizeof back, NULL), ASSAY_OK);
    assert_memory_equal(there, back, sizeof back);
    assay_cuda_free(a, sizeof there);
    assay_device_free(device, b, sizeof there);
    assay_cuda_free(NULL, 5);
    assert_int_equal(device->bytes_held, 0);
    assert_int_equal(device->bytes_peak, 600);
}

/* A variant is charged for what its calls take of the GPU, not for the host's memory; the driver's
 * count goes beside it. */
static void test_a_variants_memory(void **state)
{
    assay_device *device = *state;
    struct assay_memory memory = {0};
    void *before = NULL, *kept = NULL, *passing = NULL;
    assert_int_equal(assay_cuda_alloc(5000, &before, NULL), ASSAY_OK);
    struct assay_memory_mark mark = assay_memory_begin(device);
    assert_int_equal(assay_cuda_alloc(1000, &kept, NULL), ASSAY_OK);
    assert_int_equal(assay_cuda_alloc(300, &passing, NULL), ASSAY_OK);
    assay_cuda_free(passing, 300);
    void *of_the_host = assay_calloc(1, 100000);
    assay_memory_end(device, &mark, ASSAY_MEMORY_SETUP, &memory);
    assay_cuda_free(before, 5000);
    mark = assay_memory_begin(device);
    assay_memory_end(device, &mark, ASSAY_MEMORY_RUN, &memory);
    assert_near(memory.peak, 1300, 0);
    assert_near(memory.running, 1000, 0);
    assert_near(memory.used_peak, 1000, 0); /* as it stands when calls return */
    assay_free(of_the_host);
    assay_cuda_free(kept, 1000);
}

static void test_a_driver_that_does_not_tell(void **state)
{
    assay_device *device = *state;
    struct assay_memory memory = {0};
    setenv("FAKE_CUDA_FAIL", "cuMemGetInfo_v2:1", 1);
    struct assay_memory_mark mark = assay_memory_begin(device);
    assay_memory_end(device, &mark, ASSAY_MEMORY_RUN, &memory);
    unsetenv("FAKE_CUDA_FAIL");
    assert_true(isnan(memory.used_peak));
    assert_near(memory.peak, 0, 0);
}

static void test_too_much_memory_says_how_much(void **state)
{
    assay_device *device = *state;
    struct assay_error err = {0};
    void *pointer = NULL;
    assert_int_equal(assay_device_alloc(device, (size_t)1 << 40, &pointer, &err), ASSAY_ERR_NOMEM);
    assert_non_null(strstr(err.message, "cannot allocate 1.1 TB on the GPU"));
    assert_null(pointer);
    assert_int_equal(device->bytes_held, 0);
}

/* ---- memory that another process sees ---------------------------------------------------------
 */

enum { BLOCK = 2 << 20 };

/* In a child: gives out the handle of memory that it filled, and waits until the other is done.
 * 0: all went well, and the other's bytes came. */
static int be_the_owner(assay_device *device, int to_other, int from_other)
{
    unsigned char handle[64], byte = 0, *there = malloc(BLOCK);
    void *memory = NULL;
    memset(there, 7, BLOCK);
    if (assay_device_alloc(device, BLOCK, &memory, NULL) != ASSAY_OK ||
        device->driver->share(device, memory, handle, NULL) != ASSAY_OK ||
        device->driver->upload(device, memory, there, BLOCK, NULL) != ASSAY_OK)
        return 1;
    if (write(to_other, handle, sizeof handle) != sizeof handle || read(from_other, &byte, 1) != 1)
        return 2;
    device->driver->download(device, there, memory, BLOCK, NULL);
    bool came = there[BLOCK - 1] == 9;
    free(there);
    return came ? 0 : 3;
}

static void test_another_process_sees_memory(void **state)
{
    assay_device *device = *state;
    const struct assay_device_driver *driver = device->driver;
    int to[2], from[2], status = -1;
    unsigned char handle[64], seen[2];
    void *memory = NULL;
    struct assay_error err = {0};
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(be_the_owner(device, from[1], to[0]));
    close(from[1]); /* so that one that ends early is noticed */
    assert_int_equal(read(from[0], handle, sizeof handle), sizeof handle);
    assert_int_equal(driver->shared(device, handle, BLOCK + 1, &memory, &err), ASSAY_ERR_CORRUPT);
    assert_null(memory);
    assert_int_equal(driver->shared(device, handle, BLOCK, &memory, &err), ASSAY_OK);
    assert_int_equal(driver->download(device, seen, memory, 1, NULL), ASSAY_OK);
    assert_int_equal(driver->download(device, seen + 1, (char *)memory + BLOCK - 1, 1, NULL),
                     ASSAY_OK);
    assert_true(seen[0] == 7 && seen[1] == 7);
    seen[0] = 9;
    assert_int_equal(driver->upload(device, (char *)memory + BLOCK - 1, seen, 1, NULL), ASSAY_OK);
    driver->unshare(device, memory);
    assert_int_equal(write(to[1], seen, 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(to[0]);
    close(to[1]);
    close(from[0]);
}

static void test_what_cannot_be_shared(void **state)
{
    assay_device *device = *state;
    struct cuda_gpu *gpu = assay_cuda_gpu();
    const struct cuda_driver_api *usual = gpu->api;
    struct cuda_driver_api without = *usual;
    unsigned char handle[64] = {0};
    void *small = NULL, *block = NULL, *opened = NULL;
    struct assay_error err = {0};
    assert_int_equal(assay_device_alloc(device, 1000, &small, NULL), ASSAY_OK);
    assert_int_equal(assay_device_alloc(device, BLOCK, &block, NULL), ASSAY_OK);
    /* A part of a block, whose handle would be that of all of it. */
    assert_int_equal(device->driver->share(device, small, handle, &err), ASSAY_ERR_DEVICE);
    /* A handle of nothing, and this process's own. */
    assert_int_equal(device->driver->shared(device, handle, 1, &opened, NULL), ASSAY_ERR_DEVICE);
    assert_int_equal(device->driver->share(device, block, handle, NULL), ASSAY_OK);
    assert_int_equal(device->driver->shared(device, handle, BLOCK, &opened, NULL),
                     ASSAY_ERR_DEVICE);
    assert_null(opened);
    without.cuIpcGetMemHandle = NULL;
    gpu->api = &without;
    err = (struct assay_error){0};
    assert_int_equal(device->driver->share(device, block, handle, &err), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "--in-process"));
    assert_int_equal(device->driver->shared(device, handle, BLOCK, &opened, NULL),
                     ASSAY_UNSUPPORTED);
    gpu->api = usual;
    assay_device_free(device, small, 1000);
    assay_device_free(device, block, BLOCK);
}

/* ---- timing ---------------------------------------------------------------------------------- */

enum { MOST_CALLS = 512 };

/* A kernel that notes how it is called and spins on the GPU. */
struct noted {
    cu_function spin;
    uint64_t ns;
    enum assay_status answer;
    cu_stream own; /* where it works instead of on the stream it is given; or NULL */
    int n;
    struct assay_work calls[MOST_CALLS];
};

static enum assay_status run_noted(void *state, const struct assay_work *work)
{
    struct noted *s = state;
    struct assay_cuda_launch launch = {.threads = 1};
    void *parameters[] = {&s->ns};
    enum assay_status status = s->answer;
    assert_true(s->n < MOST_CALLS);
    s->calls[s->n++] = *work;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++)
        status = assay_cuda_launch(s->spin, &launch, s->own ? s->own : work->stream, parameters);
    return status;
}

static const struct assay_kernel noted_kernel = {.run = run_noted};

static struct noted *make_noted(uint64_t ns)
{
    struct noted *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->ns = ns;
    assert_int_equal(assay_cuda_function("gate.cu", "", "spin", 0, &s->spin, NULL), ASSAY_OK);
    return s;
}

static struct assay_timing timed(assay_device *device, struct noted *s, struct assay_work work)
{
    struct assay_timing timing = {.device_ns = -1, .host_ns = -1};
    assert_int_equal(device->driver->time(device, &noted_kernel, s, &work, &timing), ASSAY_OK);
    return timing;
}

static void test_time_is_the_kernels(void **state)
{
    assay_device *device = *state;
    struct assay_args args = {0};
    static const int64_t iters[] = {1, 2, 5};
    for (size_t i = 0; i < sizeof iters / sizeof iters[0]; i++) {
        struct noted *s = make_noted(200000);
        struct assay_work work = {.iters = iters[i], .n_sets = 1, .sets = &args};
        struct assay_timing timing = timed(device, s, work);
        double least = 200000.0 * (double)iters[i];
        assert_true(timing.device_ns >= 0.999 * least);
        assert_true(timing.device_ns < 100 * least); /* whatever else this machine does */
        assert_true(timing.host_ns > 0);
        device->driver->forget(device, s);
        free(s);
    }
}

/* The least of some samples, for this machine has other things to do. */
static double least_time(assay_device *device, struct noted *s, int64_t iters)
{
    struct assay_args args = {0};
    double least = INFINITY;
    for (int i = 0; i < 20; i++)
        least = fmin(
            least, timed(device, s, (struct assay_work){.iters = iters, .n_sets = 1, .sets = &args})
                       .device_ns);
    return least;
}

static void test_events_are_taken_off(void **state)
{
    assay_device *device = *state;
    struct noted *s = make_noted(20000);
    setenv("FAKE_CUDA_EVENT_NS", "8000", 1);
    assay_cuda_gpu()->events.known = false; /* as of a device just opened */
    static const int64_t iters[] = {1, 2, 5};
    for (size_t i = 0; i < sizeof iters / sizeof iters[0]; i++) {
        double spins = 20000.0 * (double)iters[i], ns = least_time(device, s, iters[i]);
        assert_true(ns >= spins - 1500 && ns < spins + 4000);
    }
    assert_near(assay_cuda_gpu()->events.replayed, 8000, 1500);
    unsetenv("FAKE_CUDA_EVENT_NS");
    device->driver->forget(device, s);
    free(s);
}

/* What cannot be an event's is left where it is. */
static void test_events_that_take_too_long_are_not_taken_off(void **state)
{
    assay_device *device = *state;
    struct noted *s = make_noted(20000);
    setenv("FAKE_CUDA_EVENT_NS", "50000", 1);
    assay_cuda_gpu()->events.known = false;
    assert_true(least_time(device, s, 2) >= 90000 * 0.999);
    unsetenv("FAKE_CUDA_EVENT_NS");
    device->driver->forget(device, s);
    free(s);
}

static void test_same_work_is_replayed(void **state)
{
    assay_device *device = *state;
    struct assay_args args[2] = {0};
    struct noted *s = make_noted(10);
    struct assay_work work = {.iters = 20, .n_sets = 1, .sets = args};
    timed(device, s, work);
    /* Once to see what it costs the host, once to capture it. */
    assert_int_equal(s->n, 2);
    assert_int_equal(s->calls[0].iters, 16);
    assert_int_equal(s->calls[1].iters, 20);
    assert_ptr_equal(s->calls[1].stream, assay_cuda_gpu()->stream);
    timed(device, s, work);
    timed(device, s, work);
    assert_int_equal(s->n, 2);
    work.iters = 21; /* other work is not */
    timed(device, s, work);
    assert_int_equal(s->n, 4);
    work.sets = args + 1;
    timed(device, s, work);
    assert_int_equal(s->n, 6);
    work.iters = 20;
    work.sets = args;
    timed(device, s, work); /* the first is still known */
    assert_int_equal(s->n, 6);
    device->driver->forget(device, s);
    timed(device, s, work);
    assert_int_equal(s->n, 8);
    device->driver->forget(device, s);
    free(s);
}

static void test_short_and_long_work_is_enqueued_directly(void **state)
{
    assay_device *device = *state;
    struct assay_args args = {0};
    struct noted *s = make_noted(1);
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    timed(device, s, work);
    timed(device, s, work);
    assert_int_equal(s->n, 2);
    work.iters = 5000;
    timed(device, s, work);
    assert_int_equal(s->n, 3);
    assert_int_equal(s->calls[2].iters, 5000);
    free(s);
}

static void test_cold_work_has_a_lead_in(void **state)
{
    assay_device *device = *state;
    struct assay_args args[100] = {0};
    static const struct {
        int64_t n_sets, first, lead, lead_first;
    } rows[] = {{4, 1, 2, 3}, {2, 0, 1, 1}, {3, 0, 1, 2}, {100, 10, 32, 78}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct noted *s = make_noted(1);
        struct assay_work work = {
            .iters = 6, .first = rows[i].first, .n_sets = rows[i].n_sets, .sets = args};
        timed(device, s, work);
        assert_int_equal(s->n, 3); /* for the host's time, the lead-in, the work */
        assert_int_equal(s->calls[1].iters, rows[i].lead);
        assert_int_equal(s->calls[1].first, rows[i].lead_first);
        assert_int_equal(s->calls[2].iters, 6);
        assert_int_equal(s->calls[2].first, rows[i].first);
        device->driver->forget(device, s);
        free(s);
    }
    assert_int_equal(assay_cuda_gpu()->flush_bytes, 2 * 65536);
}

static int resets;

static cu_result count_reset(void)
{
    resets++;
    return CU_SUCCESS;
}

/* Without need it would slow every launch that follows. */
static void test_persisting_lines_are_reset_where_there_are_any(void **state)
{
    assay_device *device = *state;
    struct cuda_gpu *gpu = assay_cuda_gpu();
    const struct cuda_driver_api *usual = gpu->api;
    struct cuda_driver_api counted = *usual;
    struct assay_args args[4] = {0};
    struct noted *s = make_noted(1);
    struct assay_work work = {.iters = 6, .n_sets = 4, .sets = args};
    counted.cuCtxResetPersistingL2Cache = count_reset;
    gpu->api = &counted;
    timed(device, s, work);
    assert_int_equal(resets, 0);
    assert_int_equal(usual->cuCtxSetLimit(CU_LIMIT_PERSISTING_L2, 4096), CU_SUCCESS);
    timed(device, s, work); /* a kernel asked for some */
    assert_int_equal(resets, 1);
    assert_int_equal(usual->cuCtxSetLimit(CU_LIMIT_PERSISTING_L2, 0), CU_SUCCESS);
    counted.cuCtxGetLimit = NULL; /* who cannot tell has to */
    timed(device, s, work);
    assert_int_equal(resets, 2);
    gpu->api = usual;
    device->driver->forget(device, s);
    free(s);
}

static void test_lead_in_is_not_timed(void **state)
{
    assay_device *device = *state;
    struct assay_args args[40] = {0};
    struct noted *s = make_noted(2000000);
    struct assay_work work = {.iters = 1, .n_sets = 40, .sets = args};
    struct assay_timing timing = timed(device, s, work); /* 20 of 2 ms lead in */
    assert_true(timing.device_ns >= 1.9e6);
    assert_true(timing.device_ns < 30e6);
    free(s);
}

/* More different works than replays are kept: the oldest go. */
static void test_replays_are_limited(void **state)
{
    assay_device *device = *state;
    struct assay_args args = {0};
    struct noted *s = make_noted(1);
    struct assay_work work = {.n_sets = 1, .sets = &args};
    for (work.iters = 2; work.iters < 2 + CUDA_REPLAYS + 10; work.iters++)
        timed(device, s, work);
    int calls = s->n;
    work.iters = 2 + CUDA_REPLAYS + 9; /* the last */
    timed(device, s, work);
    assert_int_equal(s->n, calls);
    work.iters = 2; /* the first */
    timed(device, s, work);
    assert_int_equal(s->n, calls + 2);
    free(s);
}

static void test_a_run_that_fails_says_so(void **state)
{
    assay_device *device = *state;
    struct assay_args args = {0};
    struct assay_timing timing;
    static const int64_t iters[] = {1, 8};
    struct noted *s = make_noted(1);
    for (size_t i = 0; i < sizeof iters / sizeof iters[0]; i++) {
        struct assay_work work = {.iters = iters[i], .n_sets = 1, .sets = &args};
        s->answer = ASSAY_ERR_NOMEM;
        assert_int_equal(device->driver->time(device, &noted_kernel, s, &work, &timing),
                         ASSAY_ERR_NOMEM);
        s->answer = ASSAY_OK; /* and the next is none the worse for it */
        timed(device, s, work);
    }
    assert_int_equal(assay_cuda_gpu()->n_odd_ones, 0);
    free(s);
}

/* The gate of this driver opens at once; one that gave up is remembered. */
static void test_a_gate_that_gave_up_is_not_used_again(void **state)
{
    assay_device *device = *state;
    struct cuda_gpu *gpu = assay_cuda_gpu();
    struct assay_args args = {0};
    struct noted *s = make_noted(1);
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    timed(device, s, work);
    uint32_t ticket = gpu->ticket;
    assert_true(ticket > 0);
    assert_int_equal(gpu->gate[0], ticket);
    assert_int_equal(gpu->n_odd_ones, 0);
    gpu->gate[1] = ticket + 1; /* as the GPU would, for the next ticket */
    timed(device, s, work);
    assert_int_equal(gpu->n_odd_ones, 1);
    assert_true(gpu->odd_ones[0].state == s && gpu->odd_ones[0].waits);
    timed(device, s, work);
    assert_int_equal(gpu->ticket, ticket + 1);
    free(s);
}

/* Work enqueued on another stream is in no graph and between no two events. */
static void test_work_on_another_stream_is_counted(void **state)
{
    assay_device *device = *state;
    const struct cuda_driver_api *api = assay_cuda_gpu()->api;
    struct assay_args args[4] = {0};
    struct noted *s = make_noted(200000), *usual = make_noted(10);
    assert_int_equal(api->cuStreamCreate(&s->own, CU_STREAM_FLAG_NON_BLOCKING), CU_SUCCESS);
    for (int64_t n_sets = 1; n_sets <= 4; n_sets += 3) {
        struct assay_work work = {.iters = 5, .n_sets = n_sets, .sets = args};
        for (int i = 0; i < 2; i++) {
            struct assay_timing timing = timed(device, s, work);
            assert_true(timing.elsewhere);
            assert_true(timing.device_ns >= 0.999 * 5 * 200000);
            assert_true(timing.host_ns > 0 && timing.host_ns <= timing.device_ns);
        }
        assert_false(timed(device, usual, work).elsewhere); /* and nobody else is timed so */
    }
    s->answer = ASSAY_ERR_NOMEM;
    struct assay_work work = {.iters = 5, .n_sets = 1, .sets = args};
    struct assay_timing timing;
    assert_int_equal(device->driver->time(device, &noted_kernel, s, &work, &timing),
                     ASSAY_ERR_NOMEM);
    device->driver->forget(device, s);
    device->driver->forget(device, usual);
    api->cuStreamDestroy_v2(s->own);
    free(s);
    free(usual);
}

/* The device is still busy when the stream is done, one time after the other. */
static void test_a_device_that_stays_busy_is_noticed(void **state)
{
    assay_device *device = *state;
    struct assay_args args = {0};
    struct noted *s = make_noted(10);
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    setenv("FAKE_CUDA_BUSY_NS", "200000", 1);
    for (int i = 0; i < 5; i++)
        assert_false(timed(device, s, work).elsewhere);
    struct assay_timing timing = timed(device, s, work);
    unsetenv("FAKE_CUDA_BUSY_NS");
    assert_true(timing.elsewhere);
    assert_true(timing.device_ns >= 200000);
    device->driver->forget(device, s);
    assert_false(timed(device, s, work).elsewhere);
    free(s);
}

/* A stranger's run that the events miss is found at once. Others are run as often as they are asked
 * for. */
static void test_what_events_miss_is_noticed(void **state)
{
    assay_device *device = *state;
    struct assay_args args = {0};
    struct noted *s = make_noted(10);
    struct assay_work work = {.iters = 5000, /* too many for a graph */ .n_sets = 1, .sets = &args};
    device->strangers = true;
    assert_false(timed(device, s, work).elsewhere);
    assert_int_equal(s->n, 2);
    setenv("FAKE_CUDA_BUSY_NS", "20000000", 1);
    struct assay_timing timing = timed(device, s, work);
    unsetenv("FAKE_CUDA_BUSY_NS");
    assert_true(timing.elsewhere);
    assert_true(timing.device_ns >= 20000000);
    device->strangers = false;
    device->driver->forget(device, s);
    assert_false(timed(device, s, work).elsewhere);
    free(s);
}

/* ---- programs -------------------------------------------------------------------------------- */

static void test_functions_that_cannot_be_had(void **state)
{
    (void)state;
    struct assay_error err = {0};
    cu_function function;
    assert_int_equal(assay_cuda_function("none.cu", "", "f", 0, &function, &err),
                     ASSAY_ERR_INTERNAL);
    setenv("FAKE_NVRTC_FAIL", "loss.cu", 1);
    err = (struct assay_error){0};
    assert_int_equal(assay_cuda_function("loss.cu", "-DELEMENT=32", "mse", 0, &function, &err),
                     ASSAY_ERR_DEVICE);
    assert_non_null(strstr(err.message, "does not compile: loss.cu(7): error: made to fail"));
    unsetenv("FAKE_NVRTC_FAIL");
    assert_int_equal(assay_cuda_function("loss.cu", "-DELEMENT=32", "mse", 0, &function, NULL),
                     ASSAY_OK);
    err = (struct assay_error){0}; /* more shared memory than there is */
    assert_int_equal(
        assay_cuda_function("loss.cu", "-DELEMENT=32", "mse", 1 << 20, &function, &err),
        ASSAY_ERR_DEVICE);
    assert_non_null(strstr(err.message, "CUDA error 1: unknown error"));
}

/* ---- attention ------------------------------------------------------------------------------- */

extern const struct assay_kernel assay_kernel_attention_cuda, assay_kernel_attention_wgmma_cuda,
    assay_kernel_swiglu_cuda, assay_kernel_groupnorm_cuda, assay_kernel_depthwise_conv2d_cuda;

static struct assay_problem attention(enum assay_dtype dtype, int64_t batch, int64_t seq,
                                      int64_t heads, int64_t dim)
{
    struct assay_problem p = {.dtype = dtype, .n_axes = 4};
    p.axes[ASSAY_ATTENTION_BATCH] = batch;
    p.axes[ASSAY_ATTENTION_SEQ] = seq;
    p.axes[ASSAY_ATTENTION_HEADS] = heads;
    p.axes[ASSAY_ATTENTION_DIM] = dim;
    p.params[ASSAY_ATTENTION_PACKED] = 1;
    return p;
}

/* What was compiled and launched for it must be in the stand-ins' notes. */
static void check_launch(const struct assay_kernel *kernel, struct assay_problem p,
                         const char *options, const char *launch)
{
    char path[512], notes[1024] = "";
    const void *in[4] = {notes, notes, notes, notes};
    void *out[1] = {notes}, *s = NULL;
    const struct assay_args args = {.in = in, .out = out};
    const struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    snprintf(path, sizeof path, "%s/notes", getenv("XDG_CACHE_HOME"));
    remove(path);
    setenv("FAKE_NVRTC_COUNT", path, 1);
    setenv("FAKE_CUDA_LAUNCHES", path, 1);
    assert_int_equal(kernel->can_run(&p, NULL), ASSAY_OK);
    assert_int_equal(kernel->setup(&p, &s, NULL), ASSAY_OK);
    assert_int_equal(kernel->run(s, &work), ASSAY_OK);
    kernel->teardown(s);
    unsetenv("FAKE_NVRTC_COUNT");
    unsetenv("FAKE_CUDA_LAUNCHES");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(notes, 1, sizeof notes - 1, file) > 0);
    fclose(file);
    if (!strstr(notes, options) || !strstr(notes, launch))
        fail_msg("wanted\n%s\n%s\ngot\n%s", options, launch, notes);
}

static void check_attention(struct assay_problem p, const char *options, const char *launch)
{
    check_launch(&assay_kernel_attention_cuda, p, options, launch);
}

static void check_wgmma(struct assay_problem p, const char *options, const char *launch)
{
    check_launch(&assay_kernel_attention_wgmma_cuda, p, options, launch);
}

/* The stand-in has 4 SMs. */
static void test_attention_is_cut_to_fit(void **state)
{
    (void)state;
    check_attention(attention(ASSAY_DTYPE_BF16, 4, 16, 8, 128),
                    "-DELEMENT=17 -DVECTOR=1 -DDIM=128 -DFORM=2 -DKEYS=16\n",
                    "attention_warp 8 128 0\n");
    check_attention(attention(ASSAY_DTYPE_F16, 1, 32, 2, 3),
                    "-DELEMENT=16 -DVECTOR=0 -DDIM=32 -DFORM=2 -DKEYS=32\n",
                    "attention_warp 2 64 0\n"); /* both warps of a head stay together */
    check_attention(attention(ASSAY_DTYPE_BF16, 1, 1024, 16, 64),
                    "-DELEMENT=17 -DVECTOR=1 -DDIM=64 -DFORM=1 -DKEYS=64 -DBANDS=2\n",
                    "attention_tiles 128 128 55296\n");
    check_attention(attention(ASSAY_DTYPE_BF16, 1, 130, 1, 128),
                    "-DELEMENT=17 -DVECTOR=1 -DDIM=128 -DFORM=1 -DKEYS=64 -DBANDS=1\n",
                    "attention_tiles 3 128 87040\n"); /* 2 blocks would leave SMs without work */
    check_attention(attention(ASSAY_DTYPE_F16, 2, 17, 3, 250),
                    "-DELEMENT=16 -DVECTOR=0 -DDIM=256 -DFORM=1 -DKEYS=32 -DBANDS=1\n",
                    "attention_tiles 6 128 101376\n");
    check_attention(attention(ASSAY_DTYPE_F32, 2, 7, 3, 16),
                    "-DELEMENT=32 -DVECTOR=1 -DDIM=16 -DBANDS=1 -DGROUPS=1\n",
                    "attention_f32 6 256 5120\n");
    check_attention(attention(ASSAY_DTYPE_F32, 1, 1024, 4, 100),
                    "-DELEMENT=32 -DVECTOR=1 -DDIM=128 -DBANDS=4 -DGROUPS=2\n",
                    "attention_f32 64 256 76800\n");
}

/* Blocks stay, so there are as many as SMs, or fewer. */
static void test_attention_on_hopper_is_cut_to_fit(void **state)
{
    (void)state;
    struct assay_problem causal = attention(ASSAY_DTYPE_BF16, 1, 768, 5, 64);
    check_wgmma(attention(ASSAY_DTYPE_BF16, 2, 300, 3, 128),
                "-DELEMENT=17 -DVECTOR=1 -DDIM=128 -DKEYS=128 -DCONSUMERS=2 -DSTAGES=6 ",
                "attention_wgmma 4 384 230512\n");
    check_wgmma(attention(ASSAY_DTYPE_F16, 1, 257, 1, 64), /* three blocks in one go */
                "-DELEMENT=16 -DVECTOR=1 -DDIM=64 -DKEYS=128 -DCONSUMERS=2 -DSTAGES=8 ",
                "attention_wgmma 3 384 148624\n");
    check_wgmma(attention(ASSAY_DTYPE_BF16, 1, 1024, 16, 64), /* 16 times 1.75, or 32 times 1 */
                "-DELEMENT=17 -DVECTOR=1 -DDIM=64 -DKEYS=64 -DCONSUMERS=4 -DSTAGES=8 ",
                "attention_wgmma 4 640 99472\n");
    check_wgmma(causal, /* 4 times 1.75 * 768 keys, or 8 times 768 */
                "-DELEMENT=17 -DVECTOR=1 -DDIM=64 -DKEYS=64 -DCONSUMERS=4 -DSTAGES=8 ",
                "attention_wgmma 4 640 99472\n");
    causal.params[ASSAY_ATTENTION_CAUSAL] = 1; /* 3 * 1.75 * 1024, or 4 * 896 */
    check_wgmma(causal, "-DELEMENT=17 -DVECTOR=1 -DDIM=64 -DKEYS=128 -DCONSUMERS=2 -DSTAGES=8 ",
                "attention_wgmma 4 384 148624\n");
}

static void check_refused_by(const struct assay_kernel *kernel, struct assay_problem p,
                             const char *reason)
{
    struct assay_error why = {0};
    assert_int_equal(kernel->can_run(&p, &why), ASSAY_UNSUPPORTED);
    if (!strstr(why.message, reason))
        fail_msg("%s", why.message);
}

static void check_refused(struct assay_problem p, const char *reason)
{
    check_refused_by(&assay_kernel_attention_cuda, p, reason);
}

static void test_attention_says_what_it_cannot(void **state)
{
    (void)state;
    check_refused(attention(ASSAY_DTYPE_F32, 1, 7, 3, 257), "at most 256 elements, not 257");
    check_refused(attention(ASSAY_DTYPE_BF16, 1, ((int64_t)1 << 30) + 1, 1, 1), "2^30");
    check_refused(attention(ASSAY_DTYPE_BF16, (int64_t)1 << 16, 17, 1 << 14, 1), "one launch");
    const struct assay_kernel *wgmma = &assay_kernel_attention_wgmma_cuda;
    check_refused_by(wgmma, attention(ASSAY_DTYPE_BF16, 1, 300, 2, 80), "64 or 128 elements");
    check_refused_by(wgmma, attention(ASSAY_DTYPE_BF16, 1, 95, 4, 64), "positions and more");
    check_refused_by(wgmma, attention(ASSAY_DTYPE_BF16, 1, 100, 3, 64), "96 where there are");
    check_refused_by(wgmma, attention(ASSAY_DTYPE_BF16, 1, ((int64_t)1 << 30) + 1, 1, 64), "2^30");
}

static void test_attention_needs_matrix_instructions(void **state)
{
    (void)state;
    setenv("FAKE_CUDA_CAPABILITY", "75", 1);
    assay_device *device = open_gpu();
    unsetenv("FAKE_CUDA_CAPABILITY");
    check_refused(attention(ASSAY_DTYPE_BF16, 1, 7, 3, 16), "8.0 or more, not 7.5");
    check_refused_by(&assay_kernel_attention_wgmma_cuda, attention(ASSAY_DTYPE_BF16, 1, 300, 3, 64),
                     "(Hopper), not 7.5");
    assay_device_close(device);
}

/* ---- ops on images --------------------------------------------------------------------------- */

static struct assay_problem problem_of(const char *op, enum assay_dtype dtype, const char *mode,
                                       const int64_t *axes)
{
    struct assay_problem p;
    assert_int_equal(assay_op_problem(assay_op_find(op), dtype, mode, axes, 1, &p, NULL), ASSAY_OK);
    return p;
}

#define AXES(...)                                                                                  \
    (const int64_t[ASSAY_MAX_AXES]) { __VA_ARGS__ }

static void test_swiglu_counts_items(void **state)
{
    (void)state;
    const struct assay_kernel *kernel = &assay_kernel_swiglu_cuda;
    check_launch(kernel, problem_of("swiglu", ASSAY_DTYPE_BF16, "", AXES(4, 512, 8192)),
                 "-DELEMENT=17 -DVECTOR=1 -DWIDE=0\n", "swiglu 8192 256 0\n");
    check_launch(kernel, problem_of("swiglu", ASSAY_DTYPE_F32, "", AXES(1, 3, 7)),
                 "-DELEMENT=32 -DVECTOR=0 -DWIDE=0\n", "swiglu 1 32 0\n");
    check_launch(kernel, problem_of("swiglu", ASSAY_DTYPE_F16, "", AXES(1 << 20, 1 << 10, 24)),
                 "-DELEMENT=16 -DVECTOR=1 -DWIDE=1\n", "swiglu 12582912 256 0\n");
}

/* 16 threads of 4 channels, 8 of 4 columns (of f32 2), 2 of 4 lines. */
static void test_depthwise_is_cut_into_tiles(void **state)
{
    (void)state;
    const struct assay_kernel *kernel = &assay_kernel_depthwise_conv2d_cuda;
    const char *op = "depthwise_conv2d";
    check_launch(kernel, problem_of(op, ASSAY_DTYPE_BF16, "bias", AXES(4, 64, 64, 256, 3, 1)),
                 "-DELEMENT=17 -DUNIT=4 -DKERNEL=3 -DSTRIDE=1\n", "depthwise 256 256 0\n");
    check_launch(kernel, problem_of(op, ASSAY_DTYPE_F32, "", AXES(1, 1, 1, 1, 3, 2)),
                 "-DELEMENT=32 -DUNIT=1 -DKERNEL=3 -DSTRIDE=2\n", "depthwise 1 1 0\n");
    check_launch(kernel, problem_of(op, ASSAY_DTYPE_F16, "pad0", AXES(1, 16, 74, 6, 9, 1)),
                 "-DELEMENT=16 -DUNIT=1 -DKERNEL=0 -DSTRIDE=0\n", "depthwise 2 256 0\n");
    struct assay_error why = {0};
    struct assay_problem many = problem_of(op, ASSAY_DTYPE_F32, "", AXES(65536, 1, 1, 4, 1, 1));
    assert_int_equal(kernel->can_run(&many, &why), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(why.message, "one launch"));
}

/* Held in registers where a cluster's are enough, else read twice. */
static void test_groupnorm_is_held_or_read_twice(void **state)
{
    (void)state;
    const struct assay_kernel *kernel = &assay_kernel_groupnorm_cuda;
    check_launch(
        kernel, problem_of("groupnorm", ASSAY_DTYPE_BF16, "silu", AXES(1, 8, 8, 64, 8)),
        "-DELEMENT=17 -DVECTOR=1 -DTHREADS=128 -DHOLD=1 -DSUB=1 -DSILU=1 -DPASS=1 -DCLUSTER=1\n",
        "groupnorm_held 4 128 0\n");
    check_launch(
        kernel, problem_of("groupnorm", ASSAY_DTYPE_F32, "", AXES(1, 5, 3, 15, 3)),
        "-DELEMENT=32 -DVECTOR=0 -DTHREADS=128 -DHOLD=1 -DSUB=1 -DSILU=0 -DPASS=1 -DCLUSTER=1\n",
        "groupnorm_held 3 96 0\n");
    check_launch(
        kernel, problem_of("groupnorm", ASSAY_DTYPE_F16, "", AXES(1, 256, 256, 32, 2)),
        "-DELEMENT=16 -DVECTOR=1 -DTHREADS=256 -DHOLD=8 -DSUB=1 -DSILU=0 -DPASS=3 -DCLUSTER=1\n",
        "groupnorm_apply 128 256 0\n");
    check_launch(kernel, problem_of("groupnorm", ASSAY_DTYPE_F16, "", AXES(1, 256, 256, 32, 2)),
                 "-DPASS=2 -DCLUSTER=1 | groupnorm_sums", "groupnorm_sums 16 256 0\n");
    struct assay_error why = {0};
    struct assay_problem wide =
        problem_of("groupnorm", ASSAY_DTYPE_F32, "", AXES(1, 2, 2, 1001, 1));
    assert_int_equal(kernel->can_run(&wide, &why), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(why.message, "1001 channels are too wide"));
}

static void test_texts_are_the_files(void **state)
{
    (void)state;
    static const char *const folders[] = {
        "device/cuda",          "kernel/cuda",           "kernel/cuda/rows",
        "kernel/cuda/linear",   "kernel/cuda/conv2d",    "kernel/cuda/image",
        "kernel/cuda/quantize", "kernel/cuda/attention", "kernel/cublaslt",
    };
    assert_true(assay_cuda_n_texts > 10);
    for (int i = 0; i < assay_cuda_n_texts; i++) {
        FILE *file = NULL;
        char path[512];
        for (size_t f = 0; f < sizeof folders / sizeof folders[0] && !file; f++) {
            snprintf(path, sizeof path, "%s/src/%s/%s", ASSAY_SOURCE_DIR, folders[f],
                     assay_cuda_texts[i].name);
            file = fopen(path, "rb");
        }
        if (!file)
            fail_msg("%s is in no folder", assay_cuda_texts[i].name);
        size_t length = strlen(assay_cuda_texts[i].text);
        char *text = calloc(1, length + 2);
        assert_non_null(text);
        bool same = fread(text, 1, length + 1, file) == length &&
                    memcmp(text, assay_cuda_texts[i].text, length) == 0;
        free(text);
        fclose(file);
        if (!same)
            fail_msg("%s is not what was built in; was it changed since?", path);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(assay_cuda_texts[i].name, assay_cuda_texts[j].name);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void test_errors_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        cu_result result;
        enum assay_status status;
        const char *message;
    } rows[] = {
        {CU_SUCCESS, ASSAY_OK, ""},
        {CU_ERROR_OUT_OF_MEMORY, ASSAY_ERR_NOMEM, "out of GPU memory"},
        {CU_ERROR_LAUNCH_OUT_OF_RESOURCES, ASSAY_ERR_DEVICE,
         "CUDA error 701: too many resources requested for launch"},
        {4711, ASSAY_ERR_DEVICE, "CUDA error 4711: unknown error"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct assay_error err = {0};
        assert_int_equal(assay_cuda_check(rows[i].result, "call", &err), rows[i].status);
        assert_string_equal(err.message, rows[i].message);
    }
}

/* What the GPU does not recover from ends the process, which says why. */
static void test_fatal_errors_end_the_process(void **state)
{
    (void)state;
    static const cu_result fatal[] = {
        CU_ERROR_ILLEGAL_ADDRESS,      CU_ERROR_LAUNCH_TIMEOUT,     CU_ERROR_ASSERT,
        CU_ERROR_ILLEGAL_INSTRUCTION,  CU_ERROR_MISALIGNED_ADDRESS, CU_ERROR_LAUNCH_FAILED,
        CU_ERROR_HARDWARE_STACK_ERROR, CU_ERROR_ECC_UNCORRECTABLE};
    char *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(words, MAP_FAILED);
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) {
        char start[32];
        int status = 0;
        words[0] = '\0';
        pid_t child = fork();
        if (child == 0) {
            assay_last_words_to(words, 100);
            assay_cuda_check(fatal[i], "call", NULL);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        snprintf(start, sizeof start, "CUDA error %d: ", fatal[i]);
        assert_memory_equal(words, start, strlen(start));
    }
    munmap(words, 4096);
}

static void test_held_clocks_show(void **state)
{
    (void)state;
    struct assay_disturbance disturbance;
    setenv("FAKE_NVML_THROTTLE", "0x65", 1); /* of these bits 1 is no disturbance */
    assay_device *device = open_gpu();
    device->driver->disturbance(device, &disturbance);
    assert_int_equal(disturbance.throttle, 0x64);
    unsetenv("FAKE_NVML_THROTTLE");
    assay_device_close(device);
}

static void test_nothing_without_a_gpu(void **state)
{
    (void)state;
    struct assay_error err = {0};
    cu_function function;
    void *pointer = NULL;
    assert_null(assay_cuda_properties());
    assert_null(assay_cuda_gpu());
    assert_int_equal(assay_cuda_function("gate.cu", "", "gate", 0, &function, &err),
                     ASSAY_UNSUPPORTED);
    assert_int_equal(assay_cuda_alloc(1, &pointer, NULL), ASSAY_UNSUPPORTED);
    assay_cuda_free(NULL, 0);
    assert_int_equal(assay_cuda_can_compile(NULL), ASSAY_OK);
    err = (struct assay_error){0};
    assert_int_equal(assay_cuda_can_cublaslt(&err), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "no_cublaslt"));
    err = (struct assay_error){0};
    assert_int_equal(assay_cuda_can_cudnn(&err), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "no_cudnn"));
}

/* Every step of opening may fail; nothing is left behind, and the next time works. */
static void test_opening_may_fail_anywhere(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuDeviceGet",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuCtxSetCurrent",
                                        "cuStreamCreate",
                                        "cuEventCreate",
                                        "cuMemHostAlloc",
                                        "cuModuleLoadData",
                                        "cuModuleGetFunction",
                                        "cuMemHostGetDevicePointer_v2"};
    const struct assay_device_driver *driver;
    int32_t index;
    assert_int_equal(assay_device_parse("cuda", &driver, &index, NULL), ASSAY_OK);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char script[64];
        assay_device *device = NULL;
        struct assay_error err = {0};
        snprintf(script, sizeof script, "%s:999", calls[i]);
        setenv("FAKE_CUDA_FAIL", script, 1);
        if (assay_device_open(driver, 0, 1, &device, &err) == ASSAY_OK)
            fail_msg("%s failed and nobody noticed", calls[i]);
        unsetenv("FAKE_CUDA_FAIL");
        assert_null(device);
        assert_null(assay_cuda_gpu());
        if (!strstr(err.message, "CUDA error 999"))
            fail_msg("%s: %s", calls[i], err.message);
        assay_device_close(open_gpu());
    }
}

/* All that was ever taken was given back. */
static void test_nothing_is_left(void **state)
{
    (void)state;
    char line[512];
    FILE *file = fopen(getenv("FAKE_CUDA_LOG"), "r");
    assert_non_null(file);
    int lines = 0;
    for (; fgets(line, sizeof line, file); lines++)
        if (!strstr(line, "left: 0 bytes in 0 pieces, 0 of the host, 0 streams, 0 events, "
                          "0 modules, 0 graphs, 0 of them ready"))
            fail_msg("%s", line);
    assert_true(lines > 10);
    fclose(file);
}

int main(void)
{
    char folder[] = "/tmp/assay-test-cuda-XXXXXX", log[64];
    if (!mkdtemp(folder))
        return 1;
    snprintf(log, sizeof log, "%s/log", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("FAKE_CUDA_LOG", log, 1);
    setenv("ASSAY_CUDA_DRIVER", FAKES "fake_cuda.so", 1);
    setenv("ASSAY_NVRTC", FAKES "fake_nvrtc.so", 1);
    setenv("ASSAY_NVML", FAKES "fake_nvml.so", 1);
    setenv("ASSAY_CUBLASLT", "/no_cublaslt.so", 1);
    setenv("ASSAY_CUDNN", "/no_cudnn.so", 1);
#define WITH_GPU(name) cmocka_unit_test_setup_teardown(name, open_each, close_each)
    const struct CMUnitTest tests[] = {
        WITH_GPU(test_gpu_is_described),
        WITH_GPU(test_one_gpu_at_a_time),
        WITH_GPU(test_memory_is_counted_and_copied),
        WITH_GPU(test_a_variants_memory),
        WITH_GPU(test_a_driver_that_does_not_tell),
        WITH_GPU(test_too_much_memory_says_how_much),
        WITH_GPU(test_another_process_sees_memory),
        WITH_GPU(test_what_cannot_be_shared),
        WITH_GPU(test_time_is_the_kernels),
        WITH_GPU(test_events_are_taken_off),
        WITH_GPU(test_events_that_take_too_long_are_not_taken_off),
        WITH_GPU(test_same_work_is_replayed),
        WITH_GPU(test_short_and_long_work_is_enqueued_directly),
        WITH_GPU(test_cold_work_has_a_lead_in),
        WITH_GPU(test_persisting_lines_are_reset_where_there_are_any),
        WITH_GPU(test_lead_in_is_not_timed),
        WITH_GPU(test_replays_are_limited),
        WITH_GPU(test_work_on_another_stream_is_counted),
        WITH_GPU(test_a_device_that_stays_busy_is_noticed),
        WITH_GPU(test_what_events_miss_is_noticed),
        WITH_GPU(test_a_run_that_fails_says_so),
        WITH_GPU(test_a_gate_that_gave_up_is_not_used_again),
        WITH_GPU(test_functions_that_cannot_be_had),
        WITH_GPU(test_attention_is_cut_to_fit),
        WITH_GPU(test_attention_on_hopper_is_cut_to_fit),
        WITH_GPU(test_attention_says_what_it_cannot),
        cmocka_unit_test(test_attention_needs_matrix_instructions),
        WITH_GPU(test_swiglu_counts_items),
        WITH_GPU(test_depthwise_is_cut_into_tiles),
        WITH_GPU(test_groupnorm_is_held_or_read_twice),
        cmocka_unit_test(test_texts_are_the_files),
        cmocka_unit_test(test_errors_are_told_apart),
        cmocka_unit_test(test_fatal_errors_end_the_process),
        cmocka_unit_test(test_held_clocks_show),
        cmocka_unit_test(test_nothing_without_a_gpu),
        cmocka_unit_test(test_opening_may_fail_anywhere),
        cmocka_unit_test(test_nothing_is_left),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed;
}
