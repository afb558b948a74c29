/* test_ratio_mean.c: the geometric mean of ratios: worked values, what is left out, and a
 * simulation of what its interval promises. */
#include "stats/ratio_mean.h"
#include "unit.h"

#include "base/rng.h"

#include <math.h>

static struct assay_ratio ratio_of(double ratio, double lo, double hi)
{
    return (struct assay_ratio){.n = 40, .ratio = ratio, .ci = {lo, hi}};
}

/* 1.62 [1.58 1.66], 0.926 [0.92 0.93] and 2.5 [2.3 2.9], by Python's math and statistics:
 *     exp(mean(log(r))) = 1.553657681639,
 *     exp(log(mean) - sqrt(sum(log(r / lo)^2)) / 3) = 1.509101984076,
 *     exp(log(mean) + sqrt(sum(log(hi / r)^2)) / 3) = 1.633572766447;
 * at 99.8 %, NormalDist().inv_cdf(0.999) / inv_cdf(0.975) times as wide, 1.4839909 to 1.6815135. */
static void a_worked_example(void **state)
{
    (void)state;
    struct assay_ratio rows[] = {ratio_of(1.62, 1.58, 1.66), ratio_of(0.926, 0.92, 0.93),
                                 ratio_of(2.5, 2.3, 2.9)};
    struct assay_ratio_sum sum = {0};
    struct assay_ratio mean;
    for (int i = 0; i < 3; i++)
        assert_true(assay_ratio_sum_add(&sum, &rows[i], i == 1 ? 0.015 : 0));
    assay_ratio_sum_mean(&sum, &mean);
    assert_int_equal(mean.n, 3);
    assert_near(mean.ratio, 1.553657681639, 1e-11);
    assert_near(mean.ci.lo, 1.509101984076, 1e-11);
    assert_near(mean.ci.hi, 1.633572766447, 1e-11);
    assert_near(mean.ci_frac, (1.633572766447 - 1.509101984076) / 2 / 1.553657681639, 1e-11);
    assert_true(mean.significant && mean.clear && mean.likely);
    /* 1 less 0.985 times 1.5536577 / 1.6815135 is more than 1.015 times 1.5536577 / 1.4839909 less
     * 1 */
    assert_near(mean.smallest_visible, 0.089896, 1e-5);
}

static void one_group_is_its_own_mean(void **state)
{
    (void)state;
    struct assay_ratio row = ratio_of(0.5, 0.45, 0.51), mean;
    struct assay_ratio_sum sum = {0};
    assert_true(assay_ratio_sum_add(&sum, &row, 0));
    assay_ratio_sum_mean(&sum, &mean);
    assert_near(mean.ratio, 0.5, 1e-12);
    assert_near(mean.ci.lo, 0.45, 1e-12);
    assert_near(mean.ci.hi, 0.51, 1e-12);
}

/* Twice as fast and twice as slow is as fast; four groups know it twice as well as one. */
static void gains_and_losses_cancel(void **state)
{
    (void)state;
    struct assay_ratio rows[] = {ratio_of(2, 2 / 1.02, 2 * 1.02),
                                 ratio_of(0.5, 0.5 / 1.02, 0.5 * 1.02)};
    struct assay_ratio_sum sum = {0};
    struct assay_ratio mean;
    for (int i = 0; i < 4; i++)
        assert_true(assay_ratio_sum_add(&sum, &rows[i % 2], 0));
    assay_ratio_sum_mean(&sum, &mean);
    assert_near(mean.ratio, 1, 1e-12);
    assert_near(log(mean.ci.hi), log(1.02) / 2, 1e-12);
    assert_false(mean.significant || mean.likely);
    assert_near(mean.smallest_visible, exp(log(1.02) / 2 * 1.57666) - 1, 1e-6);
}

/* Known exactly, but no further from 1 than where code happens to lie makes it. */
static void luck_is_not_averaged_away(void **state)
{
    (void)state;
    struct assay_ratio row = ratio_of(1.012, 1.0119, 1.0121), mean;
    for (int apart = 0; apart < 2; apart++) {
        struct assay_ratio_sum sum = {0};
        for (int i = 0; i < 100; i++)
            assert_true(assay_ratio_sum_add(&sum, &row, apart ? ASSAY_STATS_APART : 0));
        assay_ratio_sum_mean(&sum, &mean);
        assert_int_equal(mean.significant, !apart);
    }
    struct assay_ratio_sum sum = {0};
    row = ratio_of(1.005, 1.0049, 1.0051);
    assert_true(assay_ratio_sum_add(&sum, &row, 0));
    assay_ratio_sum_mean(&sum, &mean);
    assert_false(mean.significant);
    assert_near(mean.smallest_visible, ASSAY_STATS_EQUAL, 1e-12);
}

static void what_has_no_interval_is_left_out(void **state)
{
    (void)state;
    struct assay_ratio bad[] = {
        ratio_of(0, 0, 0),
        ratio_of((double)NAN, 1, 2),
        ratio_of((double)INFINITY, 1, (double)INFINITY),
        ratio_of(2, 0, 3),
        ratio_of(2, 1, (double)INFINITY),
        ratio_of(2, (double)NAN, 3),
        ratio_of(2, 2.1, 3),
        ratio_of(-2, -3, -1),
        ratio_of(2, 2, 2),
    };
    bad[8].n = ASSAY_STATS_FEWEST_ROUNDS - 1;
    struct assay_ratio_sum sum = {0};
    struct assay_ratio mean;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(assay_ratio_sum_add(&sum, &bad[i], 0));
    assay_ratio_sum_mean(&sum, &mean);
    assert_int_equal(mean.n, 0);
    assert_true(mean.ratio == 0 && !mean.significant);
}

/* ---- what is promised ------------------------------------------------------------------------ */

static double uniform(uint64_t seed, int64_t i)
{
    return (double)(assay_rng_at(seed, (uint64_t)i) >> 11) * 0x1p-53;
}

/* Rounds of two kernels with a long tail each, whose median ratio is `ratio`. */
static struct assay_ratio measured(uint64_t seed, double ratio, double noise, int64_t rounds)
{
    double base[64], mine[64], scratch[64];
    struct assay_ratio out;
    for (int64_t i = 0; i < rounds; i++) {
        base[i] = ratio * (1 - noise * log1p(-uniform(seed, 2 * i)));
        mine[i] = 1 - noise * log1p(-uniform(seed, 2 * i + 1));
    }
    assay_stats_ratio(base, mine, rounds, scratch, &out);
    return out;
}

/* Groups that differ much, in their ratios, noise and rounds. With equal ones the mean is 1. */
static void the_interval_covers(void **state)
{
    (void)state;
    enum { TRIES = 3000 };
    static const double ratios[] = {0.3, 1.1, 2.5, 0.9, 12, 1.0 / (0.3 * 1.1 * 2.5 * 0.9 * 12)};
    static const double noises[] = {0.02, 0.3, 0.05, 0.1, 0.05, 0.2};
    static const int64_t rounds[] = {40, 12, 20, 60, 10, 30};
    for (int n = 2; n <= 6; n += 2) {
        int covered = 0, different = 0;
        double truth = 1;
        for (int g = 0; g < n; g++)
            truth *= pow(ratios[g], 1.0 / n);
        for (uint64_t i = 0; i < TRIES; i++) {
            struct assay_ratio_sum sum = {0};
            struct assay_ratio mean;
            for (int g = 0; g < n; g++) {
                struct assay_ratio r = measured(8 * i + (uint64_t)g + 100000 * (uint64_t)n,
                                                ratios[g], noises[g], rounds[g]);
                assert_true(assay_ratio_sum_add(&sum, &r, 0));
            }
            assay_ratio_sum_mean(&sum, &mean);
            covered += mean.ci.lo <= truth && truth <= mean.ci.hi;
            different += mean.significant;
        }
        assert_true(covered >= TRIES * 94 / 100); /* 95 %, less three deviations */
        if (n == 6)                               /* they cancel: 0.2 %, and its shape */
            assert_true(different <= TRIES * 5 / 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worked_example),
        cmocka_unit_test(one_group_is_its_own_mean),
        cmocka_unit_test(gains_and_losses_cancel),
        cmocka_unit_test(luck_is_not_averaged_away),
        cmocka_unit_test(what_has_no_interval_is_left_out),
        cmocka_unit_test(the_interval_covers),
    };
    return cmocka_run_group_tests_name("ratio_mean", tests, NULL, NULL);
}
