/* Cases on a GPU through assay.h, on the stand-in for the driver (tests/device/fake_cuda.c): the
 * caller's stream and context, memory, and errors that a caller outlives. */
#include "unit.h"

#include "base/clock.h"
#include "device/cuda/cuda_api.h"
#include <assay/assay.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKES ASSAY_BINARY_DIR "/fakes/"

/* The caller's own way to the driver: the same library. */
static struct {
    cu_result (*cuStreamCreate)(cu_stream *, unsigned);
    cu_result (*cuStreamDestroy_v2)(cu_stream);
    cu_result (*cuMemsetD8Async)(cu_deviceptr, unsigned char, size_t, cu_stream);
    cu_result (*cuMemAlloc_v2)(cu_deviceptr *, size_t);
    cu_result (*cuMemFree_v2)(cu_deviceptr);
    cu_result (*cuCtxSetCurrent)(cu_context);
    cu_result (*cuCtxGetCurrent)(cu_context *);
    cu_result (*cuDevicePrimaryCtxRetain)(cu_context *, cu_device);
    cu_result (*cuDevicePrimaryCtxRelease_v2)(cu_device);
    cu_context (*callers_context)(void);
    int (*retained)(void);
} fake;

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fail_msg("%s", name);
    return found;
}

#define TAKE(field, name)                                                                          \
    do {                                                                                           \
        void *found = symbol(library, name);                                                       \
        memcpy(&fake.field, &found, sizeof found);                                                 \
    } while (0)

static int find_fake(void **state)
{
    (void)state;
    void *library = dlopen(FAKES "fake_cuda.so", RTLD_NOW);
    if (!library)
        return -1;
    TAKE(cuStreamCreate, "cuStreamCreate");
    TAKE(cuStreamDestroy_v2, "cuStreamDestroy_v2");
    TAKE(cuMemsetD8Async, "cuMemsetD8Async");
    TAKE(cuMemAlloc_v2, "cuMemAlloc_v2");
    TAKE(cuMemFree_v2, "cuMemFree_v2");
    TAKE(cuCtxSetCurrent, "cuCtxSetCurrent");
    TAKE(cuCtxGetCurrent, "cuCtxGetCurrent");
    TAKE(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    TAKE(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease_v2");
    TAKE(callers_context, "fake_cuda_callers_context");
    TAKE(retained, "fake_cuda_retained");
    return 0;
}

static struct assay_error err;

static assay_session *open_gpu(int64_t warmup, int64_t iters)
{
    struct assay_session_options options;
    assay_session *session = NULL;
    assay_session_options_init(&options);
    options.device = "cuda";
    options.warmup = warmup;
    options.iters = iters;
    options.precision = iters ? 0 : 0.05;
    options.budget_s = 0.2;
    err = (struct assay_error){0};
    if (assay_session_open(&options, &session, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    return session;
}

struct filling {
    cu_stream stream;
    void *to;
    size_t bytes;
    int calls;
};

/* The fake's streams do their work at once, so this takes as long as it spins. */
static int fill(void *argument)
{
    struct filling *f = argument;
    f->calls++;
    int64_t end = assay_clock_ns() + 20000;
    while (assay_clock_ns() < end)
        ;
    return fake.cuMemsetD8Async((cu_deviceptr)(uintptr_t)f->to, 7, f->bytes, f->stream) != 0;
}

static struct assay_case make(struct filling *f)
{
    struct assay_case c;
    assay_case_init(&c, "fill", fill, f);
    c.stream = f->stream;
    return c;
}

static void test_a_stream_of_the_callers(void **state)
{
    (void)state;
    assay_session *session = open_gpu(3, 10);
    struct filling f = {.bytes = 1 << 20};
    assert_int_equal(assay_session_alloc(session, f.bytes, &f.to, &err), ASSAY_OK);
    assert_int_equal(fake.cuStreamCreate(&f.stream, 0), 0);
    struct assay_case c = make(&f);
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    assert_int_equal(f.calls, 13);
    const struct assay_case_result *r = assay_session_case(session, 0);
    assert_string_equal(r->device, "cuda:0");
    assert_string_equal(r->dtype, "float16");
    assert_int_equal(r->iters, 10);
    assert_int_equal(r->warmup, 3);
    assert_true(r->min_ms >= 0.02);
    assert_near(r->idle_vram_mb, 1, 0);
    assert_near(r->workspace_vram_mb, 0, 0);
    assert_int_equal(((char *)f.to)[12345], 7);
    fake.cuStreamDestroy_v2(f.stream);
    assay_session_close(session);
    assert_int_equal(fake.retained(), 0);
}

static void test_the_default_stream_and_graphs(void **state)
{
    (void)state;
    assay_session *session = open_gpu(0, 0);
    struct filling f = {.bytes = 1 << 17};
    assert_int_equal(assay_session_alloc(session, f.bytes, &f.to, &err), ASSAY_OK);
    struct assay_case cases[2] = {make(&f), make(&f)};
    cases[1].flags = ASSAY_CASE_GRAPH;
    assert_int_equal(assay_session_run_many(session, cases, 2, &err), ASSAY_OK);
    assert_int_equal(assay_session_case_count(session), 2);
    /* Captured once and replayed: without the 20 us that the host takes in each call. */
    assert_true(assay_session_case(session, 0)->median_ms >= 0.02);
    assert_true(assay_session_case(session, 1)->median_ms <
                assay_session_case(session, 0)->median_ms - 0.015);
    assay_session_close(session);
}

/* A context that is current is the caller's: no other one is made, and it stays. */
static void test_a_context_of_the_callers(void **state)
{
    (void)state;
    assert_int_equal(fake.cuCtxSetCurrent(fake.callers_context()), 0);
    assay_session *session = open_gpu(1, 2);
    struct filling f = {.bytes = 4096};
    assert_int_equal(assay_session_alloc(session, f.bytes, &f.to, &err), ASSAY_OK);
    struct assay_case c = make(&f);
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    assert_int_equal(fake.retained(), 0);
    assay_session_close(session);
    cu_context now = NULL;
    assert_int_equal(fake.cuCtxGetCurrent(&now), 0);
    assert_ptr_equal(now, fake.callers_context());
    fake.cuCtxSetCurrent(NULL);
}

/* One that the CUDA runtime holds as well goes on when the session ends, and stays current; one
 * that only the session held does neither. */
static void test_the_primary_context_is_shared(void **state)
{
    (void)state;
    cu_context now = NULL, held = NULL;
    void *block;
    for (int others = 0; others < 2; others++) {
        assay_session *session = open_gpu(1, 2);
        assert_int_equal(assay_session_alloc(session, 64, &block, &err), ASSAY_OK);
        assert_int_equal(fake.retained(), 1);
        if (others)
            assert_int_equal(fake.cuDevicePrimaryCtxRetain(&held, 0), 0);
        assay_session_close(session);
        assert_int_equal(fake.retained(), others);
        assert_int_equal(fake.cuCtxGetCurrent(&now), 0);
        assert_ptr_equal(now, others ? held : NULL);
    }
    /* The next one works there. */
    assay_session *session = open_gpu(1, 2);
    assert_int_equal(assay_session_alloc(session, 64, &block, &err), ASSAY_OK);
    assert_int_equal(fake.retained(), 1);
    assay_session_close(session);
    assert_int_equal(fake.cuDevicePrimaryCtxRelease_v2(0), 0);
    fake.cuCtxSetCurrent(NULL);
}

static int allocate(void *argument)
{
    cu_deviceptr *kept = argument;
    return *kept ? 0 : fake.cuMemAlloc_v2(kept, 5 << 20) != 0;
}

static int allocate_counted(void *argument)
{
    void *block;
    if (assay_session_alloc(argument, 2 << 20, &block, NULL) != ASSAY_OK)
        return 1;
    return assay_session_free(argument, block, NULL) != ASSAY_OK;
}

static void test_memory_of_the_gpu(void **state)
{
    (void)state;
    assay_session *session = open_gpu(1, 2);
    cu_deviceptr kept = 0;
    void *block;
    assert_int_equal(assay_session_alloc(session, 3 << 20, &block, &err), ASSAY_OK);
    struct assay_case cases[2];
    assay_case_init(&cases[0], "own", allocate, &kept);
    assay_case_init(&cases[1], "counted", allocate_counted, session);
    assert_int_equal(assay_session_run_many(session, cases, 2, &err), ASSAY_OK);
    assert_near(assay_session_case(session, 0)->workspace_vram_mb, 5, 0.01);
    assert_near(assay_session_case(session, 1)->workspace_vram_mb, 2, 0);
    assert_near(assay_session_case(session, 0)->idle_vram_mb, 3, 0.01);
    assert_near(assay_session_case(session, 1)->idle_vram_mb, 8, 0.01);
    fake.cuMemFree_v2(kept);
    /* An op opens the GPU by itself, which it cannot while memory is held. */
    const int64_t axes[] = {1, 2, 3};
    assert_int_equal(assay_session_measure(session, "relu", axes, 3, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "1 blocks of assay_session_alloc are held"));
    assay_session_close(session);
}

static int crash(void *argument)
{
    (void)argument;
    return raise(SIGSEGV);
}

static int fail_always(void *argument)
{
    (void)argument;
    return 3;
}

static void test_crashes_and_failures(void **state)
{
    (void)state;
    assay_session *session = open_gpu(2, 3);
    struct filling f = {.bytes = 64};
    assert_int_equal(assay_session_alloc(session, f.bytes, &f.to, &err), ASSAY_OK);
    struct assay_case cases[3] = {make(&f)};
    assay_case_init(&cases[1], "crash", crash, NULL);
    assay_case_init(&cases[2], "fail", fail_always, NULL);
    assert_int_equal(assay_session_run_many(session, cases, 3, &err), ASSAY_ERR_FAILED);
    assert_string_equal(assay_session_case(session, 0)->status, "ok");
    assert_string_equal(assay_session_case(session, 1)->status, "crashed");
    assert_string_equal(assay_session_case(session, 1)->reason, "SIGSEGV in run");
    assert_string_equal(assay_session_case(session, 2)->reason, "run answered 3, call 1");
    assay_session_close(session);
}

/* What ends a worker is, to a caller, a case that failed. */
static void test_a_dead_context_ends_the_case_not_the_caller(void **state)
{
    (void)state;
    assay_session *session = open_gpu(2, 6);
    struct filling f = {.bytes = 64};
    assert_int_equal(assay_session_alloc(session, f.bytes, &f.to, &err), ASSAY_OK);
    struct assay_case c = make(&f);
    setenv("FAKE_CUDA_FAIL", "cuCtxSynchronize:700", 1);
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_ERR_FAILED);
    unsetenv("FAKE_CUDA_FAIL");
    assert_string_equal(assay_session_case(session, 0)->status, "failed");
    assert_non_null(strstr(assay_session_case(session, 0)->reason, "CUDA error 700"));
    assay_session_close(session);
}

static void test_isolation_is_for_the_cpu(void **state)
{
    (void)state;
    struct assay_session_options options;
    assay_session *session = NULL;
    assay_session_options_init(&options);
    options.device = "cuda";
    options.isolate = 1;
    err = (struct assay_error){0};
    assert_int_equal(assay_session_open(&options, &session, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "isolate is for the cpu"));
}

int main(void)
{
    char folder[] = "/tmp/assay-test-case-cuda-XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("ASSAY_CUDA_DRIVER", FAKES "fake_cuda.so", 1);
    setenv("ASSAY_NVRTC", FAKES "fake_nvrtc.so", 1);
    setenv("ASSAY_NVML", FAKES "fake_nvml.so", 1);
    setenv("ASSAY_CUBLASLT", "/no_cublaslt.so", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_of_the_callers),
        cmocka_unit_test(test_the_default_stream_and_graphs),
        cmocka_unit_test(test_a_context_of_the_callers),
        cmocka_unit_test(test_the_primary_context_is_shared),
        cmocka_unit_test(test_memory_of_the_gpu),
        cmocka_unit_test(test_crashes_and_failures),
        cmocka_unit_test(test_a_dead_context_ends_the_case_not_the_caller),
        cmocka_unit_test(test_isolation_is_for_the_cpu),
    };
    int failed = cmocka_run_group_tests(tests, find_fake, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed;
}
