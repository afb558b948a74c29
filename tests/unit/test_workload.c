/* The workloads of a shared object as ops with kernels. */
#include "unit.h"
#include "op/op.h"
#include "workload/contents.h"
#include "workload/workload.h"

#include <stdlib.h>
#include <string.h>

static assay_kernel_registry *registry;
static assay_workloads *workloads;

static int add_workloads(void **state)
{
    struct assay_error err = {0};
    (void)state;
    registry = assay_kernel_registry_create();
    workloads = assay_workloads_create();
    assert_int_equal(
        assay_workload_load(workloads, registry, ASSAY_BINARY_DIR "/plugins/workloads.so", &err),
        ASSAY_OK);
    return 0;
}

static int remove_registry(void **state)
{
    (void)state;
    assay_kernel_registry_destroy(registry);
    assay_workloads_destroy(workloads);
    return 0;
}

static struct assay_problem problem_of(const char *name, const struct assay_op **op)
{
    struct assay_problem problem;
    struct assay_error err = {0};
    *op = assay_workload_op(workloads, name);
    assert_non_null(*op);
    if (assay_op_problem(*op, ASSAY_DTYPE_NONE, NULL, NULL, 1, &problem, &err) != ASSAY_OK)
        fail_msg("%s: %s", name, err.message);
    return problem;
}

static void test_tensors_and_cost(void **state)
{
    const struct assay_op *op;
    struct assay_problem p = problem_of("workload:Scaled.both", &op);
    (void)state;
    assert_int_equal(p.n_inputs, 2);
    assert_int_equal(p.n_outputs, 2);
    assert_int_equal(p.inputs[0].dims[0], 3);
    assert_int_equal(p.inputs[0].dims[1], 5);
    assert_int_equal(p.inputs[1].rank, 1);
    assert_int_equal(p.dtype, ASSAY_DTYPE_F32);
    struct assay_cost cost = op->cost(&p);
    assert_true(cost.bytes_read == (15 + 5) * 4 && cost.bytes_written == (15 + 3) * 4);
    assert_true(cost.flops == 30);
    assert_false(op->unverified);
    assert_true(assay_workload_op(workloads, "workload:Scaled.alone")->unverified);
    assert_null(assay_workload_op(workloads, "workload:Scaled.other"));
}

static void test_what_the_author_says_counts(void **state)
{
    const struct assay_op *op;
    struct assay_problem p = problem_of("workload:Scaled.counted", &op);
    (void)state;
    struct assay_cost cost = op->cost(&p);
    assert_float_equal(cost.bytes_read + cost.bytes_written, 96, 1e-9);
    assert_int_equal(cost.math, ASSAY_MATH_BF16);
    struct assay_tolerance tolerance = op->tolerance(&p);
    assert_true(tolerance.relative == 0.5 && tolerance.absolute == 0.25);
    assert_false(op->absolute_of_rms);
}

static void test_reference_is_verify(void **state)
{
    const struct assay_op *op;
    struct assay_problem p = problem_of("workload:Scaled.both", &op);
    float x[15], threes[5];
    double out[15], sums[3];
    const void *in[] = {x, threes};
    (void)state;
    assay_op_fill(op, &p, 0, x, 1);
    assay_op_fill(op, &p, 1, threes, 1);
    assert_true(threes[4] == 3);
    assert_int_equal(op->reference_whole(&p, in, 0, out, NULL), ASSAY_OK);
    assert_int_equal(op->reference_whole(&p, in, 1, sums, NULL), ASSAY_OK);
    for (int i = 0; i < 15; i++)
        assert_true(out[i] == (double)(x[i] * 3));
    assert_float_equal(sums[2], out[10] + out[11] + out[12] + out[13] + out[14], 1e-5);
}

static void test_kernels(void **state)
{
    const struct assay_op *op;
    struct assay_problem p = problem_of("workload:Scaled.both", &op);
    struct assay_kernel_choice choice = {.device = "cpu"};
    struct assay_contender found[8];
    float x[15] = {2}, threes[5] = {3, 3, 3, 3, 3}, out[15], sums[3];
    const void *in[] = {x, threes};
    void *outs[] = {out, sums};
    struct assay_args args = {in, outs};
    struct assay_work work = {.iters = 2, .n_sets = 1, .sets = &args};
    (void)state;
    assert_int_equal(assay_kernel_choose(registry, &p, &choice, found, 8), 2);
    assert_string_equal(found[0].kernel->implementation, "kernel");
    assert_string_equal(found[1].kernel->implementation, "reference");
    for (int i = 0; i < 2; i++) {
        void *own = NULL;
        out[0] = 0;
        assert_int_equal(found[i].kernel->setup(&p, &own, NULL), ASSAY_OK);
        assert_int_equal(found[i].kernel->run(own, &work), ASSAY_OK);
        found[i].kernel->teardown(own);
        assert_true(out[0] == 6);
    }
    /* Without a verify on the device there is nothing to time beside it. */
    p = problem_of("workload:Scaled.alone", &op);
    assert_int_equal(assay_kernel_choose(registry, &p, &choice, found, 8), 1);
    p = problem_of("workload:Scaled.host", &op);
    assert_int_equal(assay_kernel_choose(registry, &p, &choice, found, 8), 1);
}

static void test_a_function_that_fails(void **state)
{
    const struct assay_op *op;
    struct assay_problem p = problem_of("workload:Scaled.fails", &op);
    struct assay_kernel_choice choice = {.device = "cpu"};
    struct assay_contender found[8];
    struct assay_args args = {0};
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    void *own = NULL;
    (void)state;
    assay_kernel_choose(registry, &p, &choice, found, 8);
    assert_int_equal(found[0].kernel->setup(&p, &own, NULL), ASSAY_OK);
    assert_int_equal(found[0].kernel->run(own, &work), ASSAY_ERR_FAILED);
    found[0].kernel->teardown(own);
    assert_string_equal(assay_workload_failure(&p), "run returned 41");
}

static void test_setups_that_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"workload:Refused.too_many", "more than 20 outputs"},
        {"workload:Refused.no_size", "\"out\" a size of -1"},
        {"workload:Refused.no_dtype", "\"out\" an unknown dtype"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct assay_problem p;
        struct assay_error err = {0};
        const struct assay_op *op = assay_workload_op(workloads, cases[i][0]);
        assert_int_not_equal(assay_op_problem(op, ASSAY_DTYPE_NONE, NULL, NULL, 1, &p, &err),
                             ASSAY_OK);
        assert_non_null(strstr(err.message, cases[i][1]));
    }
}

static void test_the_same_twice_is_refused(void **state)
{
    struct assay_error err = {0};
    (void)state;
    assert_int_equal(
        assay_workload_load(workloads, registry, ASSAY_BINARY_DIR "/plugins/workloads.so", &err),
        ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "already"));
}

static void test_contents(void **state)
{
    struct assay_contents *c = calloc(1, sizeof *c);
    (void)state;
    int64_t all = assay_kernel_count(registry); /* those from here on: none */
    assert_int_equal(assay_contents_list(workloads, registry, all, c, NULL), ASSAY_OK);
    assert_int_equal(c->n_kernels, 0);
    assert_int_equal(c->n_workloads, assay_workload_count(workloads));
    assert_string_equal(c->workloads[0].op, assay_workload_at(workloads, 0)->op);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_and_cost),
        cmocka_unit_test(test_what_the_author_says_counts),
        cmocka_unit_test(test_reference_is_verify),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_a_function_that_fails),
        cmocka_unit_test(test_setups_that_are_refused),
        cmocka_unit_test(test_the_same_twice_is_refused),
        cmocka_unit_test(test_contents),
    };
    return cmocka_run_group_tests(tests, add_workloads, remove_registry);
}
