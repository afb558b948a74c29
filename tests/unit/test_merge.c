/* test_merge.c: several measurements of one variant as one row. */
#include "unit.h"

#include "record/merge.h"

#include <stdio.h>
#include <string.h>

enum { REPEATS = 3 };

struct bed {
    struct assay_record records[REPEATS], merged;
    const struct assay_record *list[REPEATS];
};

static void make_bed(struct bed *bed, const double *medians, const double *ratios)
{
    *bed = (struct bed){0};
    for (int i = 0; i < REPEATS; i++) {
        struct assay_record *r = &bed->records[i];
        struct assay_measurement *m = &r->states[ASSAY_CACHE_HOT];
        snprintf(r->kernel, sizeof r->kernel, "eager");
        m->measured = m->precise = m->has_ratio = true;
        m->time.median = medians[i];
        m->ratio = (struct assay_ratio){.n = 10,
                                        .ratio = ratios[i],
                                        .ci = {ratios[i] - 0.05, ratios[i] + 0.05},
                                        .significant = true,
                                        .clear = true,
                                        .likely = true};
        bed->list[i] = r;
    }
}

static const struct assay_measurement *merge(struct bed *bed)
{
    assay_record_merge(bed->list, REPEATS, &bed->merged);
    return &bed->merged.states[ASSAY_CACHE_HOT];
}

static void test_the_middle_one_and_the_range(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, (double[]){130, 90, 100}, (double[]){1.5, 1.2, 1.4});
    bed.records[0].states[ASSAY_CACHE_HOT].fastest = true;
    bed.records[2].states[ASSAY_CACHE_HOT].fastest = true;
    const struct assay_measurement *m = merge(&bed);
    assert_near(m->time.median, 100, 0);
    assert_int_equal(m->repeats, 3);
    assert_near(m->repeats_frac, 0.2, 1e-12); /* (130 - 90) / 2 / 100 */
    assert_near(m->ratio.ratio, 1.4, 0);
    assert_near(m->ratio.ci.lo, 1.15, 1e-12);
    assert_near(m->ratio.ci.hi, 1.55, 1e-12);
    assert_true(m->ratio.significant && m->ratio.clear && m->precise);
    assert_true(m->fastest); /* in two of three */
    assert_false(bed.merged.states[ASSAY_CACHE_COLD].measured);
}

/* Faster in one repeat and slower in another is no difference. */
static void test_repeats_that_disagree(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, (double[]){100, 100, 100}, (double[]){1.3, 0.8, 1.2});
    bed.records[1].states[ASSAY_CACHE_HOT].precise = false;
    const struct assay_measurement *m = merge(&bed);
    assert_false(m->ratio.significant || m->ratio.clear || m->ratio.likely);
    assert_false(m->precise);
    assert_near(m->repeats_frac, 0, 0);
}

static void test_one_that_failed_is_the_row(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, (double[]){1, 2, 3}, (double[]){1, 1, 1});
    bed.records[1].outcome = ASSAY_OUTCOME_CRASHED;
    snprintf(bed.records[1].reason, sizeof bed.records[1].reason, "SIGSEGV");
    bed.records[0].outcome = ASSAY_OUTCOME_SKIPPED; /* and is less bad */
    merge(&bed);
    assert_int_equal(bed.merged.outcome, ASSAY_OUTCOME_CRASHED);
    assert_string_equal(bed.merged.reason, "SIGSEGV, in 1 of 3 repeats");
}

static void test_all_that_failed_alike(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, (double[]){1, 2, 3}, (double[]){1, 1, 1});
    for (int i = 0; i < REPEATS; i++) {
        bed.records[i].outcome = ASSAY_OUTCOME_UNSUPPORTED;
        snprintf(bed.records[i].reason, sizeof bed.records[i].reason, "no AMX");
    }
    merge(&bed);
    assert_string_equal(bed.merged.reason, "no AMX");
}

static void test_one_repeat_is_itself(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, (double[]){7, 0, 0}, (double[]){1.5, 0, 0});
    assay_record_merge(bed.list, 1, &bed.merged);
    assert_near(bed.merged.states[ASSAY_CACHE_HOT].time.median, 7, 0);
    assert_int_equal(bed.merged.states[ASSAY_CACHE_HOT].repeats, 0);
}

static void test_who_is_a_repeat(void **state)
{
    (void)state;
    struct assay_record a = {.kernel = "k", .implementation = "native", .recipe = "int8wo"}, b = a;
    assert_true(assay_record_is_repeat(&a, &b));
    snprintf(b.recipe, sizeof b.recipe, "baseline");
    assert_false(assay_record_is_repeat(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_middle_one_and_the_range),
        cmocka_unit_test(test_repeats_that_disagree),
        cmocka_unit_test(test_one_that_failed_is_the_row),
        cmocka_unit_test(test_all_that_failed_alike),
        cmocka_unit_test(test_one_repeat_is_itself),
        cmocka_unit_test(test_who_is_a_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
