/* test_cuda_conv2d.c: the host's part of conv2d on the GPU, and of cuDNN's conv2d and attention, on
 * stand-ins for NVIDIA's libraries: what is launched for which shape, on what, and what happens
 * when a call fails. The stand-ins note each launch, with its arguments, in a file. */
#include "kernel/host.h"
#include "unit.h"

#include "device/device.h"
#include "kernel/kernel.h"
#include "op/conv.h"
#include "op/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKES ASSAY_BINARY_DIR "/fakes/"

enum { AXES = 7, LENGTH = 1024 };

struct bed {
    assay_device *device;
    assay_kernel_registry *registry;
    void *in[ASSAY_MAX_INPUTS], *out[1];
    char notes[4 * LENGTH]; /* of the last run, without what came before */
};

static struct assay_host worker;
static char folder[64], launches[96], compiled[96], closed[96];

static int open_all(void **state)
{
    const struct assay_device_driver *driver;
    int32_t index;
    struct bed *bed = calloc(1, sizeof *bed);
    assert_non_null(bed);
    assert_int_equal(assay_device_parse("cuda", &driver, &index, NULL), ASSAY_OK);
    assert_int_equal(assay_device_open(driver, index, 1, &bed->device, NULL), ASSAY_OK);
    bed->registry = assay_kernel_registry_create();
    assert_non_null(bed->registry);
    *state = bed;
    return 0;
}

static int close_all(void **state)
{
    struct bed *bed = *state;
    assay_kernel_registry_destroy(bed->registry);
    assert_int_equal(bed->device->bytes_held, 0);
    assay_device_close(bed->device);
    free(bed);
    return 0;
}

/* ---- one run --------------------------------------------------------------------------------- */

/* What one run is of. */
struct case_ {
    const char *kernel, *op, *mode;
    enum assay_dtype dtype;
    int64_t axes[AXES];
};

static struct assay_problem problem_of(const struct case_ *c)
{
    struct assay_problem p;
    struct assay_error err = {0};
    if (assay_op_problem(assay_op_find(c->op), c->dtype, c->mode, c->axes, 1, &p, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    p.host = &worker;
    return p;
}

static void take_operands(struct bed *bed, const struct assay_problem *p)
{
    for (int32_t i = 0; i < p->n_inputs; i++)
        assert_int_equal(
            assay_device_alloc(bed->device, assay_tensor_bytes(&p->inputs[i]), &bed->in[i], NULL),
            ASSAY_OK);
    assert_int_equal(
        assay_device_alloc(bed->device, assay_tensor_bytes(&p->outputs[0]), &bed->out[0], NULL),
        ASSAY_OK);
}

static void give_back(struct bed *bed, const struct assay_problem *p)
{
    for (int32_t i = 0; i < p->n_inputs; i++)
        assay_device_free(bed->device, bed->in[i], assay_tensor_bytes(&p->inputs[i]));
    assay_device_free(bed->device, bed->out[0], assay_tensor_bytes(&p->outputs[0]));
}

static void read_notes(struct bed *bed)
{
    FILE *file = fopen(launches, "r");
    memset(bed->notes, 0, sizeof bed->notes);
    if (!file)
        return;
    (void)!fread(bed->notes, 1, sizeof bed->notes - 1, file);
    fclose(file);
}

/* Sets up, prepares and runs once; the launches of run are in bed->notes. What fails is not
 * accepted but where `may_fail`. */
static enum assay_status run_case(struct bed *bed, const struct case_ *c, bool may_fail,
                                  struct assay_error *err)
{
    struct assay_problem p = problem_of(c);
    const struct assay_kernel *kernel = assay_kernel_find(bed->registry, c->kernel);
    void *state = NULL;
    assert_non_null(kernel);
    take_operands(bed, &p);
    const struct assay_args args = {(const void *const *)bed->in, bed->out};
    const struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    enum assay_status status = assay_kernel_can_run(kernel, &p, err);
    if (status == ASSAY_OK)
        status = kernel->setup(&p, &state, err);
    bool made = status == ASSAY_OK;
    if (status == ASSAY_OK && kernel->prepare)
        status = kernel->prepare(state, 0, &args, err);
    unlink(launches);
    if (status == ASSAY_OK)
        status = kernel->run(state, &work);
    read_notes(bed);
    if (made)
        kernel->teardown(state);
    give_back(bed, &p);
    if (status != ASSAY_OK && !may_fail)
        fail_msg("%s %s: %d %s", c->kernel, c->mode, status, err ? err->message : "");
    return status;
}

static void expect_notes(const struct bed *bed, const char *wanted)
{
    if (!strstr(bed->notes, wanted))
        fail_msg("no \"%s\" in \"%s\"", wanted, bed->notes);
}

/* ---- conv2d, ours ---------------------------------------------------------------------------- */

/* The stand-in has 4 SMs. */
static void test_windows_are_multiplied_by_warpgroups(void **state)
{
    struct bed *bed = *state;
    const struct case_ c = {
        "conv2d_wgmma_cuda", "conv2d", "bias+add", ASSAY_DTYPE_F16, {4, 16, 16, 128, 256, 3, 1}};
    char want[256];
    run_case(bed, &c, false, NULL);
    expect_notes(bed, "-DELEMENT=16 -DINPUT=16 -DWAVES=1 -DBLOCK_N=256 -DSTAGES=4 -DSPLIT=1 "
                      "-DPROMOTE=0 -DORDER=0 -DSCALES=0 -DCENTRE=0 -DBIAS=1 -DACTIVATION=0 "
                      "-DRESIDUAL=1");
    /* Maps of x (128 pixels; windows begin at -1, and the last one before the end of the image;
     * stride, width) and W (its box has one tap of the kernel), y, bias, residual, the height of y,
     * m and n. */
    snprintf(want, sizeof want, "conv2d_wgmma 4 384 %p/128/-1/-1/1/16 %p/1 %p %p %p 16 1024 256\n",
             bed->in[0], bed->in[1], bed->out[0], bed->in[2], bed->in[3]);
    expect_notes(bed, want);
}

/* Where windows begin, from the left and from the right, for other paddings and strides. */
static void test_windows_begin_and_end_where_they_should(void **state)
{
    static const struct {
        const char *mode, *map;
        int64_t axes[AXES];
    } rows[] = {
        {"pad0", "/128/0/-2/1/20 ", {1, 20, 20, 64, 64, 3, 1}},
        {"none", "/128/-3/-3/2/21 ", {1, 30, 21, 64, 64, 7, 2}},
        {"none", "/128/0/-1/1/9 ", {1, 9, 9, 64, 64, 2, 1}}, /* of 1 / 2: no padding */
        {"pad1", "/128/-1/0/3/9 ", {1, 9, 9, 64, 64, 2, 3}},
    };
    struct bed *bed = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct case_ c = {"conv2d_wgmma_cuda", "conv2d", rows[i].mode, ASSAY_DTYPE_F16, {0}};
        memcpy(c.axes, rows[i].axes, sizeof c.axes);
        run_case(bed, &c, false, NULL);
        expect_notes(bed, rows[i].map);
    }
}

static void test_few_places_share_windows_along_k(void **state)
{
    struct bed *bed = *state;
    const struct case_ c = {
        "conv2d_wgmma_cuda", "conv2d", "none", ASSAY_DTYPE_BF16, {1, 10, 10, 72, 64, 3, 1}};
    run_case(bed, &c, false, NULL);
    expect_notes(bed, "-DSPLIT=2");
    expect_notes(bed, "-DBIAS=0 -DACTIVATION=0 -DRESIDUAL=0 | conv2d_wgmma 2 384 ");
}

/* In a mode and type of its own: what another test had compiled is not compiled again. */
static void test_autotuning_tries_all_tiles(void **state)
{
    struct bed *bed = *state;
    const struct case_ c = {
        "conv2d_wgmma_cuda", "conv2d", "bias", ASSAY_DTYPE_BF16, {2, 8, 8, 64, 320, 3, 2}};
    static const char *const tiles[] = {"-DBLOCK_N=256 ", "-DBLOCK_N=128 ", "-DBLOCK_N=96 ",
                                        "-DBLOCK_N=64 "};
    char all[16 * LENGTH] = "";
    unlink(compiled);
    setenv("FAKE_NVRTC_COUNT", compiled, 1);
    worker.autotune = true;
    run_case(bed, &c, false, NULL);
    worker.autotune = false;
    unsetenv("FAKE_NVRTC_COUNT");
    FILE *file = fopen(compiled, "r");
    assert_non_null(file);
    assert_true(fread(all, 1, sizeof all - 1, file) > 0);
    fclose(file);
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
        if (!strstr(all, tiles[i]))
            fail_msg("%s was never tried: %s", tiles[i], all);
    expect_notes(bed, "conv2d_wgmma ");
}

/* Threads are 256; two blocks of 4 SMs at once. */
static void test_any_shape_is_cut_to_fit(void **state)
{
    static const struct {
        const char *mode, *options, *launch;
        enum assay_dtype dtype;
        int64_t axes[AXES];
    } rows[] = {
        {"none",
         "-DELEMENT=16 -DVECTOR=0 -DBLOCK_M=64 -DBLOCK_N=64 -DBIAS=0 -DRESIDUAL=0 |",
         "conv2d_mma 2 256 40960\n",
         ASSAY_DTYPE_F16,
         {1, 9, 8, 3, 17, 3, 1}},
        {"bias",
         "-DELEMENT=17 -DVECTOR=1 -DBLOCK_M=128 -DBLOCK_N=128 -DBIAS=1 -DRESIDUAL=0 |",
         "conv2d_mma 64 256 81920\n",
         ASSAY_DTYPE_BF16,
         {2, 64, 64, 8, 128, 5, 1}},
        {"add",
         "-DELEMENT=32 -DVECTOR=1 -DBLOCK_M=128 -DBLOCK_N=64 -DBIAS=0 -DRESIDUAL=1 |",
         "conv2d_f32 32 256 0\n",
         ASSAY_DTYPE_F32,
         {1, 64, 64, 4, 64, 1, 1}},
        {"pad0",
         "-DELEMENT=32 -DVECTOR=0 -DBLOCK_M=64 -DBLOCK_N=64 -DBIAS=0 -DRESIDUAL=0 |",
         "conv2d_f32 1 256 0\n",
         ASSAY_DTYPE_F32,
         {3, 9, 9, 1, 1, 7, 2}},
    };
    struct bed *bed = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct case_ c = {"conv2d_cuda", "conv2d", rows[i].mode, rows[i].dtype, {0}};
        memcpy(c.axes, rows[i].axes, sizeof c.axes);
        run_case(bed, &c, false, NULL);
        expect_notes(bed, rows[i].options);
        expect_notes(bed, rows[i].launch);
    }
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *kernel, *reason;
        int64_t axes[AXES];
    } rows[] = {
        {"conv2d_wgmma_cuda",
         "130 channels are not a multiple of 16 bytes",
         {1, 8, 8, 130, 8, 3, 1}},
        {"conv2d_wgmma_cuda", "for 32 channels and more", {1, 8, 8, 24, 8, 3, 1}},
        {"conv2d_wgmma_cuda", "strides of at most 8", {1, 64, 64, 64, 8, 3, 9}},
        {"conv2d_wgmma_cuda", "kernels of at most 128", {1, 130, 130, 64, 8, 129, 1}},
        {"conv2d_cuda", "more than 2^29 pixels", {1 << 20, 32, 32, 8, 8, 1, 32}},
        {"conv2d_cuda", "channels of y", {1, 1, 1, 1, 65535 * 64 + 1, 1, 1}},
    };
    struct bed *bed = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct case_ c = {rows[i].kernel, "conv2d", "none", ASSAY_DTYPE_F16, {0}};
        memcpy(c.axes, rows[i].axes, sizeof c.axes);
        struct assay_problem p = problem_of(&c);
        struct assay_error why = {0};
        const struct assay_kernel *kernel = assay_kernel_find(bed->registry, c.kernel);
        assert_int_equal(assay_kernel_can_run(kernel, &p, &why), ASSAY_UNSUPPORTED);
        if (!strstr(why.message, rows[i].reason))
            fail_msg("%s: %s", c.kernel, why.message);
    }
}

/* ---- cuDNN ----------------------------------------------------------------------------------- */

static void expect_execution(const struct bed *bed, int engine, int ops, int n,
                             void *const *operands)
{
    char want[512];
    int length = snprintf(want, sizeof want, "| cudnnBackendExecute %d %d", engine, ops);
    for (int i = 0; i < n; i++)
        length += snprintf(want + length, sizeof want - (size_t)length, " %p", operands[i]);
    expect_notes(bed, want);
}

/* One operation, and one more for bias and residual each. Engines that round on the way are passed
 * over, and with tensor cores in f32. */
static void test_cudnn_convolves(void **state)
{
    struct bed *bed = *state;
    struct case_ c = {"conv2d_cudnn", "conv2d", "none", ASSAY_DTYPE_F16, {2, 9, 9, 16, 8, 3, 2}};
    run_case(bed, &c, false, NULL);
    expect_execution(bed, 1, 1, 3, (void *[]){bed->in[0], bed->in[1], bed->out[0]});
    c.dtype = ASSAY_DTYPE_F32;
    c.mode = "bias+add";
    run_case(bed, &c, false, NULL);
    expect_execution(bed, 2, 3, 5,
                     (void *[]){bed->in[0], bed->in[1], bed->in[2], bed->in[3], bed->out[0]});
    c.mode = "add";
    run_case(bed, &c, false, NULL);
    expect_execution(bed, 2, 2, 4, (void *[]){bed->in[0], bed->in[1], bed->in[2], bed->out[0]});
}

/* Two products, a scale, and softmax's seven; four more where it is causal. Scale and mask are
 * numbers of the host's. */
static void test_cudnn_attends(void **state)
{
    struct bed *bed = *state;
    struct case_ c = {"attention_cudnn", "attention", "none", ASSAY_DTYPE_BF16, {2, 33, 3, 64}};
    run_case(bed, &c, false, NULL);
    expect_execution(bed, 1, 10, 4, (void *[]){bed->in[0], bed->in[1], bed->in[2], bed->out[0]});
    c.mode = "qkv+causal";
    run_case(bed, &c, false, NULL);
    char *qkv = bed->in[0];
    const ptrdiff_t row = 3 * 64 * 2;
    expect_execution(bed, 1, 14, 4, (void *[]){qkv, qkv + row, qkv + 2 * row, bed->out[0]});
    c.axes[3] = 20;
    struct assay_error why = {0};
    assert_int_equal(run_case(bed, &c, true, &why), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(why.message, "a multiple of 8, not 20"));
}

static void test_cudnn_tunes_among_engines(void **state)
{
    struct bed *bed = *state;
    const struct case_ c = {
        "conv2d_cudnn", "conv2d", "none", ASSAY_DTYPE_F16, {2, 9, 9, 16, 8, 3, 1}};
    worker.autotune = true;
    run_case(bed, &c, false, NULL);
    worker.autotune = false;
    expect_notes(bed, "| cudnnBackendExecute "); /* of engine 1 or 2: they take as long */
}

static void test_cudnn_without_an_engine_says_so(void **state)
{
    struct bed *bed = *state;
    const struct case_ c = {
        "conv2d_cudnn", "conv2d", "none", ASSAY_DTYPE_F16, {2, 9, 9, 16, 8, 3, 1}};
    struct assay_error why = {0};
    setenv("FAKE_CUDNN_NONE", "1", 1);
    assert_int_equal(run_case(bed, &c, true, &why), ASSAY_UNSUPPORTED);
    unsetenv("FAKE_CUDNN_NONE");
    assert_string_equal(why.message, "cuDNN: no engine for this graph: "
                                     "CUDNN_STATUS_NOT_SUPPORTED: made to fail");
}

/* Whichever call fails, it ends well, and nothing is left (close_all, and the log below). */
static void test_each_call_of_cudnn_may_fail(void **state)
{
    enum { MOST_CALLS = 600 };
    static const struct case_ cases[] = {
        {"conv2d_cudnn", "conv2d", "bias", ASSAY_DTYPE_F32, {2, 9, 9, 16, 8, 3, 1}},
        {"attention_cudnn", "attention", "causal", ASSAY_DTYPE_F16, {2, 33, 3, 64}},
    };
    struct bed *bed = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int failures = 0;
        enum assay_status status = ASSAY_OK;
        for (int turn = 1; turn <= MOST_CALLS; turn++) {
            struct assay_error err = {0};
            char text[16];
            snprintf(text, sizeof text, "%d", turn);
            setenv("FAKE_CUDNN_FAIL", text, 1);
            status = run_case(bed, &cases[i], true, &err);
            failures += status != ASSAY_OK;
        }
        unsetenv("FAKE_CUDNN_FAIL");
        assert_true(failures > 50);
        assert_int_equal(status, ASSAY_OK); /* there are not so many calls */
    }
}

/* All that was ever taken from cuDNN was given back. */
static void test_nothing_is_left(void **state)
{
    (void)state;
    char line[128];
    int lines = 0;
    FILE *file = fopen(closed, "r");
    assert_non_null(file);
    for (; fgets(line, sizeof line, file); lines++)
        assert_string_equal(line, "closed: 0 handles, 0 descriptors left\n");
    fclose(file);
    assert_true(lines >= 4);
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/assay-test-cuda-conv2d-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(launches, sizeof launches, "%s/launches", folder);
    snprintf(compiled, sizeof compiled, "%s/compiled", folder);
    snprintf(closed, sizeof closed, "%s/closed", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("FAKE_CUDA_LAUNCHES", launches, 1);
    setenv("FAKE_CUDNN_LOG", closed, 1);
    setenv("ASSAY_CUDA_DRIVER", FAKES "fake_cuda.so", 1);
    setenv("ASSAY_NVRTC", FAKES "fake_nvrtc.so", 1);
    setenv("ASSAY_NVML", FAKES "fake_nvml.so", 1);
    setenv("ASSAY_CUDNN", FAKES "fake_cudnn.so", 1);
#define WITH_GPU(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)
    const struct CMUnitTest tests[] = {
        WITH_GPU(test_windows_are_multiplied_by_warpgroups),
        WITH_GPU(test_windows_begin_and_end_where_they_should),
        WITH_GPU(test_few_places_share_windows_along_k),
        WITH_GPU(test_autotuning_tries_all_tiles),
        WITH_GPU(test_any_shape_is_cut_to_fit),
        WITH_GPU(test_what_is_refused),
        WITH_GPU(test_cudnn_convolves),
        WITH_GPU(test_cudnn_attends),
        WITH_GPU(test_cudnn_tunes_among_engines),
        WITH_GPU(test_cudnn_without_an_engine_says_so),
        WITH_GPU(test_each_call_of_cudnn_may_fail),
        cmocka_unit_test(test_nothing_is_left),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed;
}
