/* Runners from the judge's side: this program is its own runner. */
#include "unit.h"

#include "base/clock.h"
#include "device/device.h"
#include "runner/remote_device.h"
#include "runner/strangers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN(name) ASSAY_BINARY_DIR "/plugins/" name ".so"

#define FAKE(name) ASSAY_BINARY_DIR "/fakes/" name ".so"

static assay_runner *start(const char *path, double timeout_s, enum assay_runner_end *end,
                           struct assay_error *err)
{
    struct assay_runner_options options = {.timeout_s = timeout_s};
    assay_runner *runner;
    assay_runner_start(&options, path, "cpu", 1, &runner, end, err);
    return runner;
}

static assay_runner *start_good(void)
{
    struct assay_error err = {0};
    enum assay_runner_end end;
    assay_runner *runner = start(PLUGIN("good"), 10, &end, &err);
    if (!runner)
        fail_msg("%s: %s", err.where, err.message);
    return runner;
}

static enum assay_status ask(assay_runner *runner, enum assay_runner_verb verb)
{
    struct assay_runner_command c = {.verb = verb};
    struct assay_runner_reply reply;
    return assay_runner_ask(runner, &c, &reply, NULL);
}

static void test_one_answers_and_rests(void **state)
{
    assay_runner *runner = start_good();
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(ask(runner, ASSAY_RUNNER_PING), ASSAY_OK);
    assert_true(assay_runner_wall_ns(runner) > 0);
    assert_true(assay_runner_idle_ns(runner) > 0);
    assert_true(assay_runner_busy_cores(runner) == 0);
    assert_int_equal(assay_runner_end_of(runner), ASSAY_RUNNER_ALIVE);
    assay_runner_stop(runner);
}

static void test_contents_are_told(void **state)
{
    struct assay_contents *c = calloc(1, sizeof *c);
    struct assay_error err = {0};
    (void)state;
    assert_int_equal(assay_contents_read(PLUGIN("good"), NULL, false, c, &err), ASSAY_OK);
    assert_int_equal(c->n_kernels, 1);
    assert_string_equal(c->kernels[0].op, "relu");
    assert_int_equal(assay_contents_read(PLUGIN("bad_abi"), NULL, false, c, &err),
                     ASSAY_ERR_INVALID);
    err = (struct assay_error){0};
    assert_int_equal(assay_contents_read(PLUGIN("absent"), NULL, false, c, &err),
                     ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "cannot be opened"));
    free(c);
}

static void test_memory_is_the_runners_and_the_judge_reaches_it(void **state)
{
    enum { BYTES = 3 << 20 };
    assay_runner *runner = start_good();
    assay_device *here, *there;
    const struct assay_device_driver *driver;
    int32_t index;
    void *memory;
    struct assay_error err = {0};
    (void)state;
    assert_int_equal(assay_device_parse("cpu", &driver, &index, NULL), ASSAY_OK);
    assert_int_equal(assay_device_open(driver, 0, 1, &here, NULL), ASSAY_OK);
    assert_int_equal(assay_remote_device_create(runner, here, &there, NULL), ASSAY_OK);
    assert_int_equal(assay_device_alloc(there, BYTES, &memory, &err), ASSAY_OK);
    unsigned char *sent = malloc(BYTES), *got = calloc(1, BYTES);
    for (int i = 0; i < BYTES; i++)
        sent[i] = (unsigned char)(i * 7);
    assert_int_equal(there->driver->upload(there, memory, sent, BYTES, &err), ASSAY_OK);
    assert_int_equal(there->driver->download(there, got, memory, BYTES, &err), ASSAY_OK);
    assert_memory_equal(sent, got, BYTES);
    assert_true(assay_remote_device_intact(there, &err));
    assert_false(assay_runner_intact(runner, 4096, BYTES, &err)); /* nothing is there */
    assay_device_free(there, memory, BYTES);
    assay_remote_device_destroy(there);
    assay_device_close(here);
    assay_runner_stop(runner);
    free(sent);
    free(got);
}

/* ---- on a GPU, on stand-ins for NVIDIA's libraries ---- */

static assay_device *open_gpu(void)
{
    const struct assay_device_driver *driver;
    int32_t index;
    assay_device *device = NULL;
    struct assay_error err = {0};
    if (assay_device_parse("cuda", &driver, &index, &err) != ASSAY_OK ||
        assay_device_open(driver, index, 1, &device, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    return device;
}

static assay_runner *start_on_gpu(bool sandbox)
{
    struct assay_runner_options options = {.timeout_s = 10, .sandbox = sandbox};
    struct assay_error err = {0};
    enum assay_runner_end end;
    assay_runner *runner;
    if (assay_runner_start(&options, PLUGIN("gpu"), "cuda", 1, &runner, &end, &err) != ASSAY_OK)
        fail_msg("%s: %s", err.where, err.message);
    return runner;
}

static void set_up_relu(assay_runner *runner, const char *kernel, int64_t n)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_SETUP};
    struct assay_runner_reply reply;
    struct assay_error err = {0};
    struct assay_tensor tensor = {.dtype = ASSAY_DTYPE_F32, .rank = 1, .dims = {n}};
    snprintf(c.kernel, sizeof c.kernel, "%s", kernel);
    snprintf(c.problem.op, sizeof c.problem.op, "relu");
    c.problem.has_problem = true;
    c.problem.problem.n_inputs = c.problem.problem.n_outputs = 1;
    c.problem.problem.inputs[0] = c.problem.problem.outputs[0] = tensor;
    if (assay_runner_ask(runner, &c, &reply, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
}

/* What the judge writes is what the kernel reads, and what it wrote is what the judge reads. */
static void use_memory_of_a_gpu(bool sandbox, size_t n)
{
    assay_device *here = open_gpu(), *there;
    assay_runner *runner = start_on_gpu(sandbox);
    size_t bytes = n * sizeof(float);
    float *sent = calloc(n, sizeof *sent), *got = calloc(n, sizeof *got);
    void *memory = NULL;
    struct assay_error err = {0};
    struct assay_timing timing;
    for (size_t i = 0; i < n; i++)
        sent[i] = (float)i + 0.5f;
    assert_int_equal(assay_remote_device_create(runner, here, &there, NULL), ASSAY_OK);
    if (assay_device_alloc(there, 2 * bytes, &memory, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    const void *in[] = {memory};
    void *out[] = {(char *)memory + bytes};
    struct assay_args args = {in, out};
    struct assay_work work = {.iters = 3, .n_sets = 1, .sets = &args};
    struct assay_kernel kernel = {.name = "gpu_right"};
    set_up_relu(runner, "gpu_right", (int64_t)n);
    assert_int_equal(assay_remote_device_bind(there, &args, 1, 1, 1, &err), ASSAY_OK);
    assert_int_equal(there->driver->upload(there, memory, sent, bytes, &err), ASSAY_OK);
    assert_int_equal(there->driver->time(there, &kernel, NULL, &work, &timing), ASSAY_OK);
    assert_true(timing.device_ns > 0 && timing.watched);
    assert_int_equal(there->driver->download(there, got, out[0], bytes, &err), ASSAY_OK);
    assert_memory_equal(sent, got, bytes);
    /* And from one place to another, without the host. */
    memset(got, 0, bytes);
    assert_int_equal(there->driver->upload(there, out[0], got, bytes, &err), ASSAY_OK);
    assert_int_equal(there->driver->copy(there, out[0], memory, bytes, &err), ASSAY_OK);
    assert_int_equal(there->driver->download(there, got, out[0], bytes, &err), ASSAY_OK);
    assert_memory_equal(sent, got, bytes);
    assert_true(assay_remote_device_intact(there, &err));
    struct assay_device_info info;
    there->driver->describe(there, &info);
    assert_string_equal(info.name, "Fake GPU");
    assert_true(there->driver->energy_j(there) > 0);
    assay_remote_device_let_go(there);
    assay_runner_stop(runner);
    assay_remote_device_destroy(there);
    assay_device_close(here);
    free(sent);
    free(got);
}

static void test_memory_of_a_gpu_is_seen_on_both_sides(void **state)
{
    static const size_t sizes[] = {1, 250, 262144, 262145, 3000000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        use_memory_of_a_gpu(false, sizes[i]);
    use_memory_of_a_gpu(true, 1000);
}

static void test_a_dead_gpu_takes_only_its_runner(void **state)
{
    assay_device *here = open_gpu(), *there;
    assay_runner *runner = start_on_gpu(false);
    void *memory = NULL;
    char byte = 0;
    struct assay_error err = {0};
    struct assay_timing timing;
    (void)state;
    assert_int_equal(assay_remote_device_create(runner, here, &there, NULL), ASSAY_OK);
    assert_int_equal(assay_device_alloc(there, 1000, &memory, &err), ASSAY_OK);
    const void *in[] = {memory};
    void *out[] = {memory};
    struct assay_args args = {in, out};
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    struct assay_kernel kernel = {.name = "gpu_illegal"};
    set_up_relu(runner, "gpu_illegal", 100);
    assert_int_equal(assay_remote_device_bind(there, &args, 1, 1, 1, &err), ASSAY_OK);
    assert_int_equal(there->driver->time(there, &kernel, NULL, &work, &timing), ASSAY_ERR_FAILED);
    assert_int_equal(assay_runner_end_of(runner), ASSAY_RUNNER_CRASHED);
    assert_string_equal(assay_runner_reason(runner),
                        "CUDA error 700: an illegal memory access was encountered");
    assert_int_equal(there->driver->download(there, &byte, memory, 1, &err), ASSAY_ERR_FAILED);
    assay_remote_device_destroy(there);
    assay_runner_stop(runner);
    assert_int_equal(assay_device_alloc(here, 1000, &memory, &err), ASSAY_OK);
    assert_int_equal(here->driver->upload(here, memory, &byte, 1, &err), ASSAY_OK);
    assay_device_free(here, memory, 1000);
    assay_device_close(here);
}

static void test_a_dead_one_says_how_it_died(void **state)
{
    (void)state;
    static const struct {
        int signal;
        enum assay_runner_end end;
        const char *reason;
    } cases[] = {
        {SIGTERM, ASSAY_RUNNER_CRASHED, "SIGTERM"},
        {SIGKILL, ASSAY_RUNNER_KILLED, "SIGKILL from outside"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assay_runner *runner = start_good();
        kill(assay_runner_pid(runner), cases[i].signal);
        kill(assay_runner_pid(runner), SIGCONT);
        assert_int_equal(ask(runner, ASSAY_RUNNER_PING), ASSAY_ERR_FAILED);
        assert_int_equal(assay_runner_end_of(runner), cases[i].end);
        assert_non_null(strstr(assay_runner_reason(runner), cases[i].reason));
        assert_int_equal(assay_runner_pid(runner), 0);
        assert_int_equal(ask(runner, ASSAY_RUNNER_PING), ASSAY_ERR_FAILED); /* and stays so */
        assay_runner_stop(runner);
    }
}

static void test_its_memory_is_not_there_once_it_is_condemned(void **state)
{
    char byte;
    struct assay_error err = {0};
    assay_runner *runner = start_good();
    (void)state;
    assay_runner_condemn(runner, "it lied");
    assert_int_equal(assay_runner_end_of(runner), ASSAY_RUNNER_CHEATED);
    assert_string_equal(assay_runner_reason(runner), "it lied");
    assert_int_equal(assay_runner_read(runner, &byte, 4096, 1, &err), ASSAY_ERR_FAILED);
    assay_runner_stop(runner);
}

static void test_unreachable_memory_ends_it(void **state)
{
    char byte;
    struct assay_error err = {0};
    assay_runner *runner = start_good();
    (void)state;
    assert_int_equal(assay_runner_read(runner, &byte, 4096, 1, &err), ASSAY_ERR_CORRUPT);
    assert_int_equal(assay_runner_end_of(runner), ASSAY_RUNNER_CHEATED);
    assay_runner_stop(runner);
}

static void test_a_runner_that_does_nothing_it_was_not_set_up_for(void **state)
{
    static const enum assay_runner_verb verbs[] = {ASSAY_RUNNER_RUN,    ASSAY_RUNNER_PREPARE,
                                                   ASSAY_RUNNER_FENCE,  ASSAY_RUNNER_FILL,
                                                   ASSAY_RUNNER_VERIFY, ASSAY_RUNNER_SETUP};
    assay_runner *runner = start_good();
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        assert_int_not_equal(ask(runner, verbs[i]), ASSAY_OK);
    assert_int_equal(assay_runner_end_of(runner), ASSAY_RUNNER_ALIVE);
    assay_runner_stop(runner);
}

static void test_files_that_cannot_be_used(void **state)
{
    struct assay_error err = {0};
    enum assay_runner_end end;
    (void)state;
    assert_null(start(PLUGIN("no_symbol"), 10, &end, &err));
    assert_int_equal(end, ASSAY_RUNNER_ALIVE);
    assert_non_null(strstr(err.message, "does not export"));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], ASSAY_RUNNER_COMMAND) == 0)
        return assay_runner_main();
    char folder[] = "/tmp/assay-test-runner-XXXXXX", command[64];
    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("ASSAY_CUDA_DRIVER", FAKE("fake_cuda"), 1);
    setenv("ASSAY_NVRTC", FAKE("fake_nvrtc"), 1);
    setenv("ASSAY_NVML", FAKE("fake_nvml"), 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_answers_and_rests),
        cmocka_unit_test(test_contents_are_told),
        cmocka_unit_test(test_memory_is_the_runners_and_the_judge_reaches_it),
        cmocka_unit_test(test_memory_of_a_gpu_is_seen_on_both_sides),
        cmocka_unit_test(test_a_dead_gpu_takes_only_its_runner),
        cmocka_unit_test(test_a_dead_one_says_how_it_died),
        cmocka_unit_test(test_its_memory_is_not_there_once_it_is_condemned),
        cmocka_unit_test(test_unreachable_memory_ends_it),
        cmocka_unit_test(test_a_runner_that_does_nothing_it_was_not_set_up_for),
        cmocka_unit_test(test_files_that_cannot_be_used),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed;
}
