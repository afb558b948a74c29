/* test_cuda_watch.c: what a GPU did in a profiled pass, by a stand-in for CUPTI and by events:
 * whose launches are whose, by whose clock, and that nobody watches before and after. */
#include "unit.h"

#include "base/clock.h"
#include "device/cuda/cuda_activity.h"
#include "device/cuda/cuda_gpu.h"
#include "device/device.h"
#include "runner/remote_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKES ASSAY_BINARY_DIR "/fakes/"

static char log_path[80];

static int open_each(void **state)
{
    const struct assay_device_driver *driver;
    int32_t index;
    assay_device *device = NULL;
    struct assay_error err = {0};
    if (assay_device_parse("cuda", &driver, &index, &err) != ASSAY_OK ||
        assay_device_open(driver, index, 4, &device, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    *state = device;
    return 0;
}

static int close_each(void **state)
{
    assay_device_close(*state);
    return 0;
}

/* A model of three nodes: a spin, none, and two spins and a fill. */
struct model {
    assay_device *device;
    cu_function spin;
    uint64_t ns;
    cu_deviceptr memory;
};

static enum assay_status launch_spin(const struct model *m, const struct assay_work *work)
{
    uint64_t ns = m->ns;
    void *parameters[] = {&ns};
    struct assay_cuda_launch launch = {.threads = 32};
    return assay_cuda_launch(m->spin, &launch, work->stream, parameters);
}

static enum assay_status run_model(void *state, const struct assay_work *work)
{
    const struct model *m = state;
    const struct assay_device_driver *driver = m->device->driver;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        driver->mark(m->device, 0);
        status = launch_spin(m, work);
        driver->mark(m->device, -1);
        driver->mark(m->device, 1);
        driver->mark(m->device, -1);
        driver->mark(m->device, 2);
        if (status == ASSAY_OK)
            status = launch_spin(m, work);
        if (status == ASSAY_OK)
            status = launch_spin(m, work);
        assay_cuda_gpu()->api->cuMemsetD8Async(m->memory, 7, 100, work->stream);
        driver->mark(m->device, -1);
    }
    return status;
}

static const struct assay_kernel model_kernel = {.name = "model", .run = run_model};

static struct model make_model(assay_device *device)
{
    struct model m = {.device = device, .ns = 50000};
    void *block = NULL;
    assert_int_equal(assay_cuda_function("gate.cu", "", "spin", 0, &m.spin, NULL), ASSAY_OK);
    assert_int_equal(assay_device_alloc(device, 128, &block, NULL), ASSAY_OK);
    m.memory = (cu_deviceptr)(uintptr_t)block;
    return m;
}

static void free_model(struct model *m)
{
    m->device->driver->forget(m->device, m);
    assay_device_free(m->device, (void *)(uintptr_t)m->memory, 128);
}

static void call(struct model *m, int64_t iters)
{
    struct assay_args args = {0};
    struct assay_work work = {.iters = iters, .n_sets = 1, .sets = &args};
    struct assay_timing timing;
    assert_int_equal(m->device->driver->time(m->device, &model_kernel, m, &work, &timing),
                     ASSAY_OK);
}

static void watch(assay_device *device, char *how, size_t size)
{
    struct assay_error err = {0};
    if (device->driver->watch(device, how, size, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
}

/* The last line of the stand-in's log. */
static bool logged(const char *words)
{
    char line[128], last[128] = "";
    FILE *file = fopen(log_path, "r");
    while (file && fgets(line, sizeof line, file))
        memcpy(last, line, sizeof last);
    if (file)
        fclose(file);
    return strstr(last, words) != NULL;
}

static void launches_are_their_calls_and_nodes(void **state)
{
    assay_device *device = *state;
    struct model m = make_model(device);
    struct assay_activities seen = {0};
    char how[160];
    call(&m, 1); /* the timer settles */
    watch(device, how, sizeof how);
    assert_string_equal(how, "CUPTI (version 130001)");
    int64_t before = assay_clock_ns();
    call(&m, 1);
    call(&m, 1);
    int64_t after = assay_clock_ns();
    assert_int_equal(device->driver->watched(device, &seen, NULL), ASSAY_OK);
    assert_int_equal(seen.n, 8); /* and not the gate, which is nobody's */
    assert_int_equal(seen.lost, 0);
    static const int32_t nodes[] = {0, 2, 2, 2};
    for (int64_t i = 0; i < seen.n; i++) {
        const struct assay_activity *a = &seen.items[i];
        bool fill = i % 4 == 3;
        assert_int_equal(a->call, i / 4);
        assert_int_equal(a->node, nodes[i % 4]);
        assert_int_equal(a->kind, fill ? ASSAY_ACTIVITY_SET : ASSAY_ACTIVITY_KERNEL);
        assert_string_equal(a->name, fill ? "fill" : "spin");
        assert_int_equal(a->stream, 7);
        /* CUPTI's clock is days ahead: theirs are the host's now. */
        assert_true(a->start_ns >= before - 100000 && a->end_ns <= after + 100000);
        assert_true(fill ? a->bytes == 100 : a->end_ns - a->start_ns >= 50000);
        if (fill)
            continue;
        assert_int_equal(a->grid[0], 1);
        assert_int_equal(a->block[0], 32);
        assert_int_equal(a->registers, 42);
        assert_true(a->shared_bytes == 16);
    }
    seen.n = 0;
    call(&m, 1); /* calls are counted anew */
    assert_int_equal(device->driver->watched(device, &seen, NULL), ASSAY_OK);
    assert_int_equal(seen.n, 4);
    assert_int_equal(seen.items[0].call, 0);
    device->driver->unwatch(device);
    assert_true(logged("not attached"));
    assay_activities_fini(&seen);
    free_model(&m);
}

/* Not a launch is heard of what is timed, before and after. */
static void nobody_watches_what_is_timed(void **state)
{
    assay_device *device = *state;
    struct model m = make_model(device);
    char how[160], first[64];
    watch(device, how, sizeof how);
    device->driver->unwatch(device);
    FILE *file = fopen(log_path, "r");
    assert_non_null(file);
    while (fgets(first, sizeof first, file))
        ;
    fclose(file);
    call(&m, 1);
    call(&m, 5); /* captured, and replayed */
    call(&m, 5);
    watch(device, how, sizeof how);
    device->driver->unwatch(device);
    assert_true(logged(first));      /* as many as then */
    device->driver->mark(device, 0); /* does nothing now */
    free_model(&m);
}

static void without_cupti_events_are_around_nodes(void **state)
{
    static const struct {
        const char *fail, *words;
    } rows[] = {
        {"cuptiSubscribe:39", "another profiler is attached to this process"},
        {"cuptiSubscribe:12", "another profiler is attached to this process"},
        {"cuptiSubscribe:35", "CUPTI does not start: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
        {"cuptiActivityRegisterCallbacks:999", "CUPTI does not start: CUPTI_ERROR_UNKNOWN"},
        {"cuptiActivityEnable:35", "CUPTI does not start: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
    };
    assay_device *device = *state;
    struct model m = make_model(device);
    call(&m, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct assay_activities seen = {0};
        char how[160];
        setenv("FAKE_CUPTI_FAIL", rows[i].fail, 1);
        watch(device, how, sizeof how);
        unsetenv("FAKE_CUPTI_FAIL");
        assert_non_null(strstr(how, "only events around nodes: "));
        assert_non_null(strstr(how, rows[i].words));
        call(&m, 1);
        call(&m, 1);
        assert_int_equal(device->driver->watched(device, &seen, NULL), ASSAY_OK);
        assert_int_equal(seen.n, 8); /* of each call: it, and three nodes */
        assert_int_equal(seen.lost, 0);
        int64_t of_node[3] = {0};
        for (int64_t k = 0; k < seen.n; k++) {
            const struct assay_activity *a = &seen.items[k];
            assert_int_equal(a->kind, ASSAY_ACTIVITY_NODE);
            assert_true(a->start_ns >= 0 && a->call >= 0 && a->call < 2);
            if (a->node >= 0 && a->call == 1)
                of_node[a->node] = a->end_ns - a->start_ns;
        }
        assert_true(of_node[0] >= 49000 && of_node[2] >= 99000 && of_node[1] < of_node[0]);
        device->driver->unwatch(device);
        assay_activities_fini(&seen);
    }
    free_model(&m);
}

static void what_is_lost_is_counted(void **state)
{
    assay_device *device = *state;
    struct model m = make_model(device);
    struct assay_activities seen = {0};
    char how[160];
    setenv("FAKE_CUPTI_STRANGE", "1", 1);
    watch(device, how, sizeof how);
    call(&m, 1);
    assert_int_equal(device->driver->watched(device, &seen, NULL), ASSAY_OK);
    assert_int_equal(seen.n, 0); /* nobody knows whose they are */
    unsetenv("FAKE_CUPTI_STRANGE");
    setenv("FAKE_CUPTI_FAIL", "cuptiActivityGetNextRecord:999", 1);
    call(&m, 1);
    assert_int_equal(device->driver->watched(device, &seen, NULL), ASSAY_OK);
    assert_int_equal(seen.n, 0);
    assert_true(seen.lost > 0);
    unsetenv("FAKE_CUPTI_FAIL");
    device->driver->unwatch(device);
    assay_activities_fini(&seen);
    free_model(&m);
}

/* 4 launches in a call: 84 bytes of memory and 8400 of the cache each, as the stand-in has it. */
static void counters_are_of_a_range_of_calls(void **state)
{
    static const char *const passes[] = {"1", "3"};
    assay_device *device = *state;
    struct model m = make_model(device);
    struct assay_args args = {0};
    struct assay_work work = {.iters = 5, .n_sets = 1, .sets = &args};
    m.ns = 1000;
    for (size_t i = 0; i < 2; i++) {
        struct assay_counts c;
        setenv("FAKE_CUPTI_PASSES", passes[i], 1);
        assert_int_equal(device->driver->counters(device, &model_kernel, &m, &work, &c), ASSAY_OK);
        assert_string_equal(c.missing, "");
        assert_near(c.memory_bytes, 5 * 4 * 84, 1e-9);
        assert_near(c.l2_bytes, 5 * 4 * 8400, 1e-9);
        assert_near(c.occupancy_frac, 0.5, 1e-12);
        assert_near(c.tensor_frac, 0, 1e-12);
        assert_true(isnan(c.cycles) && isnan(c.task_clock_ns));
        assay_counts_divide(&c, 5);
        assert_near(c.l2_bytes, 4 * 8400, 1e-9);
        assert_near(c.occupancy_frac, 0.5, 1e-12); /* a share is one */
    }
    unsetenv("FAKE_CUPTI_PASSES");
    assert_true(logged("not attached"));
    free_model(&m);
}

static void what_cannot_be_counted_says_why(void **state)
{
    static const struct {
        const char *fail, *words;
    } rows[] = {
        {"cuptiProfilerInitialize:999", "cuptiProfilerInitialize: CUPTI_ERROR_UNKNOWN"},
        {"cuptiDeviceGetChipName:999", "cuptiDeviceGetChipName: "},
        {"cuptiProfilerGetCounterAvailability:35",
         "not permitted: the driver lets administrators alone read its counters; "
         "NVreg_RestrictProfilingToAdminUsers=0 or CAP_SYS_ADMIN permits it"},
        {"cuptiProfilerHostInitialize:999", "cuptiProfilerHostInitialize: "},
        {"cuptiProfilerHostConfigAddMetrics:1", "cuptiProfilerHostConfigAddMetrics: "},
        {"cuptiProfilerHostGetConfigImageSize:1", "cuptiProfilerHostGetConfigImageSize: "},
        {"cuptiProfilerHostGetConfigImage:1", "cuptiProfilerHostGetConfigImage: "},
        {"cuptiRangeProfilerEnable:39", "another profiler is attached to this process"},
        {"cuptiRangeProfilerGetCounterDataSize:1", "cuptiRangeProfilerGetCounterDataSize: "},
        {"cuptiRangeProfilerCounterDataImageInitialize:1",
         "cuptiRangeProfilerCounterDataImageInitialize: "},
        {"cuptiRangeProfilerSetConfig:1", "cuptiRangeProfilerSetConfig: "},
        {"cuptiRangeProfilerStart:1", "cuptiRangeProfilerStart: "},
        {"cuptiRangeProfilerPushRange:1", "cuptiRangeProfilerPushRange: "},
        {"cuptiRangeProfilerPopRange:1", "cuptiRangeProfilerPopRange: "},
        {"cuptiRangeProfilerStop:1", "cuptiRangeProfilerStop: "},
        {"cuptiRangeProfilerDecodeData:1", "cuptiRangeProfilerDecodeData: "},
        {"cuptiRangeProfilerGetCounterDataInfo:1", "cuptiRangeProfilerGetCounterDataInfo: "},
        {"cuptiProfilerHostEvaluateToGpuValues:1", "cuptiProfilerHostEvaluateToGpuValues: "},
    };
    assay_device *device = *state;
    struct model m = make_model(device);
    struct assay_args args = {0};
    struct assay_work work = {.iters = 2, .n_sets = 1, .sets = &args};
    struct assay_counts c;
    m.ns = 1000;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setenv("FAKE_CUPTI_FAIL", rows[i].fail, 1);
        assert_int_equal(device->driver->counters(device, &model_kernel, &m, &work, &c), ASSAY_OK);
        if (strncmp(c.missing, rows[i].words, strlen(rows[i].words)) != 0)
            fail_msg("%s: \"%s\"", rows[i].fail, c.missing);
        assert_true(isnan(c.memory_bytes) && isnan(c.l2_bytes) && isnan(c.occupancy_frac));
    }
    unsetenv("FAKE_CUPTI_FAIL");
    assert_true(logged("not attached"));
    setenv("FAKE_CUPTI_PASSES", "1000", 1);
    assert_int_equal(device->driver->counters(device, &model_kernel, &m, &work, &c), ASSAY_OK);
    assert_string_equal(c.missing, "CUPTI needs more than 16 passes");
    unsetenv("FAKE_CUPTI_PASSES");
    assert_int_equal(device->driver->counters(device, &model_kernel, &m, &work, &c), ASSAY_OK);
    assert_string_equal(c.missing, ""); /* and nothing is left of all that */
    free_model(&m);
}

/* Identifiers hold any call and any node, or none. */
static void identifiers_are_read_back(void **state)
{
    (void)state;
    static const int32_t calls[] = {0, 1, 19, INT32_MAX - 1},
                         nodes[] = {-1, 0, 1, 4095, INT32_MAX - 1};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (size_t k = 0; k < sizeof nodes / sizeof nodes[0]; k++) {
            struct cuda_activities from = {0};
            struct assay_activities out = {0};
            struct cuda_correlation pushed[] = {{9, assay_cuda_activity_id(3, 3)},
                                                {5, assay_cuda_activity_id(calls[i], nodes[k])}};
            struct assay_activity one = {.call = 5, .start_ns = 100, .end_ns = 200};
            from.pushed = pushed;
            from.n_pushed = 2;
            assay_activities_add(&from.items, &one);
            one.call = 6; /* nobody's */
            assay_activities_add(&from.items, &one);
            assay_cuda_activities_settle(&from, -50, &out);
            assert_int_equal(out.n, 1);
            assert_int_equal(out.items[0].call, calls[i]);
            assert_int_equal(out.items[0].node, nodes[k]);
            assert_int_equal(out.items[0].start_ns, 50);
            assert_int_equal(out.items[0].end_ns, 150);
            from.pushed = NULL;
            assay_cuda_activities_fini(&from);
            assay_activities_fini(&out);
        }
}

/* A stranger's: whatever it says, what is kept makes sense and can be shown. */
static void strangers_activities_are_looked_at(void **state)
{
    (void)state;
    const struct assay_activity good = {.start_ns = 5,
                                        .end_ns = 6,
                                        .kind = ASSAY_ACTIVITY_KERNEL,
                                        .call = 1,
                                        .node = 3,
                                        .stream = 7,
                                        .grid = {1, 1, 1},
                                        .block = {1, 1, 1},
                                        .name = "a\x1b[2Jb"};
    struct assay_activity one = good;
    assert_true(assay_remote_watch_sane(&one));
    assert_int_equal(one.node, -1);
    assert_string_equal(one.name, "a\\x1b[2Jb");
    memset(one.name, 'x', sizeof one.name); /* without an end */
    assert_true(assay_remote_watch_sane(&one));
    assert_int_equal(strlen(one.name), sizeof one.name - 1);
    one = good, one.end_ns = 4;
    assert_false(assay_remote_watch_sane(&one));
    one = good, one.kind = (enum assay_activity_kind)9;
    assert_false(assay_remote_watch_sane(&one));
    one = good, one.call = -1;
    assert_false(assay_remote_watch_sane(&one));
    one = good, one.bytes = (double)NAN;
    assert_false(assay_remote_watch_sane(&one));
    one = good, one.block[2] = -1;
    assert_false(assay_remote_watch_sane(&one));
    one = good, one.end_ns = INT64_MAX;
    assert_false(assay_remote_watch_sane(&one));
}

/* A replayed graph is one call, whose launches are all its own. */
static void a_replay_is_a_call(void **state)
{
    assay_device *device = *state;
    struct model m = make_model(device);
    struct assay_activities seen = {0};
    char how[160];
    m.ns = 1000;
    call(&m, 5); /* captured */
    watch(device, how, sizeof how);
    call(&m, 5);
    call(&m, 5);
    assert_int_equal(device->driver->watched(device, &seen, NULL), ASSAY_OK);
    assert_int_equal(seen.n, 2 * 5 * 4);
    for (int64_t i = 0; i < seen.n; i++) {
        assert_int_equal(seen.items[i].call, i / 20);
        assert_int_equal(seen.items[i].node, -1);
    }
    device->driver->unwatch(device);
    assay_activities_fini(&seen);
    free_model(&m);
}

int main(void)
{
    char folder[] = "/tmp/assay-test-watch-XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    snprintf(log_path, sizeof log_path, "%s/log", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("FAKE_CUPTI_LOG", log_path, 1);
    setenv("ASSAY_CUDA_DRIVER", FAKES "fake_cuda.so", 1);
    setenv("ASSAY_NVRTC", FAKES "fake_nvrtc.so", 1);
    setenv("ASSAY_NVML", FAKES "fake_nvml.so", 1);
    setenv("ASSAY_CUPTI", FAKES "fake_cupti.so", 1);
#define WITH_GPU(name) cmocka_unit_test_setup_teardown(name, open_each, close_each)
    const struct CMUnitTest tests[] = {
        WITH_GPU(launches_are_their_calls_and_nodes),
        WITH_GPU(nobody_watches_what_is_timed),
        WITH_GPU(without_cupti_events_are_around_nodes),
        WITH_GPU(what_is_lost_is_counted),
        WITH_GPU(a_replay_is_a_call),
        WITH_GPU(counters_are_of_a_range_of_calls),
        WITH_GPU(what_cannot_be_counted_says_why),
        cmocka_unit_test(identifiers_are_read_back),
        cmocka_unit_test(strangers_activities_are_looked_at),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 ? 1 : failed;
}
