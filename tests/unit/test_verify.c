/* test_verify.c: the reference of a problem, whole and in part, and the known-wrong outputs that
 * the check must refuse. */
#include "unit.h"

#include "base/alloc.h"
#include "bench/verify.h"
#include "tensor/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A problem with its inputs filled and memory for an output. */
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
    int64_t axes[ASSAY_MAX_AXES] = {a, b, c, 1, 1, 1, 1, 1};
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, NULL, axes, 1, &bed.problem, NULL),
                     ASSAY_OK);
    for (int32_t i = 0; i < bed.problem.n_inputs; i++) {
        bed.in[i] = calloc(1, assay_tensor_bytes(&bed.problem.inputs[i]));
        assay_op_fill(op, &bed.problem, i, bed.in[i], 5);
    }
    int64_t rows = assay_op_rows(&bed.problem), length = assay_op_row_length(&bed.problem);
    int64_t block = op->row_block ? op->row_block(&bed.problem) : 1;
    double *row = calloc((size_t)(block * length), sizeof *row);
    const void *const *in = (const void *const *)bed.in;
    bed.answer = calloc((size_t)(rows * length), sizeof *bed.answer);
    for (int64_t r = 0; r < rows / block; r++) {
        if (op->reference_blocks)
            assert_int_equal(op->reference_blocks(&bed.problem, in, &r, 1, row, NULL, NULL),
                             ASSAY_OK);
        else
            op->reference(&bed.problem, in, r, 0, length, row);
        assay_dtype_store(ASSAY_DTYPE_F32, row, bed.answer, r * block * length, block * length);
    }
    free(row);
    struct assay_reference_how how = {.seed = 9, .most = most};
    assert_int_equal(assay_reference_create(op, &bed.problem, (const void *const *)bed.in, &how,
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

static void assert_described(struct bed *bed, const char *when, const char *want)
{
    char text[200];
    struct assay_comparison c;
    assay_reference_compare(bed->reference, bed->answer, &c);
    assay_reference_describe(bed->reference, &c, when, text, sizeof text);
    assert_string_equal(text, want);
}

/* Where it is, what was allowed there, and how far off the worst is. */
static void test_a_mismatch_is_described(void **state)
{
    (void)state;
    struct bed bed = make_named("relu", 3, 5, 7, 1 << 20);
    bed.answer[50] = bed.answer[104] = 100;
    bed.answer[60] = NAN;
    struct assay_comparison c;
    assay_reference_compare(bed.reference, bed.answer, &c);
    assert_int_equal(c.first_mismatch, 50);
    char want[200], within[40] = "exactly"; /* where 0 is expected */
    if (c.first_allowed > 0)
        snprintf(within, sizeof within, "within %.2g", c.first_allowed);
    assert_near(c.first_allowed, fabs(c.first_ref) * 1e-6, 1e-6);
    snprintf(want, sizeof want,
             "3 of 105 wrong after timing, first at [1,2,1]: got 100, expected %.6g (%s), greatest "
             "error %.3g",
             c.first_ref, within, c.max_abs);
    assert_true(c.max_abs > 90 && c.max_abs <= 100);
    assert_described(&bed, " after timing", want);
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
        struct assay_reference_how how = {.seed = seed, .most = 2048};
        assert_int_equal(assay_reference_create(bed.op, &bed.problem, (const void *const *)bed.in,
                                                &how, &bed.reference, NULL),
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

/* One class has the probability 1 whatever the logits: zero is the right output, so it proves
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

/* ---- bit for bit, recipes, second outputs ---------------------------------------------------- */

/* y = x / 3 in double: nothing the output's type can hold. */
static void thirds(const struct assay_problem *p, const void *const *in, int64_t row, int64_t first,
                   int64_t n, double *out)
{
    (void)in;
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)(row * assay_op_row_length(p) + first + i + 1) / 3;
}

/* Exact: the right output is the value rounded once to the output's type, and its neighbour is
 * wrong; the usual tolerance takes both. */
static void check_exact(enum assay_dtype dtype)
{
    struct assay_op op = *assay_op_find("relu");
    struct assay_problem problem;
    int64_t axes[] = {1, 2, 50};
    double right[100];
    uint32_t stored[100]; /* large enough for any of the types */
    op.reference = thirds;
    assert_int_equal(assay_op_problem(&op, dtype, NULL, axes, 1, &problem, NULL), ASSAY_OK);
    thirds(&problem, NULL, 0, 0, 100, right);
    for (int exact = 0; exact < 2; exact++) {
        struct assay_reference_how how = {.most = 1 << 20, .exact = exact};
        struct assay_comparison c;
        assay_reference *reference = NULL;
        assert_int_equal(assay_reference_create(&op, &problem, NULL, &how, &reference, NULL),
                         ASSAY_OK);
        assay_dtype_store(dtype, right, stored, 0, 100);
        assay_reference_compare(reference, stored, &c);
        assert_int_equal(c.mismatches, 0);
        assert_int_equal(c.compared, 100);
        if (exact)
            assert_near(c.max_abs, 0, 0);
        for (int i = 0; i < 100; i++) { /* one unit in the last place away from 0 */
            if (dtype == ASSAY_DTYPE_F32)
                stored[i]++;
            else
                ((uint16_t *)stored)[i]++;
        }
        assay_reference_compare(reference, stored, &c);
        if (exact)
            assert_int_equal(c.mismatches, 100);
        else /* of bf16 some are more than a unit away from the value itself */
            assert_true(c.mismatches < 100);
        assay_reference_destroy(reference);
    }
}

static void test_exact_means_the_value_rounded_once(void **state)
{
    (void)state;
    check_exact(ASSAY_DTYPE_F32);
    check_exact(ASSAY_DTYPE_BF16);
    check_exact(ASSAY_DTYPE_F16);
}

/* Integers have no tolerance to begin with. */
static void test_integers_are_compared_as_they_are(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("linear");
    struct assay_problem problem;
    int64_t axes[] = {2, 3, 2};
    static const int8_t x[] = {127, -127, 1, 2, 3, 4}, w[] = {127, 127, 127, -127, 127, 0};
    const void *in[] = {x, w};
    int32_t y[] = {127, -2 * 127 * 127, 9 * 127, 127};
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_S8, NULL, axes, 1, &problem, NULL), ASSAY_OK);
    problem.recipe = "baseline";
    struct assay_reference_how how = {.most = 1 << 20};
    struct assay_comparison c;
    assay_reference *reference = NULL;
    assert_int_equal(assay_reference_create(op, &problem, in, &how, &reference, NULL), ASSAY_OK);
    assay_reference_compare(reference, y, &c);
    assert_int_equal(c.mismatches, 0);
    y[3]++;
    assay_reference_compare(reference, y, &c);
    assert_int_equal(c.mismatches, 1);
    assert_int_equal(c.first_mismatch, 3);
    assay_reference_destroy(reference);
}

/* With int8wo, amax 127.5 gives a scale of 1: a weight of 2.4 is stored as 2, and that is what the
 * output is compared with. */
static void test_a_recipe_is_held_against_what_it_stores(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("linear");
    struct assay_problem problem;
    int64_t axes[] = {1, 2, 1};
    static const float x[] = {1, 10}, w[] = {127.5f, 2.4f};
    const void *in[] = {x, w};
    static const struct {
        const char *recipe;
        float y;
    } rows[] = {{"baseline", 151.5f}, {"int8wo", 147}};
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, NULL, axes, 1, &problem, NULL),
                     ASSAY_OK);
    for (int i = 0; i < 2; i++) {
        struct assay_reference_how how = {.most = 1 << 20};
        struct assay_comparison c;
        assay_reference *reference = NULL;
        problem.recipe = rows[i].recipe;
        assert_int_equal(assay_reference_create(op, &problem, in, &how, &reference, NULL),
                         ASSAY_OK);
        assay_reference_compare(reference, &rows[i].y, &c);
        assert_int_equal(c.mismatches, 0);
        assay_reference_compare(reference, &rows[1 - i].y, &c);
        assert_int_equal(c.mismatches, 1);
        assay_reference_destroy(reference);
    }
}

static struct assay_tolerance loose(const struct assay_problem *p)
{
    (void)p;
    return (struct assay_tolerance){.absolute = 0.5};
}

/* Output 1 has its own shape, reference and tolerance. */
static void test_a_second_output_is_compared_too(void **state)
{
    (void)state;
    struct assay_op op = *assay_op_find("relu");
    struct assay_problem problem;
    int64_t axes[] = {1, 2, 50};
    op.more[0].reference = thirds;
    op.more[0].tolerance = loose;
    assert_int_equal(assay_op_problem(&op, ASSAY_DTYPE_F32, NULL, axes, 1, &problem, NULL),
                     ASSAY_OK);
    problem.n_outputs = 2;
    problem.outputs[1] = (struct assay_tensor){.dtype = ASSAY_DTYPE_F32, .rank = 1, .dims = {7}};
    struct assay_reference_how how = {.most = 1 << 20, .output = 1};
    struct assay_comparison c;
    assay_reference *reference = NULL;
    assert_int_equal(assay_reference_create(&op, &problem, NULL, &how, &reference, NULL), ASSAY_OK);
    assert_int_equal(assay_reference_of(reference), 7);
    assert_int_equal(assay_reference_compared(reference), 7);
    float got[7];
    for (int i = 0; i < 7; i++)
        got[i] = (float)(i + 1) / 3 + 0.4f;
    assay_reference_compare(reference, got, &c);
    assert_int_equal(c.mismatches, 0);
    got[6] += 0.2f;
    assay_reference_compare(reference, got, &c);
    assert_int_equal(c.first_mismatch, 6);
    assay_reference_destroy(reference);
}

/* What a reference costs is bounded: 2 k operations for each element of a linear's output. */
static void test_a_costly_answer_is_compared_in_part(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        int64_t axes[3], most;
    } rows[] = {
        {"relu", {64, 64, 64}, ASSAY_VERIFY_MOST},
        {"relu", {1024, 1024, 64}, 1 << 20},
        {"linear", {64, 16, 64}, ASSAY_VERIFY_MOST},
        {"linear", {64, 125, 64}, 1000000},
        {"linear", {64, 4096, 64}, 30517},
        {"linear", {4096, 12500, 4096}, 10000},
        {"linear", {64, 1 << 16, 64}, 4096},
        {"linear", {1, 1 << 20, 1}, 476},
        {"linear", {4096, 1, 4096}, ASSAY_VERIFY_MOST},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct assay_op *op = assay_op_find(rows[i].op);
        struct assay_problem problem;
        assert_int_equal(
            assay_op_problem(op, ASSAY_DTYPE_BF16, NULL, rows[i].axes, 1, &problem, NULL),
            ASSAY_OK);
        assert_int_equal(assay_reference_most(op, &problem, 0), rows[i].most);
    }
}

/* With few elements allowed, pieces are short, so that they still come from many rows: a mistake in
 * one row of y in eight is met, and so is one in one column in sixteen. */
static void test_a_small_part_still_meets_rows_and_columns(void **state)
{
    (void)state;
    struct bed bed = make_named("linear", 512, 8, 512, 4096);
    assert_int_equal(assay_reference_compared(bed.reference), 4096);
    for (int start = 0; start < 8; start++) {
        float *spoilt = malloc((size_t)512 * 512 * sizeof *spoilt);
        struct assay_comparison c;
        assert_non_null(spoilt);
        for (int what = 0; what < 2; what++) {
            memcpy(spoilt, bed.answer, (size_t)512 * 512 * sizeof *spoilt);
            for (int64_t i = start; i < 512; i += what ? 16 : 8)
                for (int64_t j = 0; j < 512; j++)
                    spoilt[what ? j * 512 + i : i * 512 + j] += 1;
            assay_reference_compare(bed.reference, spoilt, &c);
            assert_true(c.mismatches > 0);
        }
        free(spoilt);
    }
    strip_bed(&bed);
}

static void fail_each_allocation(struct bed *bed, const char *recipe)
{
    struct assay_reference_how how = {.most = 1 << 20, .exact = true};
    enum assay_status status = ASSAY_ERR_NOMEM;
    bed->problem.recipe = recipe;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct assay_error err = {0};
        assay_reference *reference = NULL;
        assay_alloc_fail_after(nth);
        status = assay_reference_create(bed->op, &bed->problem, (const void *const *)bed->in, &how,
                                        &reference, &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        assert_int_equal(reference != NULL, status == ASSAY_OK);
        assay_reference_destroy(reference);
        assert_true(nth < 50);
    }
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    static const char *const recipes[] = {"baseline", "int8wo", "int8dq", "int4wo-32",
                                          "float8dq-tensor"};
    struct bed relu = make_named("relu", 3, 5, 7, 1 << 20);
    struct bed linear = make_named("linear", 3, 64, 7, 1 << 20);
    fail_each_allocation(&relu, NULL);
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++)
        fail_each_allocation(&linear, recipes[i]);
    strip_bed(&relu);
    strip_bed(&linear);
}

/* What is copied is what is compared, in its place, and nothing else. */
static void test_what_is_compared_can_be_copied(void **state)
{
    (void)state;
    struct bed bed = make_named("softmax", 4, 64, 100, 6400);
    struct assay_reference_how how = {.seed = 9, .most = 6400, .share = 8};
    assay_reference *part = NULL;
    assert_int_equal(assay_reference_create(bed.op, &bed.problem, (const void *const *)bed.in, &how,
                                            &part, NULL),
                     ASSAY_OK);
    assert_true(assay_reference_compared(part) <= 800);
    assert_true(assay_reference_compared(part) >= 400);
    enum { COUNT = 4 * 64 * 100 };
    float *copy = calloc(COUNT, sizeof *copy);
    assert_non_null(copy);
    struct assay_comparison c;
    assay_reference_compare(part, copy, &c);
    assert_int_equal(c.mismatches, c.compared);
    assay_reference_copy(part, bed.answer, copy);
    assay_reference_compare(part, copy, &c);
    assert_int_equal(c.mismatches, 0);
    int64_t copied = 0;
    for (int64_t i = 0; i < COUNT; i++)
        copied += copy[i] != 0;
    assert_int_equal(copied, assay_reference_compared(part));
    free(copy);
    assay_reference_destroy(part);
    strip_bed(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_small_output_is_compared_whole),
        cmocka_unit_test(test_a_mismatch_is_described),
        cmocka_unit_test(test_a_large_output_is_compared_in_part),
        cmocka_unit_test(test_the_part_follows_the_seed),
        cmocka_unit_test(test_known_wrong_answers_are_refused),
        cmocka_unit_test(test_one_element_is_enough_for_relu),
        cmocka_unit_test(test_a_cross_entropy_of_one_class_cannot_be_trusted),
        cmocka_unit_test(test_each_control_speaks_up),
        cmocka_unit_test(test_exact_means_the_value_rounded_once),
        cmocka_unit_test(test_integers_are_compared_as_they_are),
        cmocka_unit_test(test_a_recipe_is_held_against_what_it_stores),
        cmocka_unit_test(test_a_second_output_is_compared_too),
        cmocka_unit_test(test_a_costly_answer_is_compared_in_part),
        cmocka_unit_test(test_a_small_part_still_meets_rows_and_columns),
        cmocka_unit_test(test_what_is_compared_can_be_copied),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
