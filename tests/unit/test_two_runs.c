/* test_two_runs.c: the ratio of two medians of separate runs: worked values, and simulations of
 * what its interval promises. */
#include "stats/two_runs.h"
#include "unit.h"

#include "base/rng.h"

#include <math.h>

static const struct assay_interval no_luck = {1, 1}, luck = {0.985, 1.015};

static struct assay_median median_of(double median, double lo, double hi, int64_t n)
{
    return (struct assay_median){.median = median, .ci = {lo, hi}, .n = n};
}

/* 100 [98, 103] over 80 [79, 82]: the ratio is 1.25. Below it lie ln(100 / 98) = 0.020203 of the
 * first and ln(82 / 80) = 0.024693 of the second, together 0.031905; above ln(1.03) = 0.029559 and
 * ln(80 / 79) = 0.012579, together 0.032124. So 1.25 exp(-0.031905) = 1.21075 and
 * 1.25 exp(0.032124) = 1.29081. At 99.8 % the distances are 1.57666 times as long: 0.050303 and
 * 0.050649, from 1.18867 to 1.31494. */
static void a_worked_example(void **state)
{
    (void)state;
    struct assay_median a = median_of(100, 98, 103, 40), b = median_of(80, 79, 82, 50);
    struct assay_ratio r;
    assay_stats_ratio_of_runs(&a, &b, no_luck, &r);
    assert_int_equal(r.n, 40);
    assert_near(r.ratio, 1.25, 1e-12);
    assert_near(r.ci.lo, 1.21075, 1e-5);
    assert_near(r.ci.hi, 1.29081, 1e-5);
    assert_true(r.significant && r.clear && r.likely);
    /* A ratio r moves the lower end to r 1.18867 / 1.25: above 1 from r = 1.05159 on. The upper one
     * is below 1 from 1.25 / 1.31494 = 0.95061 down, which is less far. */
    assert_near(r.smallest_visible, 0.05159, 1e-5);
}

static void the_other_way_round_is_the_inverse(void **state)
{
    (void)state;
    struct assay_median a = median_of(100, 98, 103, 40), b = median_of(80, 79, 82, 50);
    struct assay_ratio there, back;
    assay_stats_ratio_of_runs(&a, &b, luck, &there);
    assay_stats_ratio_of_runs(&b, &a, luck, &back);
    assert_near(back.ratio, 1 / there.ratio, 1e-12);
    assert_near(back.ci.lo, 1 / there.ci.hi, 1e-12);
    assert_near(back.ci.hi, 1 / there.ci.lo, 1e-12);
    assert_true(there.significant && back.significant);
}

/* 2 % apart and known to 0.1 %: 1.4 times 0.1 % wide, and 2.2 times at 99.8 %: beyond 1.5 %. */
static void luck_has_to_be_left_out_as_well(void **state)
{
    (void)state;
    struct assay_median a = median_of(102, 101.9, 102.1, 100), b = median_of(100, 99.9, 100.1, 100);
    struct assay_ratio r;
    assay_stats_ratio_of_runs(&a, &b, luck, &r);
    assert_true(r.significant);
    a = median_of(101.4, 101.3, 101.5, 100);
    assay_stats_ratio_of_runs(&a, &b, luck, &r);
    assert_false(r.significant || r.likely);
    assert_near(r.smallest_visible, 0.0174, 2e-4);
    assay_stats_ratio_of_runs(&a, &b, no_luck, &r);
    assert_true(r.significant);
    a = median_of(100.5, 100.49, 100.51, 100); /* within what counts as equal */
    b = median_of(100, 99.99, 100.01, 100);
    assay_stats_ratio_of_runs(&a, &b, no_luck, &r);
    assert_false(r.significant);
}

static void few_samples_show_nothing(void **state)
{
    (void)state;
    struct assay_median a = median_of(200, 199, 201, 9), b = median_of(100, 99, 101, 100);
    struct assay_ratio r;
    assay_stats_ratio_of_runs(&a, &b, luck, &r);
    assert_false(r.significant || r.clear);
    assert_true(r.likely);
    assert_true(isinf(r.smallest_visible));
    a.n = 10;
    assay_stats_ratio_of_runs(&a, &b, luck, &r);
    assert_true(r.significant);
}

static void medians_that_are_not_sound(void **state)
{
    (void)state;
    static const struct assay_median bad[] = {
        {.median = 0, .ci = {0, 0}},
        {.median = 10, .ci = {0, 20}},
        {.median = 10, .ci = {11, 12}},
        {.median = 10, .ci = {8, 9}},
        {.median = -10, .ci = {-20, -5}},
        {.median = (double)NAN, .ci = {1, 2}},
        {.median = 10, .ci = {5, (double)INFINITY}},
        {.median = 10, .ci = {(double)NAN, 12}},
    };
    struct assay_median good = median_of(10, 10, 10, 6);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(assay_stats_median_is_sound(&bad[i]));
    assert_true(assay_stats_median_is_sound(&good));
}

/* ---- what is promised ------------------------------------------------------------------------ */

static double uniform(uint64_t seed, int64_t i)
{
    return (double)(assay_rng_at(seed, (uint64_t)i) >> 11) * 0x1p-53;
}

/* Times with a long tail, as of a machine with neighbours: their median is `median`. */
static struct assay_median sample(uint64_t seed, double median, int64_t n)
{
    double values[200], scratch[200];
    struct assay_summary summary;
    for (int64_t i = 0; i < n; i++) {
        double u = uniform(seed, i);
        values[i] = median * (1 + 0.05 * (-log1p(-u) - 0.6931471805599453));
    }
    assay_stats_summarise(values, n, scratch, &summary);
    return median_of(summary.median, summary.median_ci.lo, summary.median_ci.hi, n);
}

static void intervals_cover_and_equals_are_equal(void **state)
{
    (void)state;
    enum { TRIES = 4000 };
    static const int64_t sizes[] = {10, 40, 150};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int covered = 0, different = 0;
        for (uint64_t i = 0; i < TRIES; i++) {
            struct assay_median a = sample(4 * i + s, 130, sizes[s]);
            struct assay_median b = sample(4 * i + s + 2000000, 100, sizes[s]);
            struct assay_median c = sample(4 * i + s + 4000000, 100, sizes[s]);
            struct assay_ratio r;
            assay_stats_ratio_of_runs(&a, &b, no_luck, &r);
            covered += r.ci.lo <= 1.3 && 1.3 <= r.ci.hi;
            assay_stats_ratio_of_runs(&b, &c, no_luck, &r);
            different += r.significant;
        }
        assert_true(covered >= TRIES * 94 / 100);   /* 95 %, less three deviations */
        assert_true(different <= TRIES * 5 / 1000); /* 0.2 %, and as much again for its shape */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worked_example),
        cmocka_unit_test(the_other_way_round_is_the_inverse),
        cmocka_unit_test(luck_has_to_be_left_out_as_well),
        cmocka_unit_test(few_samples_show_nothing),
        cmocka_unit_test(medians_that_are_not_sound),
        cmocka_unit_test(intervals_cover_and_equals_are_equal),
    };
    return cmocka_run_group_tests_name("two_runs", tests, NULL, NULL);
}
