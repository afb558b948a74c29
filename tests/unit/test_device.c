/* test_device.c: the list of devices, the cpu, and the null device's script. */
#include "unit.h"

#include "base/alloc.h"
#include "device/device.h"
#include "device/null/null.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_names_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum assay_status status;
        const char *message;
    } rows[] = {
        {"cpu", ASSAY_OK, ""},
        {"CPU", ASSAY_OK, ""},
        {"cpu:0", ASSAY_OK, ""},
        {"cpu:7", ASSAY_ERR_INVALID, "no device \"cpu:7\"; there is one: write \"cpu\""},
        {"cpu:", ASSAY_ERR_INVALID, "no valid number"},
        {"cpu:x", ASSAY_ERR_INVALID, "no valid number"},
        {"cpu:-1", ASSAY_ERR_INVALID, "no valid number"},
        {"cpu:99999999999999999999", ASSAY_ERR_INVALID, "no valid number"},
        {"cpu:0:0", ASSAY_ERR_INVALID, "no valid number"},
        {"cuda", ASSAY_UNSUPPORTED, "no_driver"}, /* see main */
        {"cuda:3", ASSAY_UNSUPPORTED, "no_driver"},
        {"mps:1", ASSAY_UNSUPPORTED, "mps"},
        {"opencl", ASSAY_UNSUPPORTED, "opencl"},
        {"cqu", ASSAY_ERR_INVALID, "did you mean \"cpu\"?"},
        {"", ASSAY_ERR_INVALID, "unknown device \"\""},
        {"null", ASSAY_ERR_INVALID, "unknown device"}, /* for tests only */
        {"cpucpucpucpucpucpucpucpucpucpucpucpucpucpu", ASSAY_ERR_INVALID, "unknown device"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct assay_device_driver *driver = NULL;
        int32_t index = -1;
        struct assay_error err = {0};
        if (assay_device_parse(rows[i].name, &driver, &index, &err) != rows[i].status)
            fail_msg("\"%s\": %s", rows[i].name, err.message);
        if (!strstr(err.message, rows[i].message))
            fail_msg("\"%s\": %s", rows[i].name, err.message);
        if (rows[i].status == ASSAY_OK)
            assert_string_equal(driver->name, "cpu");
    }
}

static assay_device *open_cpu(void)
{
    const struct assay_device_driver *driver;
    int32_t index;
    assay_device *device = NULL;
    assert_int_equal(assay_device_parse("cpu", &driver, &index, NULL), ASSAY_OK);
    assert_int_equal(assay_device_open(driver, index, 1, &device, NULL), ASSAY_OK);
    return device;
}

static void test_every_listed_device_is_complete(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_device_count(); i++) {
        const struct assay_device_driver *d = assay_device_at(i);
        assert_true(d->name && d->summary && d->probe && d->open && d->close && d->describe);
        assert_true(d->alloc && d->free && d->time && d->now_ns && d->clock_hz && d->disturbance);
    }
}

static void test_the_cpu_describes_itself(void **state)
{
    (void)state;
    assay_device *device = open_cpu();
    struct assay_device_info info;
    device->driver->describe(device, &info);
    assert_true(info.name[0] && info.cores >= 1);
    assert_true(info.memory_available > 0 && info.memory_available <= info.memory_bytes);
    assert_true(device->driver->clock_hz(device) >= 0);
    int64_t before = device->driver->now_ns(device);
    assert_true(device->driver->now_ns(device) >= before);
    assay_device_close(device);
    assay_device_close(NULL);
}

/* Whatever was there before: what the cpu does not know is nothing. */
static void test_the_cpu_is_never_throttled(void **state)
{
    (void)state;
    assay_device *device = open_cpu();
    struct assay_disturbance disturbance;
    memset(&disturbance, 0xff, sizeof disturbance);
    device->driver->disturbance(device, &disturbance);
    assert_int_equal(disturbance.throttle, 0);
    assert_true(disturbance.context_switches >= 0);
    assay_device_close(device);
}

/* Does this system count how long threads wait for a core? */
static bool waits_are_counted(void)
{
    long long ran = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    bool counted = file && fscanf(file, "%lld", &ran) == 1 && ran > 0;
    if (file)
        fclose(file);
    return counted;
}

/* Another process on the same core, which it inherits: one of the two waits at any time. */
static void test_the_cpu_tells_of_waits(void **state)
{
    (void)state;
    assay_device *device = open_cpu();
    struct assay_disturbance before, after;
    int64_t start = device->driver->now_ns(device);
    pid_t rival = fork();
    assert_true(rival >= 0);
    while (rival == 0)
        ; /* until it is killed */
    device->driver->disturbance(device, &before);
    do
        device->driver->disturbance(device, &after);
    while (after.waited_ns - before.waited_ns < 1000000 &&
           device->driver->now_ns(device) - start < 5000000000);
    kill(rival, SIGKILL);
    waitpid(rival, NULL, 0);
    bool counted = waits_are_counted();
    int64_t stolen = device->driver->stolen_ns(device);
    assert_true(stolen >= 0 && device->driver->stolen_ns(device) >= stolen);
    assay_device_close(device);
    if (!counted)
        skip();
    assert_true(after.waited_ns - before.waited_ns >= 1000000);
}

static void test_memory_is_counted(void **state)
{
    (void)state;
    assay_device *device = open_cpu();
    static const size_t sizes[] = {1, 64, 4096, 4097, 2 << 20, (2 << 20) + 1, 5 << 20};
    void *blocks[7];
    size_t held = 0;
    for (int i = 0; i < 7; i++) {
        assert_int_equal(assay_device_alloc(device, sizes[i], &blocks[i], NULL), ASSAY_OK);
        assert_int_equal((uintptr_t)blocks[i] % 64, 0);
        memset(blocks[i], 7, sizes[i]); /* all of it is ours */
        held += sizes[i];
        assert_int_equal(device->bytes_held, held);
    }
    for (int i = 0; i < 7; i++)
        assay_device_free(device, blocks[i], sizes[i]);
    assay_device_free(device, NULL, 17);
    assert_int_equal(device->bytes_held, 0);
    assert_int_equal(device->bytes_peak, held);
    assay_device_close(device);
}

static void test_too_much_memory_is_refused(void **state)
{
    (void)state;
    assay_device *device = open_cpu();
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 60};
    for (int i = 0; i < 3; i++) {
        void *block = NULL;
        struct assay_error err = {0};
        assert_int_equal(assay_device_alloc(device, sizes[i], &block, &err), ASSAY_ERR_NOMEM);
        assert_int_equal(err.code, ASSAY_ERR_NOMEM);
        assert_int_equal(device->bytes_held, 0);
    }
    assay_device_close(device);
}

static enum assay_status count_calls(void *state, const struct assay_work *work)
{
    *(int64_t *)state += work->iters;
    return work->iters == 13 ? ASSAY_ERR_DEVICE : ASSAY_OK;
}

static void test_the_cpu_runs_the_kernel_once_and_passes_its_answer_on(void **state)
{
    (void)state;
    assay_device *device = open_cpu();
    struct assay_kernel kernel = {.struct_size = sizeof kernel, .run = count_calls};
    struct assay_work work = {.iters = 5, .n_sets = 1};
    struct assay_timing timing = {.device_ns = -1, .host_ns = -1};
    int64_t calls = 0;
    assert_int_equal(device->driver->time(device, &kernel, &calls, &work, &timing), ASSAY_OK);
    assert_int_equal(calls, 5);
    assert_true(timing.device_ns >= 0 && timing.host_ns >= 0);
    work.iters = 13;
    assert_int_equal(device->driver->time(device, &kernel, &calls, &work, &timing),
                     ASSAY_ERR_DEVICE);
    assay_device_close(device);
}

static double ten_each(void *user, const struct assay_kernel *kernel, void *state,
                       const struct assay_work *work)
{
    (void)user, (void)kernel, (void)state;
    return work->iters == 7 ? -1 : 10.0 * (double)work->iters;
}

static void test_the_null_device_plays_its_script(void **state)
{
    (void)state;
    struct assay_null_script script = {.duration = ten_each};
    assay_device *device = NULL;
    assert_int_equal(assay_null_open(&script, &device, NULL), ASSAY_OK);
    struct assay_kernel kernel = {.struct_size = sizeof kernel};
    struct assay_work work = {.iters = 5, .n_sets = 1};
    struct assay_timing timing;
    struct assay_disturbance disturbance;
    assert_int_equal(device->driver->time(device, &kernel, NULL, &work, &timing), ASSAY_OK);
    assert_near(timing.device_ns, 50, 0);
    assert_int_equal(device->driver->now_ns(device), 50);
    work.iters = 7;
    assert_int_equal(device->driver->time(device, &kernel, NULL, &work, &timing), ASSAY_ERR_DEVICE);
    assert_int_equal(device->driver->now_ns(device), 50);
    assert_near(device->driver->clock_hz(device), 0, 0);
    device->driver->disturbance(device, &disturbance);
    assert_int_equal(disturbance.context_switches, 0);
    assay_device_close(device);
    assay_alloc_fail_after(1);
    struct assay_error err = {0};
    assert_int_equal(assay_null_open(&script, &device, &err), ASSAY_ERR_NOMEM);
    assay_alloc_fail_after(0);
    assert_int_equal(err.code, ASSAY_ERR_NOMEM);
}

static void test_the_host_is_told_by_name(void **state)
{
    (void)state;
    assert_true(assay_device_is_host("cpu") && assay_device_is_host("cpu:0"));
    assert_false(assay_device_is_host("cuda") || assay_device_is_host("cuda:1"));
    assert_false(assay_device_is_host("") || assay_device_is_host("vulkan"));
    assert_false(assay_device_is_host("cp") || assay_device_is_host("cpus"));
}

int main(void)
{
    setenv("ASSAY_CUDA_DRIVER", "/no_driver", 1); /* whatever this machine has */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_read),
        cmocka_unit_test(test_every_listed_device_is_complete),
        cmocka_unit_test(test_the_host_is_told_by_name),
        cmocka_unit_test(test_the_cpu_describes_itself),
        cmocka_unit_test(test_the_cpu_is_never_throttled),
        cmocka_unit_test(test_the_cpu_tells_of_waits),
        cmocka_unit_test(test_memory_is_counted),
        cmocka_unit_test(test_too_much_memory_is_refused),
        cmocka_unit_test(test_the_cpu_runs_the_kernel_once_and_passes_its_answer_on),
        cmocka_unit_test(test_the_null_device_plays_its_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
