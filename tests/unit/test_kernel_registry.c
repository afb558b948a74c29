/* test_kernel_registry.c: plug-ins of other ages, and who is chosen for a problem with a recipe. */
#include "runner/python.h"
#include "unit.h"

#include "base/alloc.h"
#include "device/cpu/cpu_info.h"
#include "kernel/implementation.h"
#include "kernel/kernel.h"
#include "op/op.h"

#include <stdlib.h>
#include <string.h>

#define PLUGINS ASSAY_BINARY_DIR "/plugins/"

static assay_kernel_registry *with_plugin(const char *path)
{
    struct assay_error err = {0};
    assay_kernel_registry *registry = assay_kernel_registry_create();
    assert_non_null(registry);
    if (path && assay_kernel_add_plugin(registry, path, &err) != ASSAY_OK)
        fail_msg("%s: %s (is it built?)", path, err.message);
    return registry;
}

static struct assay_problem linear_of(int64_t m, int64_t k, int64_t n, const char *recipe)
{
    struct assay_problem p;
    int64_t axes[ASSAY_MAX_AXES] = {m, k, n};
    assert_int_equal(
        assay_op_problem(assay_op_find("linear"), ASSAY_DTYPE_F32, NULL, axes, 1, &p, NULL),
        ASSAY_OK);
    p.recipe = recipe;
    return p;
}

/* ---- plug-ins of other versions -------------------------------------------------------------- */

static void test_an_older_kernel_lacks_what_came_later(void **state)
{
    (void)state;
    assay_kernel_registry *registry = with_plugin(PLUGINS "old.so");
    const struct assay_kernel *kernel = assay_kernel_find(registry, "old");
    assert_non_null(kernel);
    assert_int_equal(kernel->struct_size, sizeof *kernel); /* a whole one by now */
    assert_non_null(kernel->setup);
    assert_non_null(kernel->teardown);
    assert_true(!kernel->prepare && !kernel->prepared_bytes && !kernel->run_activations);
    assert_true(!kernel->note && kernel->units == 0);
    assay_kernel_registry_destroy(registry);
}

static void test_a_newer_kernel_is_taken_as_far_as_it_is_known(void **state)
{
    (void)state;
    assay_kernel_registry *registry = with_plugin(PLUGINS "newer.so");
    const struct assay_kernel *kernel = assay_kernel_find(registry, "newer");
    assert_non_null(kernel);
    assert_int_equal(kernel->struct_size, sizeof *kernel);
    assert_int_equal(kernel->units, ASSAY_UNIT_MATRIX);
    assay_kernel_registry_destroy(registry);
}

static void test_prepare_without_prepared_bytes_is_refused(void **state)
{
    (void)state;
    static const char *const forms[] = {"whole", "ended", "halved"};
    for (int i = 0; i < 3; i++) {
        assay_kernel_registry *registry = with_plugin(NULL);
        struct assay_error err = {0};
        setenv("ASSAY_TEST_PREPARE", forms[i], 1);
        enum assay_status status =
            assay_kernel_add_plugin(registry, PLUGINS "prepare_alone.so", &err);
        if (status != ASSAY_ERR_INVALID)
            fail_msg("the one whose struct is %s is taken", forms[i]);
        assert_string_equal(err.message,
                            "kernel \"prepare_alone\" has prepare without prepared_bytes");
        assert_null(assay_kernel_find(registry, "prepare_alone"));
        assay_kernel_registry_destroy(registry);
    }
    unsetenv("ASSAY_TEST_PREPARE");
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct assay_error err = {0};
        assay_kernel_registry *registry = with_plugin(NULL);
        assay_alloc_fail_after(nth);
        status = assay_kernel_add_plugin(registry, PLUGINS "wrong_linear.so", &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        assert_int_equal(assay_kernel_find(registry, "ignorant") != NULL, status == ASSAY_OK);
        assay_kernel_registry_destroy(registry);
        assert_true(nth < 100);
    }
}

/* ---- which kernel is chosen ------------------------------------------------------------------ */

/* The kernel chosen of an implementation; NULL where there is none. */
static const struct assay_kernel *chosen(const assay_kernel_registry *registry,
                                         const struct assay_problem *problem,
                                         const char *implementation, const char *const *excluded,
                                         int64_t n_excluded)
{
    struct assay_contender found[64];
    struct assay_kernel_choice choice = {.device = "cpu",
                                         .implementations = &implementation,
                                         .n_implementations = 1,
                                         .excluded = excluded,
                                         .n_excluded = n_excluded};
    int64_t n = assay_kernel_choose(registry, problem, &choice, found, 64);
    assert_true(n <= 1);
    if (n == 0)
        return NULL;
    assert_ptr_equal(found[0].recipe, problem->recipe);
    return found[0].status == ASSAY_OK ? found[0].kernel : NULL;
}

static void assert_chosen(const assay_kernel_registry *registry, const char *recipe,
                          const char *const *excluded, int64_t n_excluded, const char *name)
{
    struct assay_problem p = linear_of(3, 64, 5, recipe);
    const struct assay_kernel *kernel = chosen(registry, &p, "right", excluded, n_excluded);
    if (name)
        assert_string_equal(kernel ? kernel->name : "nobody", name);
    else
        assert_null(kernel);
}

static void test_an_excluded_kernel_is_represented_by_the_next(void **state)
{
    (void)state;
    static const char *const first[] = {"right/int8wo"};
    static const char *const both[] = {"RIGHT/int8wo", "right_plain/int8wo"};
    static const char *const bare[] = {"right"};
    assay_kernel_registry *registry = with_plugin(PLUGINS "wrong_linear.so");
    assert_chosen(registry, "int8wo", NULL, 0, "right");
    assert_chosen(registry, "int8wo", first, 1, "right_plain");
    assert_chosen(registry, "baseline", first, 1, "right"); /* another recipe */
    assert_chosen(registry, "int8wo", both, 2, NULL);
    assert_chosen(registry, NULL, bare, 1, NULL); /* without a recipe: neither knows what to do */
    assay_kernel_registry_destroy(registry);
}

static enum assay_status no_such_cpu(const struct assay_problem *problem, struct assay_error *why)
{
    (void)problem;
    return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "needs another CPU");
}

static enum assay_status no_such_k(const struct assay_problem *problem, struct assay_error *why)
{
    return problem ? assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "k is odd") : ASSAY_OK;
}

static enum assay_status run_nothing(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    return ASSAY_OK;
}

/* A kernel of implementation "own". */
static struct assay_kernel own_kernel(const char *name, int32_t preference)
{
    return (struct assay_kernel){
        .struct_size = sizeof(struct assay_kernel),
        .abi = ASSAY_KERNEL_ABI,
        .name = name,
        .op = "linear",
        .implementation = "own",
        .device = "cpu",
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
        .preference = preference,
        .run = run_nothing,
    };
}

/* Which of these is chosen, and why it cannot run. */
struct choice {
    const char *name;
    struct assay_error why;
};

static struct choice choose_of(const struct assay_kernel *kernels, int n)
{
    static const char *const own[] = {"own"};
    struct assay_kernel_choice choice = {
        .device = "cpu", .implementations = own, .n_implementations = 1};
    struct assay_contender found[4];
    struct assay_problem p = linear_of(3, 63, 5, "baseline");
    assay_kernel_registry *registry = with_plugin(NULL);
    for (int i = 0; i < n; i++)
        assert_int_equal(assay_kernel_add(registry, &kernels[i], "test", NULL), ASSAY_OK);
    assert_int_equal(assay_kernel_choose(registry, &p, &choice, found, 4), 1);
    struct choice one = {found[0].kernel->name, found[0].why};
    assay_kernel_registry_destroy(registry);
    return one;
}

/* Whatever CPU this is: the reason is one that another problem would not have. */
static void test_what_is_wrong_with_the_problem_is_told(void **state)
{
    (void)state;
    struct assay_kernel kernels[] = {own_kernel("low", 10), own_kernel("high", 50),
                                     own_kernel("other_type", 60)};
    kernels[0].can_run = no_such_k;
    kernels[1].can_run = no_such_cpu;
    kernels[2].dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16);
    assert_string_equal(choose_of(kernels, 3).why.message, "k is odd");
    struct assay_kernel turned[] = {kernels[2], kernels[1], kernels[0]};
    assert_string_equal(choose_of(turned, 3).why.message, "k is odd");
    assert_string_equal(choose_of(kernels + 1, 1).why.message, "needs another CPU");
}

static void test_dot_products_go_first_where_they_are_fast(void **state)
{
    (void)state;
    struct assay_kernel kernels[] = {own_kernel("fma", 30), own_kernel("dot", 25)};
    kernels[1].flags = ASSAY_KERNEL_BF16_DOT;
    bool fast = assay_cpu_info()->fast_bf16_dot;
    assert_string_equal(choose_of(kernels, 2).name, fast ? "dot" : "fma");
}

static void test_labels(void **state)
{
    (void)state;
    char text[64];
    assay_kernel_label("linear_amx", "int8dq", text, sizeof text);
    assert_string_equal(text, "linear_amx/int8dq");
    assay_kernel_label("relu_ref", NULL, text, sizeof text);
    assert_string_equal(text, "relu_ref");
    assay_kernel_label("relu_ref", "", text, sizeof text);
    assert_string_equal(text, "relu_ref");
    assay_kernel_label("relu_ref", "baseline", text, 6);
    assert_string_equal(text, "relu_");
}

static bool has_ref(const assay_kernel_registry *registry, const struct assay_problem *problem,
                    const struct assay_kernel_choice *choice)
{
    struct assay_contender found[64];
    int64_t n = assay_kernel_choose(registry, problem, choice, found, 64);
    for (int64_t i = 0; i < n; i++)
        if (strcmp(found[i].kernel->implementation, "ref") == 0)
            return true;
    return false;
}

/* 2 m k n operations, up to 5e6; unless it is requested. Ops other than products always have it.
 */
static void test_ref_is_left_out_of_large_products(void **state)
{
    (void)state;
    static const char *const implementation[] = {"ref"}, *const kernel[] = {"linear_ref"};
    static const char *const all[] = {"all"};
    assay_kernel_registry *registry = with_plugin(NULL);
    struct assay_kernel_choice everyone = {.device = "cpu"};
    struct assay_kernel_choice by_implementation = {
        .device = "cpu", .implementations = implementation, .n_implementations = 1};
    struct assay_kernel_choice by_name = {.device = "cpu", .kernels = kernel, .n_kernels = 1};
    struct assay_kernel_choice every_kernel = {.device = "cpu", .kernels = all, .n_kernels = 1};
    struct assay_problem small = linear_of(25, 1000, 100, "baseline"); /* 5e6 */
    struct assay_problem large = linear_of(25, 1000, 101, "baseline");
    assert_true(has_ref(registry, &small, &everyone));
    assert_false(has_ref(registry, &large, &everyone));
    assert_true(has_ref(registry, &large, &by_implementation));
    assert_true(has_ref(registry, &large, &by_name));
    assert_true(has_ref(registry, &large, &every_kernel));
    static const struct {
        const char *op;
        int64_t axes[ASSAY_MAX_AXES];
        bool has;
    } others[] = {
        {"relu", {1 << 10, 1 << 10, 1 << 10}, true},
        {"layernorm_gelu", {1 << 10, 1 << 10, 1 << 10}, true},
        {"cross_entropy", {1 << 10, 1 << 10, 1 << 10}, true},
        {"attention", {2, 64, 4, 32}, true}, /* 4.2e6 */
        {"attention", {4, 1024, 16, 64}, false},
        {"attention", {32, 16, 8, 128}, false},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct assay_problem p;
        assert_int_equal(assay_op_problem(assay_op_find(others[i].op), ASSAY_DTYPE_F32, NULL,
                                          others[i].axes, 1, &p, NULL),
                         ASSAY_OK);
        assert_true(has_ref(registry, &p, &everyone) == others[i].has);
    }
    assay_kernel_registry_destroy(registry);
}

/* From the first that others are compared with to those that never are while there is another. */
static void test_baselines_have_an_order(void **state)
{
    (void)state;
    static const char *const ops[] = {"reference", "eager", "onednn", "cublaslt",
                                      "cudnn",     "ref",   "native", NULL};
    static const char *const recipes[] = {"reference", "eager", "native", "cublaslt",
                                          "cudnn",     "ref",   "onednn", NULL};
    for (int i = 0; ops[i + 1]; i++) {
        assert_true(assay_implementation_baseline_rank(ops[i], false) >
                    assay_implementation_baseline_rank(ops[i + 1], false));
        assert_true(assay_implementation_baseline_rank(recipes[i], true) >
                    assay_implementation_baseline_rank(recipes[i + 1], true));
    }
    assert_int_equal(assay_implementation_baseline_rank("a plug-in's", false), 0);
    assert_int_equal(assay_implementation_baseline_rank("OneDNN", false),
                     assay_implementation_baseline_rank("onednn", false));
    assert_true(assay_implementation_is_own("native") && assay_implementation_is_own("cuda"));
    assert_false(assay_implementation_is_own("openblas") || assay_implementation_is_own("ref"));
}

/* A line without a kernel would be about nobody; models and workloads bring the first two. */
static void test_every_listed_implementation_has_a_kernel(void **state)
{
    (void)state;
    static const char *const names[] = {
#define ASSAY_IMPLEMENTATION(name, rank, recipes_rank, own) #name,
#include "kernel/implementation_list.h"
#undef ASSAY_IMPLEMENTATION
    };
    assay_kernel_registry *registry = assay_kernel_registry_create();
    for (size_t i = 2; i < sizeof names / sizeof names[0]; i++) {
        bool found = false;
        for (int64_t k = 0; k < assay_kernel_count(registry); k++)
            found = found || strcmp(assay_kernel_at(registry, k)->implementation, names[i]) == 0;
        if (!found && !assay_python_object_of(names[i])) /* which has them elsewhere */
            fail_msg("no kernel of %s", names[i]);
    }
    assay_kernel_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_older_kernel_lacks_what_came_later),
        cmocka_unit_test(test_a_newer_kernel_is_taken_as_far_as_it_is_known),
        cmocka_unit_test(test_prepare_without_prepared_bytes_is_refused),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
        cmocka_unit_test(test_an_excluded_kernel_is_represented_by_the_next),
        cmocka_unit_test(test_what_is_wrong_with_the_problem_is_told),
        cmocka_unit_test(test_dot_products_go_first_where_they_are_fast),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_ref_is_left_out_of_large_products),
        cmocka_unit_test(test_baselines_have_an_order),
        cmocka_unit_test(test_every_listed_implementation_has_a_kernel),
    };
    return cmocka_run_group_tests_name("kernel_registry", tests, NULL, NULL);
}
