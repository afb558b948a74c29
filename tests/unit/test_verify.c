/* test_verify.c: the reference of a problem, whole and in part, and the known-wrong answers that
 * the check must refuse. */
#include "unit.h"

#include "base/alloc.h"
#include "bench/verify.h"
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

/* A problem with its inputs filled and room for an answer. */
struct bed {
    const struct assay_op *op;
    struct assay_problem problem;
    void *in[ASSAY_MAX_INPUTS];
    float *answer;
    assay_reference *reference;
};

static struct bed make_bed(const struct assay_op *op, int64_t a, int64_t b, int64_t c, int64_t most)
{
    struct bed bed = {.op = op};
    int64_t axes[ASSAY_MAX_AXES] = {a, b, c};
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, NULL, axes, 1, &bed.problem, NULL), ASSAY_OK);
    for (int32_t i = 0; i < bed.problem.n_inputs; i++) {
        bed.in[i] = calloc(1, assay_tensor_bytes(&bed.problem.inputs[i]));
        assay_op_fill(op, &bed.problem, i, bed.in[i], 5);
    }
    int64_t rows = assay_op_rows(&bed.problem), length = assay_op_row_length(&bed.problem);
    double *row = calloc((size_t)length, sizeof *row);
    bed.answer = calloc((size_t)(rows * length), sizeof *bed.answer);
    for (int64_t r = 0; r < rows; r++) {
        op->reference(&bed.problem, (const void *const *)bed.in, r, 0, length, row);
        assay_dtype_store(ASSAY_DTYPE_F32, row, bed.answer, r * length, length);
    }
    free(row);
    assert_int_equal(assay_reference_create(op, &bed.problem, (const void *const *)bed.in, 9, most,
                                            &bed.reference, NULL),
                     ASSAY_OK);
    return bed;
}

static struct bed make_named(const char *op, int64_t a, int64_t b, int64_t c, int64_t most)
{
    return make_bed(assay_op_find(op), a, b, c, most);
}

static void strip_bed(struct bed *bed)
{
    assay_reference_destroy(bed->reference);
    for (int32_t i = 0; i < bed->problem.n_inputs; i++)
        free(bed->in[i]);
    free(bed->answer);
}

static int64_t mismatches(const struct bed *bed)
{
    struct assay_comparison c;
    assay_reference_compare(bed->reference, bed->answer, &c);
    assert_int_equal(c.compared, assay_reference_compared(bed->reference));
    return c.mismatches;
}

static void test_a_small_output_is_compared_whole(void **state)
{
    (void)state;
    struct bed bed = make_named("relu", 3, 5, 7, 1 << 20);
    assert_int_equal(assay_reference_compared(bed.reference), 105);
    assert_int_equal(assay_reference_of(bed.reference), 105);
    assert_int_equal(mismatches(&bed), 0);
    for (int i = 0; i < 105; i++) {
        struct assay_comparison c;
        float held = bed.answer[i];
        bed.answer[i] = i % 2 ? NAN : held + 1;
        assay_reference_compare(bed.reference, bed.answer, &c);
        assert_int_equal(c.mismatches, 1);
        assert_int_equal(c.first_mismatch, i);
        assert_near(c.first_ref, (double)held, 1e-6);
        bed.answer[i] = held;
    }
    strip_bed(&bed);
}

/* Where an output is compared in part, both ends of it are among the part, and no element twice. */
static void check_part(const char *op, int64_t a, int64_t b, int64_t c, int64_t most)
{
    struct bed bed = make_named(op, a, b, c, most);
    int64_t total = a * b * c, compared = assay_reference_compared(bed.reference);
    assert_int_equal(assay_reference_of(bed.reference), total);
    assert_true(compared <= most && compared >= most / 2 && compared < total);
    assert_int_equal(mismatches(&bed), 0);
    const int64_t ends[] = {0, total - 1};
    for (int i = 0; i < 2; i++) {
        float held = bed.answer[ends[i]];
        bed.answer[ends[i]] += 1;
        assert_int_equal(mismatches(&bed), 1);
        bed.answer[ends[i]] = held;
    }
    int64_t seen = 0;
    for (int64_t i = 0; i < total; i++) {
        float held = bed.answer[i];
        bed.answer[i] = NAN;
        seen += mismatches(&bed);
        bed.answer[i] = held;
        if (total > 20000)
            i += 7;
    }
    if (total <= 20000)
        assert_int_equal(seen, compared);
    assert_true(seen > 0);
    strip_bed(&bed);
}

static void test_a_large_output_is_compared_in_part(void **state)
{
    (void)state;
    check_part("relu", 4, 8, 100, 1024);
    check_part("softmax", 16, 16, 16, 1024);
    check_part("relu", 1, 1, 10007, 1024); /* one long row */
    check_part("relu", 3, 1, 4999, 4096);
}

static void test_the_part_follows_the_seed(void **state)
{
    (void)state;
    struct bed bed = make_named("relu", 8, 8, 200, 2048);
    for (int64_t i = 0; i < 8 * 8 * 200; i += 3)
        bed.answer[i] = -5;
    int64_t first = mismatches(&bed);
    for (uint64_t seed = 9; seed < 12; seed++) {
        assay_reference_destroy(bed.reference);
        assert_int_equal(assay_reference_create(bed.op, &bed.problem, (const void *const *)bed.in,
                                                seed, 2048, &bed.reference, NULL),
                         ASSAY_OK);
        if (seed == 9)
            assert_int_equal(mismatches(&bed), first);
    }
    strip_bed(&bed);
}

static void test_known_wrong_answers_are_refused(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_op_count(); i++) {
        struct bed bed = make_bed(assay_op_at(i), 4, 6, 32, 1 << 20);
        struct assay_error why = {0};
        assert_int_equal(assay_reference_controls(bed.reference, &why), ASSAY_OK);
        memset(bed.answer, 0, assay_tensor_bytes(&bed.problem.outputs[0]));
        assert_true(mismatches(&bed) > 0);
        memset(bed.answer, 0xff, assay_tensor_bytes(&bed.problem.outputs[0]));
        assert_true(mismatches(&bed) > 0);
        strip_bed(&bed);
    }
}

static void test_one_element_is_enough_for_relu(void **state)
{
    (void)state;
    struct bed bed = make_named("relu", 1, 1, 1, 1 << 20);
    assert_int_equal(assay_reference_controls(bed.reference, NULL), ASSAY_OK);
    strip_bed(&bed);
}

/* One class has the probability 1 whatever the logits: zero is the right answer, so it proves
 * nothing. */
static void test_a_cross_entropy_of_one_class_cannot_be_trusted(void **state)
{
    (void)state;
    struct bed bed = make_named("cross_entropy", 4, 4, 1, 1 << 20);
    struct assay_error why = {0};
    assert_int_equal(assay_reference_controls(bed.reference, &why), ASSAY_UNSUPPORTED);
    assert_string_equal(why.message, "an answer of all zeros would pass the check");
    strip_bed(&bed);
}

/* Ops that cannot tell right from wrong, one for each control. */
static void all_nan(const struct assay_problem *p, const void *const *in, int64_t row,
                    int64_t first, int64_t n, double *out)
{
    (void)p, (void)in, (void)row, (void)first;
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)NAN;
}

static void nearly_one(const struct assay_problem *p, const void *const *in, int64_t row,
                       int64_t first, int64_t n, double *out)
{
    (void)p, (void)in, (void)row;
    for (int64_t i = 0; i < n; i++)
        out[i] = 1 + 1e-9 * (double)(first + i);
}

static void exactly_one(const struct assay_problem *p, const void *const *in, int64_t row,
                        int64_t first, int64_t n, double *out)
{
    (void)p, (void)in, (void)row, (void)first;
    for (int64_t i = 0; i < n; i++)
        out[i] = 1;
}

static void assert_controls(struct assay_op op, enum assay_status status, const char *message)
{
    struct bed bed = make_bed(&op, 1, 2, 16, 1 << 20);
    struct assay_error why = {0};
    assert_int_equal(assay_reference_controls(bed.reference, &why), status);
    assert_string_equal(why.message, message);
    strip_bed(&bed);
}

static void test_each_control_speaks_up(void **state)
{
    (void)state;
    struct assay_op op = *assay_op_find("relu");
    op.reference = all_nan;
    assert_controls(op, ASSAY_UNSUPPORTED, "an output that was never written would pass the check");
    op.reference = nearly_one;
    assert_controls(op, ASSAY_UNSUPPORTED,
                    "the right values in the wrong order would pass the check");
    op.reference = exactly_one;
    assert_controls(op, ASSAY_OK, "");
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    struct bed bed = make_named("relu", 3, 5, 7, 1 << 20);
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct assay_error err = {0};
        assay_reference *reference = NULL;
        assay_alloc_fail_after(nth);
        status = assay_reference_create(bed.op, &bed.problem, (const void *const *)bed.in, 0,
                                        1 << 20, &reference, &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        assert_int_equal(reference != NULL, status == ASSAY_OK);
        assay_reference_destroy(reference);
        assert_true(nth < 50);
    }
    strip_bed(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_small_output_is_compared_whole),
        cmocka_unit_test(test_a_large_output_is_compared_in_part),
        cmocka_unit_test(test_the_part_follows_the_seed),
        cmocka_unit_test(test_known_wrong_answers_are_refused),
        cmocka_unit_test(test_one_element_is_enough_for_relu),
        cmocka_unit_test(test_a_cross_entropy_of_one_class_cannot_be_trusted),
        cmocka_unit_test(test_each_control_speaks_up),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
