/* test_parts.c: outputs from a part of the work are told from those of all of it. */
#include "unit.h"

#include "bench/parts.h"
#include "bench/verify.h"

#include <stdlib.h>

struct bed {
    const struct assay_op *op;
    struct assay_problem problem;
    void *data[ASSAY_MAX_INPUTS];
    const void *in[ASSAY_MAX_INPUTS];
    assay_reference *usual;
};

static struct bed make_bed(const struct assay_op *op, enum assay_dtype dtype, int64_t a, int64_t b,
                           int64_t c, uint64_t seed)
{
    struct bed bed = {.op = op};
    int64_t axes[ASSAY_MAX_AXES] = {a, b, c, 6, 2};
    assert_int_equal(assay_op_problem(op, dtype, NULL, axes, 1, &bed.problem, NULL), ASSAY_OK);
    for (int32_t i = 0; i < bed.problem.n_inputs; i++) {
        bed.data[i] = malloc(assay_tensor_bytes(&bed.problem.inputs[i]));
        assert_non_null(bed.data[i]);
        bed.in[i] = bed.data[i];
        assay_op_fill(op, &bed.problem, i, bed.data[i], seed);
    }
    struct assay_reference_how how = {.most = 1 << 20};
    assert_int_equal(assay_reference_create(op, &bed.problem, bed.in, &how, &bed.usual, NULL),
                     ASSAY_OK);
    return bed;
}

static void strip_bed(struct bed *bed)
{
    for (int32_t i = 0; i < bed->problem.n_inputs; i++)
        free(bed->data[i]);
    assay_reference_destroy(bed->usual);
}

static double true_mean(const struct bed *bed)
{
    double mean;
    bed->op->reference(&bed->problem, bed->in, 0, 0, 1, &mean);
    return mean;
}

/* The output without the terms of [from, to) with this residue. */
static float answer_without(const struct bed *bed, int64_t from, int64_t to, int64_t step,
                            int64_t residue, bool over_counted)
{
    int64_t terms = bed->op->mean->terms(&bed->problem), counted = 0;
    double sum = 0;
    for (int64_t i = 0; i < terms; i++) {
        if (i >= from && i < to && i % step == residue)
            continue;
        sum += bed->op->mean->term(&bed->problem, bed->in, i, NULL);
        counted++;
    }
    return (float)(sum / (double)(over_counted ? counted : terms));
}

static bool accepts(const assay_reference *reference, float answer)
{
    struct assay_comparison c;
    assay_reference_compare(reference, &answer, &c);
    return c.mismatches == 0;
}

/* Every way of leaving out, on inputs that have their spikes. */
static void check_skips(const struct bed *bed, const assay_reference *reference)
{
    int64_t n = bed->op->mean->terms(&bed->problem);
    for (int counted = 0; counted < 2; counted++)
        for (int64_t share = 5; share <= 30; share += 25) {
            int64_t part = n / share;
            if (part < 3)
                continue;
            assert_false(accepts(reference, answer_without(bed, n - part, n, 1, 0, counted)));
            assert_false(accepts(reference, answer_without(bed, 0, part, 1, 0, counted)));
            assert_false(
                accepts(reference, answer_without(bed, n / 2, n / 2 + part, 1, 0, counted)));
            for (int64_t residue = 0; residue < share; residue += share / 5)
                assert_false(
                    accepts(reference, answer_without(bed, 0, n, share, residue, counted)));
        }
}

/* The mean with spikes is the one that was computed from the change alone; all of the terms are
 * accepted, parts of them are not. */
static void check_spikes(const char *name, enum assay_dtype dtype, int64_t a, int64_t b, int64_t c,
                         int pass)
{
    struct bed bed = make_bed(assay_op_find(name), dtype, a, b, c, (uint64_t)(a + b + c));
    struct assay_spikes spikes;
    struct assay_error why = {0};
    double before = true_mean(&bed);
    if (assay_spikes_choose(bed.op, &bed.problem, bed.in, 99, pass, &spikes, &why) != ASSAY_OK)
        fail_msg("%s %s %lldx%lldx%lld: %s", name, assay_dtype_name(dtype), (long long)a,
                 (long long)b, (long long)c, why.message);
    for (int64_t i = 0; i < spikes.n; i++)
        assay_dtype_store(bed.problem.inputs[spikes.changes[i].input].dtype,
                          &spikes.changes[i].value, bed.data[spikes.changes[i].input],
                          spikes.changes[i].at, 1);
    double after = true_mean(&bed);
    assert_near(after, before + spikes.mean_change, 1e-9 * after);
    assert_true(after > 1.04 * before && after < 3 * before);
    assay_reference *moved = NULL;
    assert_int_equal(
        assay_reference_moved(bed.usual, spikes.mean_change, spikes.allowed, &moved, NULL),
        ASSAY_OK);
    assert_true(accepts(moved, (float)after));
    assert_false(accepts(moved, (float)before));
    check_skips(&bed, moved);
    assay_reference_destroy(moved);
    strip_bed(&bed);
}

static void losses_from_a_part_are_rejected(void **state)
{
    (void)state;
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
    for (int64_t r = 90; r < 2500; r += r / 3) { /* and sizes that fit nothing */
        check_spikes("mse", dtypes[r % 3], 1, r, 1 + r % 7, (int)(r & 1));
        check_spikes("mse", dtypes[r % 3], 3, 1 + r % 11, r, (int)(r & 1));
        check_spikes("cross_entropy", dtypes[r % 3], 1, r, 2 + r % 17, (int)(r & 1));
    }
    for (int d = 0; d < 3; d++)
        for (int pass = 0; pass < 2; pass++) {
            if (left_out(1))
                continue;
            check_spikes("mse", dtypes[d], 1, 10, 10, pass);
            check_spikes("mse", dtypes[d], 1, 7, 100, pass);
            check_spikes("mse", dtypes[d], 3, 77, 131, pass);
            check_spikes("cross_entropy", dtypes[d], 1, 100, 10, pass);
            check_spikes("cross_entropy", dtypes[d], 5, 600, 32, pass);
        }
    check_spikes("mse", ASSAY_DTYPE_BF16, 3, 1965, 19, 0); /* as many columns as spikes */
    check_spikes("mse", ASSAY_DTYPE_BF16, 3, 1965, 23, 1);
    check_spikes("mse", ASSAY_DTYPE_F32, 2, 1000, 1000, 0); /* more than are gone through */
    check_spikes("cross_entropy", ASSAY_DTYPE_BF16, 2, 4096, 200, 0);
}

/* Without spikes a mean over millions of terms is the same with a thirtieth of them left out. */
static void usual_inputs_would_not_tell(void **state)
{
    (void)state;
    struct bed bed = make_bed(assay_op_find("mse"), ASSAY_DTYPE_F32, 4, 1000, 1000, 3);
    int64_t n = bed.op->mean->terms(&bed.problem);
    assert_true(accepts(bed.usual, answer_without(&bed, n - n / 30, n, 1, 0, true)));
    strip_bed(&bed);
}

static struct assay_tolerance loose(const struct assay_problem *p)
{
    (void)p;
    return (struct assay_tolerance){.relative = 0.2, .absolute = 0.2};
}

static void a_loose_tolerance_is_told(void **state)
{
    (void)state;
    struct assay_op op = *assay_op_find("mse");
    struct assay_spikes spikes;
    struct assay_error why = {0};
    op.tolerance = loose;
    struct bed bed = make_bed(&op, ASSAY_DTYPE_F32, 1, 100, 100, 3);
    assert_int_equal(assay_spikes_choose(&op, &bed.problem, bed.in, 1, 0, &spikes, &why),
                     ASSAY_UNSUPPORTED);
    assert_non_null(strstr(why.message, "of the terms"));
    assert_non_null(strstr(why.message, "would pass the check"));
    strip_bed(&bed);
}

static void few_terms_are_not_asked(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 14};
    for (int i = 0; i < 4; i++) {
        struct bed bed =
            make_bed(assay_op_find("cross_entropy"), ASSAY_DTYPE_F32, 1, sizes[i], 4, 3);
        struct assay_spikes spikes;
        assert_int_equal(assay_spikes_choose(bed.op, &bed.problem, bed.in, 1, 0, &spikes, NULL),
                         ASSAY_OK);
        assert_true(spikes.n >= 1 && spikes.n <= sizes[i]);
        strip_bed(&bed);
    }
}

/* ---- norms ---- */

static enum assay_status control_norm(const struct assay_op *op, enum assay_dtype dtype, int64_t a,
                                      int64_t b, int64_t c, struct assay_error *why)
{
    struct bed bed = make_bed(op, dtype, a, b, c, 5);
    enum assay_status status = assay_parts_control_norm(op, &bed.problem, bed.in, why);
    strip_bed(&bed);
    return status;
}

static void statistics_of_a_part_are_rejected(void **state)
{
    (void)state;
    static const char *const names[] = {"layernorm", "layernorm_gelu", "rmsnorm", "groupnorm"};
    static const int64_t dims[] = {2, 3, 29, 30, 768, 4096};
    for (int i = 0; i < 4; i++) {
        const struct assay_op *op = assay_op_find(names[i]);
        assert_true(op->normalised_axes > 0);
        for (int d = 0; d < 6; d++)
            for (int t = 0; t < 2; t++) {
                struct assay_error why = {0};
                enum assay_dtype dtype = t ? ASSAY_DTYPE_BF16 : ASSAY_DTYPE_F32;
                if (control_norm(op, dtype, 2, 8, dims[d], &why) != ASSAY_OK)
                    fail_msg("%s %s %lld: %s", names[i], assay_dtype_name(dtype),
                             (long long)dims[d], why.message);
            }
    }
}

/* Of so many values a part more or less would not show, but for the outliers in them. */
static void statistics_of_many_values_tell(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        struct assay_error why = {0};
        enum assay_dtype dtype = t ? ASSAY_DTYPE_BF16 : ASSAY_DTYPE_F32;
        if (control_norm(assay_op_find("rmsnorm"), dtype, 1, 1, 600000, &why) != ASSAY_OK ||
            control_norm(assay_op_find("layernorm"), dtype, 1, 2, 600000, &why) != ASSAY_OK ||
            control_norm(assay_op_find("groupnorm"), dtype, 1, 500, 400, &why) != ASSAY_OK)
            fail_msg("%s: %s", assay_dtype_name(dtype), why.message);
    }
}

static void a_norm_that_cannot_tell_says_so(void **state)
{
    (void)state;
    struct assay_op op = *assay_op_find("layernorm");
    struct assay_error why = {0};
    op.tolerance = loose;
    assert_int_equal(control_norm(&op, ASSAY_DTYPE_F32, 2, 8, 4096, &why), ASSAY_UNSUPPORTED);
    assert_string_equal(why.message, "statistics without a fifth of a row would pass the check");
    why = (struct assay_error){0};
    assert_int_equal(control_norm(assay_op_find("rmsnorm"), ASSAY_DTYPE_F32, 1, 1, 1, &why),
                     ASSAY_OK); /* of one element there is no part */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_from_a_part_are_rejected),
        cmocka_unit_test(usual_inputs_would_not_tell),
        cmocka_unit_test(a_loose_tolerance_is_told),
        cmocka_unit_test(few_terms_are_not_asked),
        cmocka_unit_test(statistics_of_many_values_tell),
        cmocka_unit_test(statistics_of_a_part_are_rejected),
        cmocka_unit_test(a_norm_that_cannot_tell_says_so),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
