/* test_estimate.c: what groups are thought to take: budgets, rounds, long calls, memory, and what
 * is not known. No ceilings, unless a test makes some. */
#include "temporary.h"

#include "bench/estimate.h"
#include "device/cpu/cpu_info.h"
#include "device/device.h"
#include "model/model.h"

static struct assay_plan plan;

/* softmax of [8, 512, 64] in f32 on a CPU, hot and cold, for a second each. */
static struct assay_group *begin(void)
{
    static struct assay_group group;
    plan = (struct assay_plan){.groups = &group, .n_groups = 1};
    plan.settings = (struct assay_settings){
        .device = "cpu", .threads = 1, .hot = true, .cold = true, .budget_s = 1};
    group = (struct assay_group){
        .op = "softmax", .dtype = ASSAY_DTYPE_F32, .n_axes = 3, .axes = {8, 512, 64}};
    return &group;
}

static struct assay_estimate estimate(bool thorough)
{
    assay_estimator *estimator;
    struct assay_estimate e;
    assert_int_equal(assay_estimator_create(&plan, thorough, &estimator, NULL), ASSAY_OK);
    assert_int_equal(assay_estimate(estimator, &plan.groups[0], &e, NULL), ASSAY_OK);
    assay_estimator_destroy(estimator);
    return e;
}

static void a_group_takes_its_budget_in_each_cache_state(void **state)
{
    (void)state;
    begin();
    struct assay_estimate e = estimate(false);
    assert_true(e.known && e.fits && !e.has_ceilings);
    assert_true(e.timing_s == 2 && e.call_ns == 0);
    assert_true(e.setup_s > 0);
    assert_true(e.bytes >= 2 * 4 * 8 * 512 * 64);
    assert_true(e.variants >= 2); /* native and ref at the least */
    plan.settings.cold = false;
    assert_true(estimate(false).timing_s == 1);
}

static void fixed_rounds_take_no_budget(void **state)
{
    (void)state;
    begin();
    plan.settings.rounds = 10;
    assert_true(estimate(false).timing_s < 0.5);
    plan.settings.rounds = 100000;
    assert_true(estimate(false).timing_s > 10);
}

static void variants_are_those_that_were_asked_for(void **state)
{
    (void)state;
    struct assay_group *group = begin();
    assay_strings_add(&plan.settings.implementations, "ref");
    assert_int_equal(estimate(false).variants, 1);
    assert_int_equal(estimate(true).variants, 1);
    assay_strings_fini(&plan.settings.implementations);
    snprintf(group->op, sizeof group->op, ASSAY_MODEL_PREFIX "linear");
    assay_strings_split(&plan.settings.recipes, "baseline,int8wo");
    assert_int_equal(estimate(false).variants, 4);
    snprintf(group->compile, sizeof group->compile, "false");
    assert_int_equal(estimate(false).variants, 2);
    assay_strings_fini(&plan.settings.recipes);
}

static void what_does_not_fit_is_known(void **state)
{
    (void)state;
    begin();
    plan.settings.memory_limit = 1 << 20;
    assert_false(estimate(false).fits);
    assert_false(estimate(true).fits);
}

/* Calls of a second: the fewest rounds take longer than the budget. */
static void long_calls_take_what_they_take(void **state)
{
    (void)state;
    struct assay_group *group = begin();
    struct assay_ceilings ceilings = {.threads = 1,
                                      .n_levels = 1,
                                      .levels = {{"memory", SIZE_MAX}},
                                      .n_points = 1,
                                      .points = {{.bytes = 1 << 30}}};
    for (int i = 0; i < ASSAY_PROBE_STREAMS; i++)
        ceilings.points[0].rates[i] = 1e6;
    snprintf(ceilings.device, sizeof ceilings.device, "%.63s",
             assay_cpu_info()->model[0] ? assay_cpu_info()->model : "cpu");
    assert_int_equal(assay_ceilings_save(&ceilings, NULL), ASSAY_OK);
    struct assay_estimate from_outside = estimate(false), inside = estimate(true);
    assert_true(from_outside.has_ceilings && inside.has_ceilings);
    assert_true(from_outside.call_ns > 1e9 && from_outside.call_ns < 1e10);
    assert_true(inside.call_ns == from_outside.call_ns);
    assert_true(from_outside.timing_s > 20);
    group->axes[0] = 16;
    assert_true(estimate(false).call_ns > 1.9 * from_outside.call_ns);
}

static void what_only_its_author_knows_has_its_budget(void **state)
{
    (void)state;
    struct assay_group *group = begin();
    snprintf(group->op, sizeof group->op, ASSAY_WORKLOAD_PREFIX "Silu.large");
    group->dtype = ASSAY_DTYPE_NONE;
    struct assay_estimate e = estimate(false);
    assert_true(!e.known && e.fits && e.timing_s == 2);
}

static void sizes_an_op_cannot_have_are_told(void **state)
{
    (void)state;
    struct assay_error err = {0};
    struct assay_estimate e;
    assay_estimator *estimator;
    begin()->axes[1] = 0;
    assert_int_equal(assay_estimator_create(&plan, false, &estimator, &err), ASSAY_OK);
    assert_int_equal(assay_estimate(estimator, &plan.groups[0], &e, &err), ASSAY_ERR_INVALID);
    assert_string_equal(err.where, "softmax");
    assay_estimator_destroy(estimator);
    assay_strings_add(&plan.settings.recipes, "int3");
    assert_int_equal(assay_estimator_create(&plan, false, &estimator, &err), ASSAY_ERR_INVALID);
    assay_strings_fini(&plan.settings.recipes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_takes_its_budget_in_each_cache_state),
        cmocka_unit_test(fixed_rounds_take_no_budget),
        cmocka_unit_test(variants_are_those_that_were_asked_for),
        cmocka_unit_test(what_does_not_fit_is_known),
        cmocka_unit_test(what_only_its_author_knows_has_its_budget),
        cmocka_unit_test(sizes_an_op_cannot_have_are_told),
        cmocka_unit_test(long_calls_take_what_they_take),
    };
    return cmocka_run_group_tests(tests, temporary_make, temporary_remove);
}
