/* test_openblas.c: the openblas kernel against a plain product. Skips itself where the library is
 * missing. */
#include "contender.h"

#include "device/cpu/cpu_info.h"
#include "kernel/openblas/openblas.h"
#include "op/op.h"

#include <dirent.h>
#include <omp.h>
#include <sched.h>

extern const struct assay_kernel assay_kernel_linear_openblas;
static const struct assay_kernel *const kernel = &assay_kernel_linear_openblas;

static const struct assay_openblas_api *library(void)
{
    const struct assay_openblas_api *blas;
    struct assay_error why = {0};
    if (assay_openblas_api(&blas, &why) != ASSAY_OK) {
        print_message("%s\n", why.message);
        skip();
    }
    return blas;
}

static void a_named_file_that_is_not_there(void)
{
    struct assay_error why = {0};
    char text[64] = "untouched";
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_F32, "", 2, 3, 4);
    setenv("ASSAY_OPENBLAS", "/nowhere/libopenblas.so", 1);
    CHECK(assay_kernel_can_run(kernel, NULL, &why) == ASSAY_UNSUPPORTED);
    CHECK(strcmp(why.where, "ASSAY_OPENBLAS") == 0);
    CHECK(strstr(why.message, "/nowhere/libopenblas.so"));
    CHECK(assay_kernel_can_run(kernel, &problem, NULL) == ASSAY_UNSUPPORTED);
    kernel->note(&problem, text, sizeof text);
    CHECK(strcmp(text, "untouched") == 0);
    CHECK(assay_openblas_text()[0] == '\0');
}

static void a_library_without_the_functions(void)
{
    struct assay_error why = {0};
    setenv("ASSAY_OPENBLAS", "libm.so.6", 1);
    CHECK(assay_kernel_can_run(kernel, NULL, &why) == ASSAY_UNSUPPORTED);
    CHECK(strcmp(why.message, "libopenblas has no function openblas_get_config") == 0);
}

static void a_missing_library_is_unsupported(void **state)
{
    (void)state;
    in_another_process(a_named_file_that_is_not_there);
    in_another_process(a_library_without_the_functions);
}

/* Whatever CPU this is, the library uses its vectors, and the environment is as it was. */
static void opening_it(void)
{
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_THREAD_TIMEOUT");
    setenv("OPENBLAS_NUM_THREADS", "7", 1);
    const struct assay_openblas_api *blas;
    if (assay_openblas_api(&blas, NULL) != ASSAY_OK)
        return;
    if (assay_cpu_has(ASSAY_CPU_AVX2))
        CHECK(strcmp(blas->get_corename(), "Prescott") != 0);
    if (assay_cpu_has(ASSAY_CPU_AVX512))
        CHECK(strcmp(blas->get_corename(), "Haswell") != 0);
    CHECK(strstr(assay_openblas_text(), blas->get_corename()));
    CHECK(!getenv("OPENBLAS_CORETYPE"));
    CHECK(!getenv("OPENBLAS_THREAD_TIMEOUT"));
    const char *threads = getenv("OPENBLAS_NUM_THREADS");
    CHECK(threads && strcmp(threads, "7") == 0);
    CHECK(blas->get_num_threads() == 1); /* none but this one until a problem asks for them */
}

static void opening_it_as_the_user_says(void)
{
    setenv("OPENBLAS_CORETYPE", "NEHALEM", 1);
    const struct assay_openblas_api *blas;
    if (assay_openblas_api(&blas, NULL) != ASSAY_OK)
        return;
    CHECK(strcmp(blas->get_corename(), "Nehalem") == 0);
    CHECK(strstr(assay_openblas_text(), "core Nehalem (OPENBLAS_CORETYPE=NEHALEM)"));
}

static void the_library_is_told_about_the_cpu(void **state)
{
    (void)state;
    in_another_process(opening_it);
    in_another_process(opening_it_as_the_user_says);
}

static void the_answers_are_right(void **state)
{
    (void)state;
    const struct assay_openblas_api *blas = library();
    check_linear_shapes(kernel, ASSAY_DTYPE_F32);
    check_linear(kernel, ASSAY_DTYPE_F32, "", 64, 300, 500); /* enough for two threads */
    check_linear(kernel, ASSAY_DTYPE_F32, "", 1, 300, 5000);
    if (blas->sbgemm)
        check_linear_shapes(kernel, ASSAY_DTYPE_BF16);
}

static void threads_are_the_problems(void **state)
{
    (void)state;
    const struct assay_openblas_api *blas = library();
    if (blas->get_parallel() != ASSAY_OPENBLAS_THREADS)
        skip();
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_F32, "", 2, 3, 4);
    struct operands operands;
    make_operands(assay_op_find("linear"), &problem, 1, &operands);
    struct assay_args set = {operands.in, operands.out};
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &set};
    void *own[3] = {0};
    for (int i = 0; i < 3; i++) {
        problem.threads = i + 1;
        assert_int_equal(kernel->setup(&problem, &own[i], NULL), ASSAY_OK);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kernel->run(own[i], &work), ASSAY_OK);
        assert_int_equal(blas->get_num_threads(), i + 1);
        check_product(kernel->name, &problem, operands.in, operands.out[0]);
        kernel->teardown(own[i]);
    }
    free_operands(&operands);
}

/* Of all threads of this process, the number of those that may use only this core. */
static int threads_on(int core)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks);
    for (struct dirent *task = readdir(tasks); task; task = readdir(tasks)) {
        cpu_set_t cores;
        pid_t id = (pid_t)strtol(task->d_name, NULL, 10);
        if (id > 0 && sched_getaffinity(id, sizeof cores, &cores) == 0)
            n += CPU_COUNT(&cores) == 1 && CPU_ISSET(core, &cores);
    }
    closedir(tasks);
    return n;
}

/* As the CPU device does it. */
static void pin_this_thread_to(int core)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

static void pinning_and_the_pool(void)
{
    cpu_set_t all;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    int cores[2] = {-1, -1}, n = 0;
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
        if (CPU_ISSET(i, &all))
            cores[n++] = i;
    const struct assay_openblas_api *blas;
    if (n < 2 || assay_openblas_api(&blas, NULL) != ASSAY_OK ||
        blas->get_parallel() != ASSAY_OPENBLAS_THREADS)
        return;
#pragma omp parallel num_threads(2)
    pin_this_thread_to(cores[omp_get_thread_num()]);
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_F32, "", 2, 3, 4);
    void *own = NULL;
    int before[2] = {threads_on(cores[0]), threads_on(cores[1])};
    CHECK(kernel->setup(&problem, &own, NULL) == ASSAY_OK);
    CHECK(threads_on(cores[0]) == before[0]);
    CHECK(threads_on(cores[1]) == before[1] + 1);
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    CHECK(CPU_COUNT(&all) == 1 && CPU_ISSET(cores[0], &all));
    kernel->teardown(own);
}

static void its_threads_are_pinned_as_openmps_are(void **state)
{
    (void)state;
    in_another_process(pinning_and_the_pool);
}

static void expect_unsupported(const struct assay_problem *problem, const char *reason)
{
    struct assay_error why = {0};
    assert_int_equal(assay_kernel_can_run(kernel, problem, &why), ASSAY_UNSUPPORTED);
    assert_string_equal(why.message, reason);
}

static void what_it_does_not_have_is_said(void **state)
{
    (void)state;
    const struct assay_openblas_api *blas = library();
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_F32, "", 2, 3, 4);
    assert_int_equal(assay_kernel_can_run(kernel, &problem, NULL), ASSAY_OK);
    problem.recipe = NULL;
    assert_int_equal(assay_kernel_can_run(kernel, &problem, NULL), ASSAY_OK);
    problem.recipe = "int8wo";
    expect_unsupported(&problem, "only the baseline, no int8wo");
    problem = linear_problem(ASSAY_DTYPE_F32, "bias", 2, 3, 4);
    expect_unsupported(&problem, "OpenBLAS has no bias and no activations");
    problem = linear_problem(ASSAY_DTYPE_F32, "gelu", 2, 3, 4);
    expect_unsupported(&problem, "OpenBLAS has no bias and no activations");
    problem = linear_problem(ASSAY_DTYPE_F32, "", 1, 1, INT64_C(3000000000));
    expect_unsupported(&problem, "OpenBLAS counts in 32 bits: 3000000000 is too large");
    problem = linear_problem(ASSAY_DTYPE_S8, "", 2, 3, 4);
    expect_unsupported(&problem, "no s8");
    problem = linear_problem(ASSAY_DTYPE_BF16, "", 2, 3, 4);
    if (!blas->sbgemm)
        expect_unsupported(&problem, "this OpenBLAS has no sbgemm");
}

static void the_note_names_version_core_and_function(void **state)
{
    (void)state;
    const struct assay_openblas_api *blas = library();
    char text[128] = "", want[64];
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_F32, "", 1, 3, 4);
    kernel->note(&problem, text, sizeof text);
    snprintf(want, sizeof want, ", core %s", blas->get_corename());
    assert_memory_equal(text, "OpenBLAS 0.", 11);
    assert_non_null(strstr(text, want));
    assert_non_null(strstr(text, ", sgemv"));
    problem = linear_problem(ASSAY_DTYPE_F32, "", 2, 3, 4);
    kernel->note(&problem, text, sizeof text);
    assert_non_null(strstr(text, ", sgemm"));
}

static void a_failed_setup_leaves_nothing(void **state)
{
    (void)state;
    library();
    struct assay_problem problem = linear_problem(ASSAY_DTYPE_BF16, "", 2, 3, 4);
    for (int64_t nth = 1; nth <= 2; nth++) { /* the state, the product in f32 */
        void *own = NULL;
        assay_alloc_fail_after(nth);
        assert_int_equal(kernel->setup(&problem, &own, NULL), ASSAY_ERR_NOMEM);
        assay_alloc_fail_after(0);
        assert_null(own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_library_is_unsupported), /* before it is open */
        cmocka_unit_test(the_library_is_told_about_the_cpu),
        cmocka_unit_test(its_threads_are_pinned_as_openmps_are),
        cmocka_unit_test(the_answers_are_right),
        cmocka_unit_test(threads_are_the_problems),
        cmocka_unit_test(what_it_does_not_have_is_said),
        cmocka_unit_test(the_note_names_version_core_and_function),
        cmocka_unit_test(a_failed_setup_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
