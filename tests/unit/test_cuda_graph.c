/* test_cuda_graph.c: what is captured and by whom, what a graph holds, and what is said of a kernel
 * that cannot be captured, on a stand-in for the driver (tests/device/fake_cuda.c). */
#include "unit.h"

#include "device/cuda/cuda_gpu.h"
#include "device/cuda/cuda_graph.h"
#include "device/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKES ASSAY_BINARY_DIR "/fakes/"

/* A kernel that does so much on the GPU in each of its calls. */
struct doing {
    int launches, copies, memsets;
    bool host, waits;  /* a function of the host; waits for the stream */
    int64_t only;      /* in so many calls of a run; 0: in all */
    int64_t calls;     /* in all */
    cu_graph within;   /* launched too; or NULL */
    bool in_place;     /* so that the capturer refuses it */
    bool bare_capture; /* the capturer does not capture by itself */
    cu_function spin;
    char memory[64];
};

static cu_result (*add_host)(cu_stream stream);
static cu_result (*add_graph)(cu_stream stream, cu_graph within);

static enum assay_status do_once(struct doing *d, void *stream)
{
    const struct cuda_driver_api *api = assay_cuda_driver();
    cu_deviceptr memory = (cu_deviceptr)(uintptr_t)d->memory;
    uint64_t ns = 1;
    void *parameters[] = {&ns};
    struct assay_cuda_launch launch = {.threads = 1};
    enum assay_status status = ASSAY_OK;
    for (int i = 0; i < d->launches && status == ASSAY_OK; i++)
        status = assay_cuda_launch(d->spin, &launch, stream, parameters);
    for (int i = 0; i < d->copies; i++)
        api->cuMemcpyDtoDAsync_v2(memory, memory + 32, 32, stream);
    for (int i = 0; i < d->memsets; i++)
        api->cuMemsetD8Async(memory, 1, 32, stream);
    if (d->host)
        add_host(stream);
    if (d->within)
        add_graph(stream, d->within);
    if (d->waits && status == ASSAY_OK)
        status = assay_cuda_check(api->cuStreamSynchronize(stream), "cuStreamSynchronize", NULL);
    return status;
}

static enum assay_status run_doing(void *state, const struct assay_work *work)
{
    struct doing *d = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        d->calls++;
        if (d->only == 0 || i < d->only)
            status = do_once(d, work->stream);
    }
    return status;
}

static const struct assay_kernel doing_kernel = {.run = run_doing};

/* ---- one who is told ------------------------------------------------------------------------- */

/* As a framework behaves: it begins and ends the capture, and keeps the graph. */
struct told {
    struct doing *doing;
    void *stream;
    int begun, ended, replayed, dropped;
    bool waits; /* says of what failed that it waits */
};

static struct told told;

static const char *told_refuses(void *user, void *state)
{
    (void)user;
    return ((struct doing *)state)->in_place ? "it is done in place" : NULL;
}

static enum assay_status told_begin(void *user, void *stream, struct assay_captured *out)
{
    struct told *t = user;
    t->begun++;
    t->stream = stream;
    if (t->doing->bare_capture)
        return ASSAY_UNSUPPORTED;
    out->error = assay_cuda_driver()->cuStreamBeginCapture_v2(stream, CU_CAPTURE_RELAXED);
    return out->error == CU_SUCCESS ? ASSAY_OK : ASSAY_ERR_FAILED;
}

static enum assay_status told_end(void *user, void *state, bool worked, struct assay_captured *out)
{
    struct told *t = user;
    cu_graph graph = NULL;
    t->ended++;
    assert_ptr_equal(state, t->doing);
    if (!t->doing->bare_capture) {
        out->error = assay_cuda_driver()->cuStreamEndCapture(t->stream, &graph);
        out->graph = graph;
        out->theirs = true;
    }
    out->waits = t->waits;
    if (!worked || out->error != CU_SUCCESS)
        return ASSAY_ERR_FAILED;
    void **kept = malloc(sizeof *kept);
    assert_non_null(kept);
    *kept = graph;
    out->capture = kept;
    return ASSAY_OK;
}

static void told_replayed(void *user, void *state, void *capture)
{
    struct told *t = user;
    assert_ptr_equal(state, t->doing);
    assert_non_null(capture);
    t->replayed++;
}

static void told_drop(void *user, void *capture)
{
    void **kept = capture;
    ((struct told *)user)->dropped++;
    if (*kept)
        assay_cuda_driver()->cuGraphDestroy(*kept);
    free(kept);
}

static const struct assay_capturer capturer = {&told,    told_refuses,  told_begin,
                                               told_end, told_replayed, told_drop};

/* ---- helpers --------------------------------------------------------------------------------- */

static struct doing *make_doing(assay_device *device, struct doing what)
{
    struct doing *d = malloc(sizeof *d);
    assert_non_null(d);
    *d = what;
    assert_int_equal(assay_cuda_function("gate.cu", "", "spin", 0, &d->spin, NULL), ASSAY_OK);
    told = (struct told){.doing = d};
    (void)device;
    return d;
}

static void drop_doing(assay_device *device, struct doing *d)
{
    device->driver->forget(device, d);
    free(d);
}

static struct assay_args no_args[4];

static struct assay_timed time_calls(assay_device *device, struct doing *d,
                                     const struct assay_kernel *kernel, int64_t iters)
{
    struct assay_work work = {.iters = iters, .n_sets = 1, .sets = no_args};
    struct assay_timing timing;
    struct assay_timed timed;
    assert_int_equal(device->driver->time(device, kernel, d, &work, &timing), ASSAY_OK);
    device->driver->timed(device, kernel, d, &timed);
    return timed;
}

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

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_nodes_are_counted_and_named(void **state)
{
    assay_device *device = *state;
    const struct cuda_driver_api *api = assay_cuda_driver();
    struct doing *d = make_doing(device, (struct doing){.launches = 2, .memsets = 1});
    cu_stream stream = assay_cuda_gpu()->stream;
    cu_graph within = NULL;
    /* A graph within the graph, of two launches and a memset. */
    assert_int_equal(api->cuStreamBeginCapture_v2(stream, CU_CAPTURE_RELAXED), CU_SUCCESS);
    assert_int_equal(do_once(d, stream), ASSAY_OK);
    assert_int_equal(api->cuStreamEndCapture(stream, &within), CU_SUCCESS);
    d->within = within;
    d->copies = 3;
    d->host = true;
    struct assay_timed timed = time_calls(device, d, &doing_kernel, 10);
    assert_string_equal(timed.way, ASSAY_TIMED_GRAPH);
    assert_string_equal(timed.why, "");
    assert_int_equal(timed.fault, ASSAY_TIMED_FINE);
    assert_true(timed.has_graph);
    assert_int_equal(timed.graph.calls, 10);
    assert_int_equal(timed.graph.kernels, 40);
    assert_int_equal(timed.graph.copies, 30);
    assert_int_equal(timed.graph.memsets, 20);
    assert_int_equal(timed.graph.others, 10);
    assert_int_equal(timed.graph.n_names, 1);
    assert_string_equal(timed.graph.names[0], "spin");
    drop_doing(device, d);
    api->cuGraphDestroy(within);
}

static void test_lead_in_counts_as_calls(void **state)
{
    assay_device *device = *state;
    struct doing *d = make_doing(device, (struct doing){.launches = 1});
    struct assay_work work = {.iters = 6, .n_sets = 4, .sets = no_args};
    struct assay_timing timing;
    struct assay_timed timed;
    assert_int_equal(device->driver->time(device, &doing_kernel, d, &work, &timing), ASSAY_OK);
    device->driver->timed(device, &doing_kernel, d, &timed);
    assert_int_equal(timed.graph.calls, 8);
    assert_int_equal(timed.graph.kernels, 8);
    drop_doing(device, d);
}

static void test_names_are_those_of_the_source(void **state)
{
    static const struct {
        const char *name, *plain;
    } rows[] = {
        {"add_kernel", "add_kernel"},
        {"_Z3addPfS_i", "add"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEviT0_",
         "at::native::vectorized_elementwise_kernel"},
        {"_ZN7cutlass7Kernel2I3xyzEEvv", "cutlass::Kernel2"},
        {"_ZN2at6native61_GLOBAL__N__0c1d2e3f_14_SoftMax_kernel_cu_9f1a2b3c_4d5e6f707soft"
         "maxIfEEvv",
         "at::native::softmax"},
        {"_Z", "_Z"},
        {"_Z999x", "_Z999x"},
        {"_ZN", "_ZN"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char plain[ASSAY_GRAPH_NAME];
        assay_cuda_graph_plain_name(rows[i].name, plain, sizeof plain);
        if (i != 4)
            assert_string_equal(plain, rows[i].plain);
        else
            assert_null(strstr(plain, "GLOBAL"));
    }
    char few[8];
    assay_cuda_graph_plain_name("_ZN2at6native6kernelE", few, sizeof few);
    assert_string_equal(few, "at::nat");
}

/* Each call has to do something. */
static void test_who_launches_nothing_is_found_out(void **state)
{
    assay_device *device = *state;
    device->capturer = &capturer;
    struct doing *d = make_doing(device, (struct doing){0});
    struct assay_timed timed = time_calls(device, d, &doing_kernel, 1);
    assert_int_equal(timed.fault, ASSAY_TIMED_NOTHING);
    timed = time_calls(device, d, &doing_kernel, 10); /* and stays so */
    assert_int_equal(timed.fault, ASSAY_TIMED_NOTHING);
    assert_string_equal(timed.way, ASSAY_TIMED_EAGER);
    drop_doing(device, d);
    d = make_doing(device, (struct doing){.launches = 1, .only = 3});
    timed = time_calls(device, d, &doing_kernel, 3);
    assert_int_equal(timed.fault, ASSAY_TIMED_FINE);
    timed = time_calls(device, d, &doing_kernel, 10);
    assert_int_equal(timed.fault, ASSAY_TIMED_PARTLY);
    assert_int_equal(timed.graph.kernels, 3);
    drop_doing(device, d);
    d = make_doing(device, (struct doing){.memsets = 1}); /* which is something */
    assert_int_equal(time_calls(device, d, &doing_kernel, 10).fault, ASSAY_TIMED_FINE);
    drop_doing(device, d);
}

static void test_a_capturer_has_the_graph(void **state)
{
    assay_device *device = *state;
    device->capturer = &capturer;
    for (int bare = 0; bare < 2; bare++) {
        struct doing *d = make_doing(device, (struct doing){.launches = 1, .bare_capture = bare});
        struct assay_timed timed = time_calls(device, d, &doing_kernel, 5);
        assert_string_equal(timed.way, ASSAY_TIMED_GRAPH);
        assert_int_equal(timed.graph.kernels, 5);
        assert_int_equal(told.begun, 1);
        assert_int_equal(told.ended, 1);
        assert_int_equal(told.replayed, 1);
        int64_t calls = d->calls;
        time_calls(device, d, &doing_kernel, 5);
        assert_int_equal(d->calls, calls); /* they are replayed */
        assert_int_equal(told.begun, 1);
        assert_int_equal(told.replayed, 2);
        time_calls(device, d, &doing_kernel, 1); /* a single call is, too */
        assert_int_equal(told.begun, 2);
        assert_int_equal(told.dropped, 0);
        drop_doing(device, d);
        assert_int_equal(told.dropped, 2);
    }
}

/* A framework keeps the results of each: only a few are kept. */
static void test_captures_of_one_kernel_are_few(void **state)
{
    assay_device *device = *state;
    device->capturer = &capturer;
    struct doing *d = make_doing(device, (struct doing){.launches = 1});
    for (int i = 1; i <= CUDA_CAPTURES + 3; i++)
        time_calls(device, d, &doing_kernel, i);
    assert_int_equal(told.begun, CUDA_CAPTURES + 3);
    assert_int_equal(told.dropped, 3);
    time_calls(device, d, &doing_kernel, CUDA_CAPTURES + 3);
    assert_int_equal(told.begun, CUDA_CAPTURES + 3);
    time_calls(device, d, &doing_kernel, 1);
    assert_int_equal(told.begun, CUDA_CAPTURES + 4);
    drop_doing(device, d);
    assert_int_equal(told.dropped, CUDA_CAPTURES + 4);
}

static void test_the_callers_side_is_measured_once(void **state)
{
    assay_device *device = *state;
    device->capturer = &capturer;
    struct doing *d = make_doing(device, (struct doing){.launches = 1});
    struct assay_work work = {.iters = 2, .n_sets = 1, .sets = no_args};
    struct assay_timing first, second;
    assert_int_equal(device->driver->time(device, &doing_kernel, d, &work, &first), ASSAY_OK);
    int64_t calls = d->calls;
    assert_true(calls >= 2 * 16 + 2);
    work.iters = 3;
    assert_int_equal(device->driver->time(device, &doing_kernel, d, &work, &second), ASSAY_OK);
    assert_int_equal(d->calls, calls + 3);
    assert_near(first.host_ns / 2, second.host_ns / 3, 1e-6 * first.host_ns);
    drop_doing(device, d);
}

/* Work on another stream, which the capturing one is not told of. */
static void test_unjoined_work_is_refused(void **state)
{
    assay_device *device = *state;
    device->capturer = &capturer;
    setenv("FAKE_CUDA_CAPTURE", "unjoined", 1);
    struct doing *d = make_doing(device, (struct doing){.launches = 1});
    struct assay_timed timed = time_calls(device, d, &doing_kernel, 10);
    unsetenv("FAKE_CUDA_CAPTURE");
    assert_int_equal(timed.fault, ASSAY_TIMED_UNJOINED);
    assert_string_equal(timed.way, ASSAY_TIMED_BLOCKED);
    assert_string_equal(timed.why, "work on another stream that is not joined "
                                   "(cudaErrorStreamCaptureUnjoined)");
    assert_false(timed.has_graph);
    assert_int_equal(told.ended, 1);
    assert_int_equal(told.replayed, 0);
    time_calls(device, d, &doing_kernel, 11); /* it is not tried again */
    assert_int_equal(told.begun, 1);
    drop_doing(device, d);
}

static void test_who_waits_is_not_captured(void **state)
{
    assay_device *device = *state;
    device->capturer = &capturer;
    struct doing *d = make_doing(device, (struct doing){.launches = 1, .waits = true});
    struct assay_timed timed = time_calls(device, d, &doing_kernel, 10);
    assert_string_equal(timed.way, ASSAY_TIMED_BLOCKED); /* unless the gate gives up */
    assert_string_equal(timed.why, "a host synchronisation, an allocation or a query in it "
                                   "(cudaErrorStreamCaptureInvalidated)");
    assert_int_equal(timed.fault, ASSAY_TIMED_FINE);
    drop_doing(device, d);
    d = make_doing(device, (struct doing){.launches = 1, .waits = true});
    told.waits = true; /* the capturer knows */
    timed = time_calls(device, d, &doing_kernel, 10);
    assert_string_equal(timed.way, ASSAY_TIMED_EAGER);
    assert_non_null(
        strstr(timed.why, "it waits for the GPU; not captured: a host synchronisation"));
    drop_doing(device, d);
}

static void test_who_cannot_be_replayed_is_not_captured(void **state)
{
    assay_device *device = *state;
    device->capturer = &capturer;
    struct doing *d = make_doing(device, (struct doing){.launches = 1, .in_place = true});
    struct assay_timed timed = time_calls(device, d, &doing_kernel, 10);
    assert_string_equal(timed.way, ASSAY_TIMED_BLOCKED);
    assert_string_equal(timed.why, "it is done in place");
    assert_int_equal(told.begun, 0);
    assert_int_equal(d->calls, 10); /* and none for the host's time */
    drop_doing(device, d);
}

static void test_every_error_of_a_capture_has_its_name(void **state)
{
    (void)state;
    for (int code = CU_ERROR_CAPTURE_UNSUPPORTED; code <= CU_ERROR_CAPTURE_WRONG_THREAD; code++) {
        assert_non_null(assay_cuda_capture_error(code));
        assert_int_equal(strncmp(assay_cuda_capture_error(code), "cudaError", 9), 0);
        assert_non_null(assay_cuda_capture_cause(code));
    }
    assert_string_equal(assay_cuda_capture_error(904), "cudaErrorStreamCaptureUnjoined");
    assert_string_equal(assay_cuda_capture_error(907), "cudaErrorCapturedEvent");
    assert_null(assay_cuda_capture_error(1));
}

/* Without a capturer, as for kernels in C. */
static void test_the_way_is_said(void **state)
{
    assay_device *device = *state;
    struct assay_kernel direct = {.run = run_doing, .flags = ASSAY_KERNEL_DIRECT};
    struct doing *d = make_doing(device, (struct doing){.launches = 1});
    struct assay_timed timed = time_calls(device, d, &doing_kernel, 1);
    assert_string_equal(timed.way, ASSAY_TIMED_BLOCKED);
    assert_string_equal(timed.why, "one call is a whole sample");
    timed = time_calls(device, d, &doing_kernel, 10);
    assert_string_equal(timed.way, ASSAY_TIMED_GRAPH);
    timed = time_calls(device, d, &doing_kernel, 1); /* a check: samples are longer */
    assert_string_equal(timed.way, ASSAY_TIMED_GRAPH);
    timed = time_calls(device, d, &doing_kernel, 5000);
    assert_string_equal(timed.way, ASSAY_TIMED_BLOCKED);
    assert_false(timed.has_graph);
    device->driver->forget(device, d);
    device->driver->timed(device, &doing_kernel, d, &timed);
    assert_string_equal(timed.way, "");
    drop_doing(device, d);
    d = make_doing(device, (struct doing){.launches = 1});
    timed = time_calls(device, d, &direct, 10);
    assert_string_equal(timed.why, "the kernel asks not to be captured");
    drop_doing(device, d);
    d = make_doing(device, (struct doing){.launches = 1});
    setenv("FAKE_CUDA_CAPTURE", "no", 1);
    timed = time_calls(device, d, &doing_kernel, 10);
    unsetenv("FAKE_CUDA_CAPTURE");
    assert_string_equal(timed.way, ASSAY_TIMED_BLOCKED);
    assert_non_null(strstr(timed.why, "cudaErrorStreamCaptureUnsupported"));
    drop_doing(device, d);
}

/* A driver that does not tell of nodes: it is a graph, and no more is known. */
static void test_a_driver_that_tells_nothing(void **state)
{
    assay_device *device = *state;
    struct doing *d = make_doing(device, (struct doing){.launches = 1});
    setenv("FAKE_CUDA_FAIL", "cuGraphNodeGetType:1", 1);
    struct assay_timed timed = time_calls(device, d, &doing_kernel, 10);
    unsetenv("FAKE_CUDA_FAIL");
    assert_string_equal(timed.way, ASSAY_TIMED_GRAPH);
    assert_false(timed.has_graph);
    drop_doing(device, d);
}

int main(void)
{
    char folder[] = "/tmp/assay-test-graph-XXXXXX", command[128];
    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("ASSAY_CUDA_DRIVER", FAKES "fake_cuda.so", 1);
    setenv("ASSAY_NVRTC", FAKES "fake_nvrtc.so", 1);
    setenv("ASSAY_NVML", FAKES "fake_nvml.so", 1);
    setenv("ASSAY_CUBLASLT", "/no_cublaslt.so", 1);
    setenv("ASSAY_CUDNN", "/no_cudnn.so", 1);
    void *fake = dlopen(FAKES "fake_cuda.so", RTLD_NOW);
    if (!fake)
        return 1;
    *(void **)&add_host = dlsym(fake, "fake_cuda_add_host");
    *(void **)&add_graph = dlsym(fake, "fake_cuda_add_graph");
#define WITH_GPU(name) cmocka_unit_test_setup_teardown(name, open_each, close_each)
    const struct CMUnitTest tests[] = {
        WITH_GPU(test_nodes_are_counted_and_named),
        WITH_GPU(test_lead_in_counts_as_calls),
        cmocka_unit_test(test_names_are_those_of_the_source),
        WITH_GPU(test_who_launches_nothing_is_found_out),
        WITH_GPU(test_a_capturer_has_the_graph),
        WITH_GPU(test_captures_of_one_kernel_are_few),
        WITH_GPU(test_the_callers_side_is_measured_once),
        WITH_GPU(test_unjoined_work_is_refused),
        WITH_GPU(test_who_waits_is_not_captured),
        WITH_GPU(test_who_cannot_be_replayed_is_not_captured),
        cmocka_unit_test(test_every_error_of_a_capture_has_its_name),
        WITH_GPU(test_the_way_is_said),
        WITH_GPU(test_a_driver_that_tells_nothing),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed;
}
