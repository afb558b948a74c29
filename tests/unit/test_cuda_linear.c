/* test_cuda_linear.c: the host's part of `linear` on the GPU, on stand-ins for NVIDIA's libraries:
 * which kernels are launched for which mode and recipe, on what. The stand-in notes each launch,
 * with its arguments, in a file. */
#include "kernel/host.h"
#include "unit.h"

#include "device/device.h"
#include "kernel/kernel.h"
#include "op/linear.h"
#include "op/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKES ASSAY_BINARY_DIR "/fakes/"

enum { MOST_LAUNCHES = 64, MOST_WORDS = 16, LENGTH = 640 };

/* One line of the file: the options of its text, and the words after them. */
struct launch {
    char line[LENGTH], *options, *words[MOST_WORDS];
    int n;
};

struct bed {
    assay_device *device;
    assay_kernel_registry *registry;
    struct launch launches[MOST_LAUNCHES];
    int n;
};

static char notes[64];
static struct assay_host worker;

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
    const char *kernel, *mode, *recipe;
    enum assay_dtype dtype;
    int64_t m, k, n;
};

/* The operands of the run, in device memory. */
struct operands {
    void *in[ASSAY_MAX_INPUTS], *out[1];
};

static struct assay_problem problem_of(const struct case_ *c)
{
    const struct assay_op *op = assay_op_find("linear");
    struct assay_problem p;
    struct assay_error err = {0};
    const int64_t axes[3] = {c->m, c->k, c->n};
    if (assay_op_problem(op, c->dtype, c->mode, axes, 1, &p, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    p.recipe = c->recipe;
    p.host = &worker;
    return p;
}

static void take_operands(struct bed *bed, const struct assay_problem *p, struct operands *o)
{
    for (int32_t i = 0; i < p->n_inputs; i++) {
        size_t bytes = assay_tensor_bytes(&p->inputs[i]);
        void *host = calloc(1, bytes);
        assert_non_null(host);
        assay_op_fill(assay_op_find("linear"), p, i, host, 7);
        assert_int_equal(assay_device_alloc(bed->device, bytes, &o->in[i], NULL), ASSAY_OK);
        memcpy(o->in[i], host, bytes); /* the stand-in's memory is the host's */
        free(host);
    }
    assert_int_equal(
        assay_device_alloc(bed->device, assay_tensor_bytes(&p->outputs[0]), &o->out[0], NULL),
        ASSAY_OK);
}

static void give_back(struct bed *bed, const struct assay_problem *p, struct operands *o)
{
    for (int32_t i = 0; i < p->n_inputs; i++)
        assay_device_free(bed->device, o->in[i], assay_tensor_bytes(&p->inputs[i]));
    assay_device_free(bed->device, o->out[0], assay_tensor_bytes(&p->outputs[0]));
}

static void read_notes(struct bed *bed)
{
    FILE *file = fopen(notes, "r");
    bed->n = 0;
    while (file && bed->n < MOST_LAUNCHES && fgets(bed->launches[bed->n].line, LENGTH, file)) {
        struct launch *l = &bed->launches[bed->n++];
        char *bar = strchr(l->line, '|');
        assert_non_null(bar);
        *bar = '\0';
        l->options = l->line;
        l->n = 0;
        for (char *word = strtok(bar + 1, " \n"); word && l->n < MOST_WORDS;
             word = strtok(NULL, " \n"))
            l->words[l->n++] = word;
    }
    if (file)
        fclose(file);
}

/* Prepares and runs once; launches of both are in bed->launches, those of run from `first` on. */
static struct operands run_case(struct bed *bed, const struct case_ *c, int *first)
{
    struct assay_problem p = problem_of(c);
    const struct assay_kernel *kernel = assay_kernel_find(bed->registry, c->kernel);
    struct operands o = {0};
    struct assay_error err = {0};
    void *state = NULL;
    assert_non_null(kernel);
    if (assay_kernel_can_run(kernel, &p, &err) != ASSAY_OK ||
        kernel->setup(&p, &state, &err) != ASSAY_OK)
        fail_msg("%s %s %s: %s", c->kernel, c->mode, c->recipe, err.message);
    take_operands(bed, &p, &o);
    const struct assay_args args = {(const void *const *)o.in, o.out};
    const struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    unlink(notes);
    assert_int_equal(kernel->prepare(state, 0, &args, NULL), ASSAY_OK);
    read_notes(bed);
    *first = bed->n;
    assert_int_equal(kernel->run(state, &work), ASSAY_OK);
    read_notes(bed);
    kernel->teardown(state);
    give_back(bed, &p, &o);
    return o; /* only to compare addresses with */
}

static const char *word(const struct launch *l, int i) { return i < l->n ? l->words[i] : "none"; }

static void assert_pointer(const struct launch *l, int i, const void *want)
{
    char text[32];
    snprintf(text, sizeof text, "%p", want);
    if (strcmp(word(l, i), text) != 0)
        fail_msg("argument %d of %s is %s, not %s", i - 3, word(l, 0), word(l, i), text);
}

static void assert_map(const struct launch *l, int i, const void *want)
{
    char text[32];
    snprintf(text, sizeof text, "%p/", want);
    if (strncmp(word(l, i), text, strlen(text)) != 0)
        fail_msg("map %d of %s is of %s, not %s", i - 3, word(l, 0), word(l, i), text);
}

static void assert_options(const struct launch *l, const char *options)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s", options);
    for (char *one = strtok(copy, " "); one; one = strtok(NULL, " "))
        if (!strstr(l->options, one))
            fail_msg("%s: no %s in %s", word(l, 0), one, l->options);
}

/* ---- which launches -------------------------------------------------------------------------- */

static void test_launches_of_each_mode(void **state)
{
    static const struct {
        const char *kernel, *mode, *recipe, *launches, *options;
    } rows[] = {
        {"linear_wgmma_cuda", "none", "baseline", "linear_wgmma", "-DSCALES=0 -DCENTRE=0"},
        {"linear_wgmma_cuda", "ln+gelu", "baseline", "row_scales linear_wgmma",
         "-DSCALES=3 -DCENTRE=1 -DACTIVATION=5 -DRESIDUAL=0"},
        {"linear_wgmma_cuda", "rms+add", "baseline", "row_scales linear_wgmma",
         "-DSCALES=3 -DCENTRE=0 -DRESIDUAL=1"},
        {"linear_wgmma_cuda", "rms", "int8dq", "quantise_rows linear_wgmma",
         "-DSCALES=2 -DCENTRE=0 -DINPUT=8"},
        {"linear_wgmma_cuda", "ln", "float8dq-row", "quantise_rows linear_wgmma",
         "-DSCALES=2 -DCENTRE=0 -DINPUT=43"},
        {"linear_wgmma_cuda", "add", "float8dq-tensor", "quantise_tensor linear_wgmma",
         "-DSCALES=1 -DRESIDUAL=1"},
        {"linear_wgmma_cuda", "rms+gelu", "float8dq-tensor",
         "measure_rows encode_rows linear_wgmma", "-DSCALES=1 -DACTIVATION=5"},
        {"linear_cublaslt", "bias+add", "baseline", "cublasLtMatmul", ""},
        {"linear_cublaslt", "rms", "baseline", "normalise_rows cublasLtMatmul", ""},
        {"linear_cublaslt", "ln+gelu+add", "baseline", "normalise_rows cublasLtMatmul epilogue",
         "-DRESIDUAL=1 -DACTIVATION=5"},
        {"linear_cublaslt", "relu+add", "baseline", "cublasLtMatmul epilogue",
         "-DRESIDUAL=1 -DACTIVATION=2"},
        {"linear_cublaslt", "rms+add", "int8dq", "quantise_rows cublasLtMatmul epilogue",
         "-DRESIDUAL=1 -DX_SCALES=1"},
        {"linear_cublaslt", "ln", "float8dq-tensor", "measure_rows encode_rows cublasLtMatmul", ""},
    };
    struct bed *bed = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct case_ c = {
            rows[i].kernel, rows[i].mode, rows[i].recipe, ASSAY_DTYPE_BF16, 130, 256, 272};
        char names[256] = "";
        int first = 0;
        run_case(bed, &c, &first);
        for (int l = first; l < bed->n; l++)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                     l > first ? " " : "", word(&bed->launches[l], 0));
        if (strcmp(names, rows[i].launches) != 0)
            fail_msg("%s %s %s: %s, not %s", c.kernel, c.mode, c.recipe, names, rows[i].launches);
        assert_options(&bed->launches[bed->n - 1], rows[i].options);
    }
}

/* ---- on what --------------------------------------------------------------------------------- */

/* linear_wgmma's arguments, after name, blocks and threads. */
enum { MAP_X = 3, MAP_W, Y, X_SCALES, W_SCALES, X_MEANS, W_SUMS, BIAS, RESIDUAL, M };

/* x as it is; W with the norm's weight in it, and what row_scales and fold_weights leave. */
static void test_folded_norm(void **state)
{
    struct bed *bed = *state;
    const struct case_ c = {
        "linear_wgmma_cuda", "ln+bias+add", "baseline", ASSAY_DTYPE_F16, 33, 96, 48};
    int first = 0;
    struct operands o = run_case(bed, &c, &first);
    assert_int_equal(first, 1);
    const struct launch *fold = &bed->launches[0], *scales = &bed->launches[1],
                        *product = &bed->launches[2];
    assert_string_equal(word(fold, 0), "fold_weights");
    assert_options(fold, "-DNORM=1 -DEPS=1e-05");
    assert_pointer(fold, 3, o.in[ASSAY_LINEAR_W]);
    assert_pointer(scales, 3, o.in[ASSAY_LINEAR_X]);
    assert_map(product, MAP_X, o.in[ASSAY_LINEAR_X]);
    assert_pointer(product, Y, o.out[0]);
    assert_string_equal(word(product, X_SCALES), word(scales, 4));
    assert_string_equal(word(product, X_MEANS), word(scales, 5));
    assert_string_equal(word(product, W_SUMS), word(fold, 6));
    assert_pointer(product, BIAS, o.in[ASSAY_LINEAR_BIAS_INPUT]);
    assert_pointer(product, RESIDUAL, o.in[3]);
    assert_string_equal(word(product, M), "33");
    assert_string_equal(word(product, M + 1), "48");
    assert_string_equal(word(product, M + 2), "96");
}

static void test_rms_weight_is_folded_into_w(void **state)
{
    struct bed *bed = *state;
    const struct case_ c = {
        "linear_wgmma_cuda", "rms", "baseline", ASSAY_DTYPE_BF16, 130, 256, 264};
    int first = 0;
    struct operands o = run_case(bed, &c, &first);
    const struct launch *fold = &bed->launches[0], *product = &bed->launches[bed->n - 1];
    char map[32];
    assert_pointer(fold, 4, o.in[2]);
    snprintf(map, sizeof map, "%s/", word(fold, 5));
    assert_memory_equal(word(product, MAP_W), map, strlen(map));
    assert_pointer(product, X_MEANS, NULL);
}

static void test_quantising_gets_the_norms_weight(void **state)
{
    struct bed *bed = *state;
    static const char *const recipes[] = {"int8dq", "float8dq-tensor"};
    for (int i = 0; i < 2; i++) {
        const struct case_ c = {
            "linear_wgmma_cuda", "bias+rms+add", recipes[i], ASSAY_DTYPE_BF16, 17, 512, 64};
        int first = 0;
        struct operands o = run_case(bed, &c, &first);
        for (int l = first; l < bed->n - 1; l++) {
            assert_options(&bed->launches[l], "-DNORM=2");
            assert_pointer(&bed->launches[l], 3, o.in[ASSAY_LINEAR_X]);
            assert_pointer(&bed->launches[l], 4, o.in[3]);
        }
        const struct launch *product = &bed->launches[bed->n - 1];
        char map[32];
        const struct launch *codes = &bed->launches[bed->n - 2];
        snprintf(map, sizeof map, "%s/", word(codes, 5));
        assert_memory_equal(word(product, MAP_X), map, strlen(map));
        assert_pointer(product, RESIDUAL, o.in[4]);
    }
}

/* cuBLASLt's words: name, W, x, whether C is added, C, D. */
static void test_cublaslt_adds_the_residual_itself(void **state)
{
    struct bed *bed = *state;
    const struct case_ c = {"linear_cublaslt", "rms+add", "baseline", ASSAY_DTYPE_F32, 33, 96, 48};
    int first = 0;
    struct operands o = run_case(bed, &c, &first);
    const struct launch *norm = &bed->launches[first], *product = &bed->launches[first + 1];
    assert_pointer(norm, 3, o.in[ASSAY_LINEAR_X]);
    assert_pointer(norm, 4, o.in[2]);
    assert_string_equal(word(product, 2), word(norm, 5));
    assert_string_equal(word(product, 3), "added");
    assert_pointer(product, 4, o.in[3]);
    assert_pointer(product, 5, o.out[0]);
    const struct case_ relu = {
        "linear_cublaslt", "relu+add", "baseline", ASSAY_DTYPE_BF16, 33, 96, 48};
    o = run_case(bed, &relu, &first);
    product = &bed->launches[first];
    assert_string_equal(word(product, 3), "alone"); /* it would come before the relu */
    assert_pointer(&bed->launches[first + 1], 6, o.in[2]);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* The stand-in has 4 SMs. One tile along m and n of few columns: k is shared by the blocks of a
 * cluster, as long as each has a step of it. */
static void test_few_tiles_are_shared_along_k(void **state)
{
    static const struct {
        int64_t m, k, n;
        const char *split;
        int blocks;
    } rows[] = {
        {128, 8192, 128, "-DSPLIT=4", 4},
        {128, 64, 128, "-DSPLIT=1", 2},  /* one step */
        {64, 8192, 128, "-DSPLIT=1", 2}, /* few rows */
        {512, 8192, 512, "-DSPLIT=1", 4},
    };
    struct bed *bed = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct case_ c = {"linear_wgmma_cuda", "add",     "baseline", ASSAY_DTYPE_BF16,
                                rows[i].m,           rows[i].k, rows[i].n};
        int first = 0;
        run_case(bed, &c, &first);
        assert_options(&bed->launches[first], rows[i].split);
        assert_int_equal(atoi(word(&bed->launches[first], 1)), rows[i].blocks);
    }
}

/* Of few rows and codes, either sums stay in registers or x: sums of as many bands of 16 rows of W
 * as each of the 4 SMs has, unless that would give the last SM less than the others; of 8 bits from
 * 8 rows on, of 16 never. */
static void test_few_rows_hold_sums_or_x(void **state)
{
    static const struct {
        int64_t m, n;
        const char *recipe, *steps, *bands;
    } rows[] = {
        {1, 256, "int4wo-128", "-DSTEPS=0 ", "-DBANDS=4 "},
        {1, 256, "int8wo", "-DSTEPS=2 ", "-DBANDS=1 "},
        {8, 256, "int4wo-128", "-DSTEPS=0 ", "-DBANDS=4 "},
        {8, 256, "int8wo", "-DSTEPS=0 ", "-DBANDS=4 "},
        {8, 256, "baseline", "-DSTEPS=2 ", "-DBANDS=1 "},
        {16, 256, "int4wo-128", "-DSTEPS=0 ", "-DBANDS=4 "},
        {16, 512, "int4wo-128", "-DSTEPS=0 ", "-DBANDS=8 "},
        {8, 448, "int4wo-128", "-DSTEPS=2 ", "-DBANDS=1 "}, /* 7 bands are not two times 4 */
        {40, 256, "int4wo-128", "-DSTEPS=1 ", "-DBANDS=1 "},
    };
    struct bed *bed = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct case_ c = {"linear_wo_cuda", "none", rows[i].recipe, ASSAY_DTYPE_BF16,
                                rows[i].m,        4096,   rows[i].n};
        int first = 0;
        run_case(bed, &c, &first);
        assert_options(&bed->launches[first], rows[i].steps);
        assert_options(&bed->launches[first], rows[i].bands);
    }
}

static void test_autotuning_tries_all_tiles(void **state)
{
    struct bed *bed = *state;
    const struct case_ c = {
        "linear_wgmma_cuda", "rms", "baseline", ASSAY_DTYPE_BF16, 128, 1024, 128};
    static const char *const tiles[] = {"-DBLOCK_N=128 ", "-DBLOCK_N=96 ", "-DBLOCK_N=64 ",
                                        "-DSPLIT=1 ",     "-DSPLIT=2 ",    "-DSPLIT=4 "};
    int first = 0;
    worker.autotune = true;
    run_case(bed, &c, &first);
    worker.autotune = false;
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        bool found = false;
        for (int l = 0; l < first; l++)
            found |= strstr(bed->launches[l].options, tiles[i]) != NULL;
        if (!found)
            fail_msg("%s was never tried", tiles[i]);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* Those of few rows may begin while the launch before ends, and then have an SM for themselves. */
static void test_few_rows_begin_early(void **state)
{
    const struct case_ c = {"linear_wo_cuda", "none", "int4wo-128", ASSAY_DTYPE_BF16, 1, 256, 128};
    const struct case_ many = {
        "linear_wo_cuda", "none", "int4wo-128", ASSAY_DTYPE_BF16, 128, 256, 128};
    struct bed *bed = *state;
    int first;
    run_case(bed, &c, &first);
    assert_int_equal(bed->n, first + 1);
    const struct launch *l = &bed->launches[first];
    assert_string_equal(word(l, 0), "linear_small");
    assert_true(atoi(word(l, 3)) > 227 * 1024 / 2);
    assert_string_equal(word(l, 4), "early");
    for (int i = 0; i < first; i++) /* packing */
        assert_null(strstr(word(&bed->launches[i], bed->launches[i].n - 1), "early"));
    run_case(bed, &many, &first);
    for (int i = 0; i < bed->n; i++)
        assert_null(strstr(word(&bed->launches[i], bed->launches[i].n - 1), "early"));
}

/* Before compute capability 9.0 there is no such thing, and no memory is reserved for it. */
static void test_an_old_gpu_has_no_early_launches(void **state)
{
    const struct case_ c = {"linear_wo_cuda", "none", "int4wo-128", ASSAY_DTYPE_BF16, 1, 256, 128};
    int first;
    setenv("FAKE_CUDA_CAPABILITY", "80", 1);
    open_all(state);
    struct bed *bed = *state;
    run_case(bed, &c, &first);
    const struct launch *l = &bed->launches[first];
    assert_string_equal(word(l, 0), "linear_small");
    assert_true(atoi(word(l, 3)) < 227 * 1024 / 2);
    assert_string_equal(word(l, 4), "none");
    close_all(state);
    unsetenv("FAKE_CUDA_CAPABILITY");
}

static void test_what_is_not_there_says_so(void **state)
{
    static const struct {
        const char *kernel, *mode, *recipe, *reason;
        int64_t m;
    } rows[] = {
        {"linear_wgmma_cuda", "rms", "int8wo", "no norm before the product", 128},
        {"linear_wgmma_cuda", "add", "int4wo-64", "no residual behind the product", 128},
        {"linear_wo_cuda", "add", "baseline", "no residual behind the product", 8},
        {"linear_wgmma_cuda", "none", "baseline", "for 64 rows", 33},
    };
    struct bed *bed = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct case_ c = {
            rows[i].kernel, rows[i].mode, rows[i].recipe, ASSAY_DTYPE_BF16, rows[i].m, 256, 128};
        struct assay_problem p = problem_of(&c);
        struct assay_error why = {0};
        const struct assay_kernel *kernel = assay_kernel_find(bed->registry, c.kernel);
        assert_int_equal(assay_kernel_can_run(kernel, &p, &why), ASSAY_UNSUPPORTED);
        if (!strstr(why.message, rows[i].reason))
            fail_msg("%s %s %s: %s", c.kernel, c.mode, c.recipe, why.message);
    }
}

int main(void)
{
    char folder[] = "/tmp/assay-test-cuda-linear-XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    snprintf(notes, sizeof notes, "%s/launches", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("FAKE_CUDA_LAUNCHES", notes, 1);
    setenv("ASSAY_CUDA_DRIVER", FAKES "fake_cuda.so", 1);
    setenv("ASSAY_NVRTC", FAKES "fake_nvrtc.so", 1);
    setenv("ASSAY_NVML", FAKES "fake_nvml.so", 1);
    setenv("ASSAY_CUBLASLT", FAKES "fake_cublaslt.so", 1);
#define WITH_GPU(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)
    const struct CMUnitTest tests[] = {
        WITH_GPU(test_launches_of_each_mode),
        WITH_GPU(test_folded_norm),
        WITH_GPU(test_rms_weight_is_folded_into_w),
        WITH_GPU(test_quantising_gets_the_norms_weight),
        WITH_GPU(test_cublaslt_adds_the_residual_itself),
        WITH_GPU(test_few_tiles_are_shared_along_k),
        WITH_GPU(test_few_rows_hold_sums_or_x),
        WITH_GPU(test_few_rows_begin_early),
        cmocka_unit_test(test_an_old_gpu_has_no_early_launches),
        WITH_GPU(test_autotuning_tries_all_tiles),
        WITH_GPU(test_what_is_not_there_says_so),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed;
}
