/* test_stats.c: known samples in, known statistics out; then simulations of what the intervals
 * promise: how often they cover the truth, report a difference that is not there, and find one that
 * is. */
#include "stats/stats.h"
#include "unit.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* ---- sort ----------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void assert_sorts_like_qsort(const double *values, int64_t n)
{
    size_t bytes = (size_t)n * sizeof *values;
    double *ours = test_malloc(bytes + 1), *theirs = test_malloc(bytes + 1);
    memcpy(ours, values, bytes);
    memcpy(theirs, values, bytes);
    assay_stats_sort(ours, n);
    qsort(theirs, (size_t)n, sizeof *theirs, compare_doubles);
    assert_memory_equal(ours, theirs, bytes);
    test_free(ours);
    test_free(theirs);
}

/* A median loop in a well-known benchmark never placed its last sample, and took 5 for the median
 * of these. */
static void sort_places_the_last_sample(void **state)
{
    (void)state;
    double values[] = {5, 6, 7, 8, 4, 3, 2, 1};
    static const double want[] = {1, 2, 3, 4, 5, 6, 7, 8};
    assay_stats_sort(values, 8);
    assert_memory_equal(values, want, sizeof want);
    assert_near(assay_stats_quantile(values, 8, 0.5), 4.5, 0);
}

static void sort_takes_nothing_one_and_two(void **state)
{
    (void)state;
    double values[] = {2, 1, 7};
    assay_stats_sort(values, 0);
    assay_stats_sort(values, 1);
    assert_near(values[0], 2, 0);
    assay_stats_sort(values, 2);
    assert_near(values[0], 1, 0);
    assert_near(values[1], 2, 0);
    assert_near(values[2], 7, 0);
}

/* Heap's algorithm visits each of the 7! = 5040 orders once. */
static void sort_sorts_every_order_of_seven(void **state)
{
    (void)state;
    double order[7] = {1, 2, 3, 4, 5, 6, 7};
    int counters[7] = {0}, visited = 1;
    assert_sorts_like_qsort(order, 7);
    for (int i = 0; i < 7;) {
        if (counters[i] >= i) {
            counters[i++] = 0;
            continue;
        }
        int other = i % 2 ? counters[i] : 0;
        double t = order[other];
        order[other] = order[i];
        order[i] = t;
        assert_sorts_like_qsort(order, 7);
        visited++;
        counters[i]++;
        i = 0;
    }
    assert_int_equal(visited, 5040);
}

enum pattern { ASCENDING, DESCENDING, EQUAL, ORGAN_PIPE, FEW_VALUES, RANDOM, SAWTOOTH, PATTERNS };

static double pattern_at(enum pattern pattern, int64_t i, int64_t n)
{
    switch (pattern) {
    case ASCENDING:
        return (double)i;
    case DESCENDING:
        return (double)(n - i);
    case EQUAL:
        return 42;
    case ORGAN_PIPE:
        return (double)(i < n / 2 ? i : n - i);
    case FEW_VALUES:
        return (double)(assay_rng_at(3, (uint64_t)i) % 4);
    case RANDOM:
        return (double)assay_rng_at(5, (uint64_t)i) * 0x1p-64 - 0.5;
    case SAWTOOTH:
        return (double)(i % 100);
    default:
        return 0;
    }
}

/* Lengths around the switch to insertion sort, and one long enough that n^2 would never end. */
static void sort_survives_adversarial_patterns(void **state)
{
    (void)state;
    static const int64_t lengths[] = {3, 23, 24, 25, 26, 49, 1000, 100003};
    double *values = test_malloc(100003 * sizeof *values);
    for (int p = 0; p < PATTERNS; p++)
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            for (int64_t i = 0; i < lengths[k]; i++)
                values[i] = pattern_at((enum pattern)p, i, lengths[k]);
            assert_sorts_like_qsort(values, lengths[k]);
        }
    test_free(values);
}

/* Here the median of first, middle and last is always the second smallest value, so that partition
 * splits off two at a time and a plain quicksort takes n^2 / 4 = 10^10 steps. Built from the end:
 * partition swaps the second and the middle value of a segment, and this swaps them back. */
static void sort_survives_a_median_of_three_killer(void **state)
{
    (void)state;
    int64_t n = 200000;
    double *values = test_malloc((size_t)n * sizeof *values);
    for (int64_t i = 0; i < n; i++)
        values[i] = (double)i;
    for (int64_t lo = n - 4; lo >= 0; lo -= 2) {
        int64_t middle = lo + (n - 1 - lo) / 2;
        double t = values[middle];
        values[middle] = values[lo + 1];
        values[lo + 1] = t;
    }
    assert_sorts_like_qsort(values, n);
    test_free(values);
}

static void sort_orders_infinities(void **state)
{
    (void)state;
    double values[] = {1, (double)INFINITY, -1, -(double)INFINITY, 0};
    assert_sorts_like_qsort(values, 5);
}

/* ---- quantile ------------------------------------------------------------------------------- */

/* 10 20 30 40 50 at (n - 1) p = 4 p:
 *     p     0    0.25  0.3   0.5   0.9   1
 *     4p    0    1     1.2   2     3.6   4
 *     value 10   20    22    30    46    50 */
static void quantile_interpolates_between_ranks(void **state)
{
    (void)state;
    static const double sorted[] = {10, 20, 30, 40, 50};
    static const double table[][2] = {{0, 10},   {0.25, 20}, {0.3, 22},
                                      {0.5, 30}, {0.9, 46},  {1, 50}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_near(assay_stats_quantile(sorted, 5, table[i][0]), table[i][1], 1e-13);
}

static void quantile_of_one_and_two(void **state)
{
    (void)state;
    static const double sorted[] = {3, 7};
    assert_near(assay_stats_quantile(sorted, 1, 0), 3, 0);
    assert_near(assay_stats_quantile(sorted, 1, 0.99), 3, 0);
    assert_near(assay_stats_quantile(sorted, 2, 0.5), 5, 0);
    assert_near(assay_stats_quantile(sorted, 2, 1), 7, 0);
}

/* ---- interval of the median ----------------------------------------------------------------- */

/* Values that are their own ranks, so that an interval reads as [k, n + 1 - k]. */
static struct assay_interval ranks_of_interval(int64_t n, double level)
{
    double *ranks = test_malloc((size_t)n * sizeof *ranks);
    for (int64_t i = 0; i < n; i++)
        ranks[i] = (double)(i + 1);
    struct assay_interval interval = assay_stats_median_interval(ranks, n, level);
    test_free(ranks);
    return interval;
}

/* coverage(k) = 1 - 2 sum_{i < k} C(n, i) / 2^n, in exact arithmetic:
 *     n     95 %       coverage              99 %       coverage
 *     6     [1, 6]     62/64      96.88 %    too small  (n = 7: 126/128 = 98.44 %)
 *     8     [1, 8]     254/256    99.22 %    [1, 8]     254/256     99.22 %
 *     9     [2, 8]     492/512    96.09 %    [1, 9]     510/512     99.61 %
 *     10    [2, 9]     1002/1024  97.85 %    [1, 10]    1022/1024   99.80 %
 *     15    [4, 12]               96.48 %    [3, 13]                99.26 %
 *     20    [6, 15]               95.86 %    [4, 17]                99.74 %
 *     50    [18, 33]              96.72 %    [16, 35]               99.34 %
 *     100   [40, 61]              96.48 %    [37, 64]               99.34 %
 *     200   [86, 115]             96.00 %    [82, 119]              99.13 %
 *     1000  [469, 532]            95.37 %    [459, 542]             99.14 % */
static void median_interval_matches_the_textbook_table(void **state)
{
    (void)state;
    static const struct {
        int64_t n, lo_95, hi_95, lo_99, hi_99;
    } table[] = {
        {6, 1, 6, 1, 6},         {8, 1, 8, 1, 8},
        {9, 2, 8, 1, 9},         {10, 2, 9, 1, 10},
        {15, 4, 12, 3, 13},      {20, 6, 15, 4, 17},
        {50, 18, 33, 16, 35},    {100, 40, 61, 37, 64},
        {200, 86, 115, 82, 119}, {1000, 469, 532, 459, 542},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct assay_interval at_95 = ranks_of_interval(table[i].n, 0.95);
        struct assay_interval at_99 = ranks_of_interval(table[i].n, 0.99);
        assert_int_equal((int64_t)at_95.lo, table[i].lo_95);
        assert_int_equal((int64_t)at_95.hi, table[i].hi_95);
        assert_int_equal((int64_t)at_99.lo, table[i].lo_99);
        assert_int_equal((int64_t)at_99.hi, table[i].hi_99);
    }
}

/* The definition in integers: the largest k with 2 sum_{i < k} C(n, i) <= (1 - level) 2^n. At 95 %
 * that is 40 sum <= 2^n, at 99 % 200 sum <= 2^n; sum stays below 2^n / 40, so 200 sum fits for n
 * <= 56. */
static void median_interval_is_exact_for_every_n_to_56(void **state)
{
    (void)state;
    static const struct {
        double level;
        uint64_t factor;
    } levels[] = {{0.95, 40}, {0.99, 200}};
    for (int l = 0; l < 2; l++)
        for (int64_t n = 1; n <= 56; n++) {
            uint64_t sum = 0, choose = 1; /* C(n, 0) */
            int64_t k = 0;
            while (2 * k < n && levels[l].factor * (sum + choose) <= UINT64_C(1) << n) {
                sum += choose;
                choose = choose * (uint64_t)(n - k) / (uint64_t)(k + 1);
                k++;
            }
            struct assay_interval interval = ranks_of_interval(n, levels[l].level);
            assert_int_equal((int64_t)interval.lo, k ? k : 1);
            assert_int_equal((int64_t)interval.hi, n + 1 - (k ? k : 1));
        }
}

/* The same in doubles, summed from the far end: 2^-n is still a normal number for n = 1000. */
static void median_interval_is_exact_for_every_n_to_1000(void **state)
{
    (void)state;
    static const double levels[] = {0.95, 0.99};
    for (int l = 0; l < 2; l++)
        for (int64_t n = 57; n <= 1000; n++) {
            double probability = ldexp(1, (int)-n), below = probability;
            int64_t k = 0;
            while (2 * below <= 1 - levels[l]) {
                probability *= (double)(n - k) / (double)(k + 1);
                below += probability;
                k++;
            }
            assert_int_equal((int64_t)ranks_of_interval(n, levels[l]).lo, k);
        }
}

static double coverage(int64_t n, int64_t k)
{
    double outside = 0, log_half_n = (double)n * log(0.5), log_n = lgamma((double)n + 1);
    for (int64_t i = 0; i < k; i++)
        outside += exp(log_n - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) + log_half_n);
    return 1 - 2 * outside;
}

/* With the gamma function: the rank holds the level, one more does not. */
static void median_interval_is_exact_for_large_n(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1001, 4096, 10000, 10001, 100001};
    static const double levels[] = {0.95, 0.99};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int l = 0; l < 2; l++) {
            int64_t k = (int64_t)ranks_of_interval(lengths[i], levels[l]).lo;
            assert_true(coverage(lengths[i], k) >= levels[l] - 1e-9);
            assert_true(coverage(lengths[i], k + 1) < levels[l] + 1e-9);
        }
}

static void median_interval_of_few_samples_is_the_range(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 5; n++) {
        struct assay_interval interval = ranks_of_interval(n, 0.95);
        assert_near(interval.lo, 1, 0);
        assert_near(interval.hi, (double)n, 0);
    }
}

/* ---- summary -------------------------------------------------------------------------------- */

/* Sorted 2 4 4 4 5 5 7 9: sum 40, mean 5; squared deviations 9 1 1 1 0 0 4 16, sum 32, over 8 = 4,
 * std 2 (the sample deviation would be 2.138). At 7 p: q1 at 1.75 -> 4, median at 3.5 -> 4.5,
 * q3 at 5.25 -> 5 + 0.25 * 2 = 5.5, p5 at 0.35 -> 2.7, p95 at 6.65 -> 8.3, p99 at 6.93 -> 8.86.
 * Fences 4 - 2.25 = 1.75 and 5.5 + 2.25 = 7.75: only 9 is outside. 95 % of eight: [1, 8]. */
static void summary_of_eight_samples(void **state)
{
    (void)state;
    static const double samples[] = {9, 4, 5, 4, 2, 7, 4, 5};
    double scratch[8];
    struct assay_summary s;
    assay_stats_summarise(samples, 8, scratch, &s);
    assert_int_equal(s.n, 8);
    assert_near(s.mean, 5, 1e-15);
    assert_near(s.std, 2, 1e-15);
    assert_near(s.min, 2, 0);
    assert_near(s.max, 9, 0);
    assert_near(s.median, 4.5, 0);
    assert_near(s.q1, 4, 0);
    assert_near(s.q3, 5.5, 0);
    assert_near(s.iqr, 1.5, 0);
    assert_near(s.p5, 2.7, 1e-14);
    assert_near(s.p95, 8.3, 1e-14);
    assert_near(s.p99, 8.86, 1e-14);
    assert_int_equal(s.outliers, 1);
    assert_near(s.median_ci.lo, 2, 0);
    assert_near(s.median_ci.hi, 9, 0);
    assert_near(s.median_ci_frac, 3.5 / 4.5, 1e-15);
}

/* 0 1 2 3 x with x >= 3: q1 = 1, q3 = 3, fences -2 and 6. On the fence is inside. */
static void outliers_lie_beyond_the_tukey_fences(void **state)
{
    (void)state;
    static const double on[] = {0, 1, 2, 3, 6}, above[] = {0, 1, 2, 3, 6.5};
    static const double both[] = {-2.5, 1, 1, 2, 3, 3, 6.5};
    double scratch[7];
    struct assay_summary s;
    assay_stats_summarise(on, 5, scratch, &s);
    assert_int_equal(s.outliers, 0);
    assay_stats_summarise(above, 5, scratch, &s);
    assert_int_equal(s.outliers, 1);
    assert_near(s.max, 6.5, 0); /* counted, kept in the data */
    assay_stats_summarise(both, 7, scratch, &s);
    assert_int_equal(s.outliers, 2);
}

/* Deviations -6 -3 3 6 around 10^9 + 10: the naive formula with sums of squares gives 0 or NaN. */
static void std_survives_a_large_offset(void **state)
{
    (void)state;
    static const double samples[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
    double scratch[4];
    struct assay_summary s;
    assay_stats_summarise(samples, 4, scratch, &s);
    assert_near(s.mean, 1e9 + 10, 0);
    assert_near(s.std, sqrt(22.5), 1e-14);
}

static void summary_of_nothing_is_zero(void **state)
{
    (void)state;
    static const struct assay_summary zero;
    struct assay_summary s;
    memset(&s, 0xff, sizeof s);
    assay_stats_summarise(NULL, 0, NULL, &s);
    assert_memory_equal(&s, &zero, sizeof zero);
}

static void summary_of_one_and_two(void **state)
{
    (void)state;
    static const double samples[] = {3, 1};
    double scratch[2];
    struct assay_summary s;
    assay_stats_summarise(samples, 1, scratch, &s);
    assert_int_equal(s.n, 1);
    assert_near(s.mean, 3, 0);
    assert_near(s.std, 0, 0);
    assert_near(s.median, 3, 0);
    assert_near(s.p99, 3, 0);
    assert_near(s.median_ci.lo, 3, 0);
    assert_near(s.median_ci_frac, 0, 0);
    assay_stats_summarise(samples, 2, scratch, &s);
    assert_near(s.mean, 2, 0);
    assert_near(s.std, 1, 0);
    assert_near(s.median, 2, 0);
    assert_near(s.median_ci.lo, 1, 0);
    assert_near(s.median_ci.hi, 3, 0);
    assert_near(s.median_ci_frac, 0.5, 0);
}

/* 0.1 has no exact binary form; its mean must come back as 0.1 all the same. */
static void identical_samples_have_no_spread(void **state)
{
    (void)state;
    double samples[1000], scratch[1000];
    for (int i = 0; i < 1000; i++)
        samples[i] = 0.1;
    struct assay_summary s;
    assay_stats_summarise(samples, 1000, scratch, &s);
    assert_near(s.mean, 0.1, 1e-17);
    assert_near(s.std, 0, 1e-15);
    assert_near(s.iqr, 0, 0);
    assert_int_equal(s.outliers, 0);
    assert_near(s.median_ci_frac, 0, 0);
    assert_near(assay_stats_precision(samples, 1000, scratch), 0, 0);
    for (int i = 0; i < 1000; i++)
        samples[i] = 0;
    assert_near(assay_stats_precision(samples, 1000, scratch), 0, 0);
}

static void summary_leaves_nan_out(void **state)
{
    (void)state;
    const double nan = (double)NAN, samples[] = {nan, 1, nan, 3, 2, nan};
    double scratch[6];
    struct assay_summary s;
    assay_stats_summarise(samples, 6, scratch, &s);
    assert_int_equal(s.n, 3);
    assert_near(s.mean, 2, 0);
    assert_near(s.median, 2, 0);
    assert_near(s.max, 3, 0);
}

/* ---- ratio ---------------------------------------------------------------------------------- */

/* Ratios 1 … 11: median 6, 95 % is ranks 2 and 10, [2, 10]; 99.8 % is the whole range, [1, 11],
 * which holds 1. A difference would have had to be 6 / 1, less 1. */
static void ratio_of_eleven_rounds(void **state)
{
    (void)state;
    static const double base[] = {9, 2, 6, 4, 50, 12, 7, 16, 3, 20, 11};
    static const double mine[] = {1, 1, 2, 1, 10, 2, 1, 2, 3, 2, 1};
    double scratch[11];
    struct assay_ratio r;
    assay_stats_ratio(base, mine, 11, scratch, &r);
    assert_int_equal(r.n, 11);
    assert_near(r.ratio, 6, 0);
    assert_near(r.ci.lo, 2, 0);
    assert_near(r.ci.hi, 10, 0);
    assert_near(r.ci_frac, 8.0 / 12, 1e-15);
    assert_false(r.significant);
    assert_near(r.smallest_visible, 5, 1e-14);
}

/* Twice as fast in every round is sure from the tenth round on: 1 - 2 / 2^10 = 99.805 %, while nine
 * give 99.6 %. It is clear from the fourteenth: 1 - 2 / 2^14 = 99.988 %. */
static void nine_rounds_are_never_significant(void **state)
{
    (void)state;
    double base[14], mine[14], scratch[14];
    struct assay_ratio r;
    for (int i = 0; i < 14; i++)
        base[i] = 2 * (mine[i] = i + 1);
    assay_stats_ratio(base, mine, 9, scratch, &r);
    assert_near(r.ratio, 2, 0);
    assert_near(r.ci.lo, 2, 0);
    assert_false(r.significant);
    assert_near(r.smallest_visible, (double)INFINITY, 0);
    assay_stats_ratio(base, mine, ASSAY_STATS_FEWEST_ROUNDS, scratch, &r);
    assert_true(r.significant);
    assert_near(r.smallest_visible, ASSAY_STATS_EQUAL, 0);
    assay_stats_ratio(mine, base, 13, scratch, &r);
    assert_near(r.ratio, 0.5, 0);
    assert_true(r.significant);
    assert_false(r.clear);
    assay_stats_ratio(mine, base, 14, scratch, &r);
    assert_true(r.clear);
}

/* Two rounds at each of three places, twice, and one round more: the places' medians are 2, 4 and
 * 6; the second has one round that was sat out. */
static void each_place_counts_once(void **state)
{
    (void)state;
    static const double ratios[] = {2, 1, 4, 4, 6, 60, 2, 3, (double)NAN, 4, 6, 6, 2};
    double mine[13], scratch[26];
    struct assay_places places = {.n = 3, .block = 2};
    struct assay_ratio r;
    for (int i = 0; i < 13; i++)
        mine[i] = 1;
    assay_stats_ratio_by_place(ratios, mine, 13, places, scratch, &r);
    assert_int_equal(r.n, 3);
    assert_near(r.ratio, 4, 0);
    assert_near(r.ci.lo, 2, 0);
    assert_near(r.ci.hi, 6, 0);
    assert_false(r.significant);
    assay_stats_ratio_by_place(ratios, mine, 2, places, scratch, &r);
    assert_int_equal(r.n, 1);
    assert_near(r.ratio, 1.5, 0);
    assay_stats_ratio_by_place(ratios, mine, 0, places, scratch, &r);
    assert_int_equal(r.n, 0);
}

/* Ten places that all say the same are as good as ten rounds. */
static void ten_places_can_be_significant(void **state)
{
    (void)state;
    double base[40], mine[40], scratch[80];
    struct assay_ratio r;
    for (int i = 0; i < 40; i++)
        base[i] = 1.1 * (mine[i] = i + 1);
    assay_stats_ratio_by_place(base, mine, 40, (struct assay_places){.n = 40, .block = 4}, scratch,
                               &r);
    assert_int_equal(r.n, 10);
    assert_true(r.significant);
    assay_stats_ratio_by_place(base, mine, 36, (struct assay_places){.n = 40, .block = 4}, scratch,
                               &r);
    assert_false(r.significant);
}

/* What luck does to every round alike is no difference, and the run says how much it is. */
static void luck_is_left_out(void **state)
{
    (void)state;
    double base[40], mine[40], scratch[80];
    struct assay_ratio r;
    for (int i = 0; i < 40; i++)
        base[i] = 1.012 * (mine[i] = i + 1);
    assay_stats_ratio_by_place(base, mine, 40, (struct assay_places){0}, scratch, &r);
    assert_int_equal(r.n, 40);
    assert_true(r.significant && r.likely && r.clear);
    struct assay_places apart = {.luck = ASSAY_STATS_APART};
    assay_stats_ratio_by_place(base, mine, 40, apart, scratch, &r);
    assert_false(r.significant || r.likely || r.clear);
    assert_near(r.smallest_visible, ASSAY_STATS_APART, 1e-9);
    assay_stats_ratio_by_place(mine, base, 40, apart, scratch, &r);
    assert_false(r.significant || r.likely || r.clear);
    for (int i = 0; i < 40; i++)
        base[i] = 1.017 * mine[i];
    assay_stats_ratio_by_place(base, mine, 40, apart, scratch, &r);
    assert_true(r.significant && r.likely && r.clear);
    assay_stats_ratio_by_place(mine, base, 40, apart, scratch, &r);
    assert_true(r.significant && r.likely && r.clear);
}

static void ratio_leaves_out_rounds_that_one_sat_out(void **state)
{
    (void)state;
    const double nan = (double)NAN, base[] = {nan, 4, 4, nan, 6, 0},
                 mine[] = {1, nan, 2, nan, 2, 0};
    double scratch[6];
    struct assay_ratio r;
    assay_stats_ratio(base, mine, 6, scratch, &r);
    assert_int_equal(r.n, 2);
    assert_near(r.ratio, 2.5, 0);
    assert_near(r.ci.lo, 2, 0);
    assert_near(r.ci.hi, 3, 0);
}

static void ratio_without_a_common_round_is_zero(void **state)
{
    (void)state;
    static const struct assay_ratio zero;
    const double nan = (double)NAN, base[] = {nan, 1}, mine[] = {1, nan};
    double scratch[2];
    struct assay_ratio r;
    memset(&r, 0xff, sizeof r);
    assay_stats_ratio(base, mine, 2, scratch, &r);
    assert_int_equal(r.n, 0);
    assert_near(r.ratio, zero.ratio, 0);
    assert_near(r.ci.lo, 0, 0);
    assert_near(r.ci.hi, 0, 0);
    assert_near(r.ci_frac, 0, 0);
    assert_near(r.smallest_visible, 0, 0);
    assert_false(r.significant);
}

static void equal_variants_are_not_significant(void **state)
{
    (void)state;
    double samples[100], scratch[100];
    for (int i = 0; i < 100; i++)
        samples[i] = 1 + 0.1 * i;
    struct assay_ratio r;
    assay_stats_ratio(samples, samples, 100, scratch, &r);
    assert_near(r.ratio, 1, 0);
    assert_near(r.ci_frac, 0, 0);
    assert_false(r.significant);
}

/* ---- precision ------------------------------------------------------------------------------ */

static void precision_is_the_half_width_of_the_summary(void **state)
{
    (void)state;
    enum { N = 5000 };
    double samples[N], scratch[N];
    for (int i = 0; i < N; i++)
        samples[i] = 1 + (double)assay_rng_at(11, (uint64_t)i) * 0x1p-64;
    for (int n = 6; n <= N; n = n * 3 / 2) {
        struct assay_summary s;
        assay_stats_summarise(samples, n, scratch, &s);
        assert_near(assay_stats_precision(samples, n, scratch), s.median_ci_frac, 0);
    }
}

static void precision_needs_six_samples(void **state)
{
    (void)state;
    const double nan = (double)NAN, samples[] = {1, 2, nan, 3, 4, 5, nan, 6};
    double scratch[8];
    assert_near(assay_stats_precision(samples, 0, scratch), (double)INFINITY, 0);
    assert_near(assay_stats_precision(samples, 7, scratch), (double)INFINITY, 0); /* five numbers */
    assert_near(assay_stats_precision(samples, 8, scratch), 2.5 / 3.5, 1e-15);
}

/* ---- simulations: seeded, so that they give the same answer on every machine ------------------
 */

static double uniform(struct assay_rng *rng)
{
    return ((double)(assay_rng_next(rng) >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct assay_rng *rng) /* Box and Muller */
{
    double radius = sqrt(-2 * log(uniform(rng)));
    return radius * cos(6.28318530717958647693 * uniform(rng));
}

/* Median 1; a long tail to the right, as timings have. */
static double lognormal(struct assay_rng *rng, double sigma) { return exp(sigma * normal(rng)); }

/* Two clocks: 60 % in [1, 1.1], 40 % in [2, 2.2]. Half lies below 1 + 0.1 * 0.5 / 0.6. */
static double bimodal(struct assay_rng *rng)
{
    return uniform(rng) < 0.6 ? 1 + 0.1 * uniform(rng) : 2 + 0.2 * uniform(rng);
}

enum { TRIALS = 2500, MOST_ROUNDS = 400 };

static double share_covered(int n, bool two_modes, double truth)
{
    struct assay_rng rng = {(uint64_t)n};
    double samples[MOST_ROUNDS], scratch[MOST_ROUNDS];
    int covered = 0;
    for (int t = 0; t < TRIALS; t++) {
        for (int i = 0; i < n; i++)
            samples[i] = two_modes ? bimodal(&rng) : lognormal(&rng, 0.5);
        struct assay_summary s;
        assay_stats_summarise(samples, n, scratch, &s);
        covered += s.median_ci.lo <= truth && truth <= s.median_ci.hi;
    }
    return (double)covered / TRIALS;
}

/* The true shares are 96.9, 97.9, 95.7 and 96.0 %; 2,500 trials stay within 1.2 % of them. */
static void the_interval_holds_the_true_median(void **state)
{
    (void)state;
    static const int lengths[] = {6, 10, 25, 200};
    for (int i = 0; i < 4; i++) {
        assert_true(share_covered(lengths[i], false, 1) >= 0.945);
        assert_true(share_covered(lengths[i], true, 1 + 0.05 / 0.6) >= 0.945);
    }
}

/* Rounds of two variants with 3 % of noise each, under a drift of the clock that both share. */
static double share_significant(int n, double speedup)
{
    struct assay_rng rng = {(uint64_t)n + 1000};
    double base[MOST_ROUNDS], mine[MOST_ROUNDS], scratch[MOST_ROUNDS];
    int significant = 0;
    for (int t = 0; t < TRIALS; t++) {
        for (int i = 0; i < n; i++) {
            double drift = 1 + 0.2 * i / n;
            base[i] = drift * speedup * lognormal(&rng, 0.03);
            mine[i] = drift * lognormal(&rng, 0.03);
        }
        struct assay_ratio r;
        assay_stats_ratio(base, mine, n, scratch, &r);
        significant += r.significant;
    }
    return (double)significant / TRIALS;
}

static void equal_noisy_pairs_are_seldom_called_different(void **state)
{
    (void)state;
    static const int lengths[] = {7, 8, 30, 100, 200};
    assert_near(share_significant(lengths[0], 1), 0, 0);
    for (int i = 1; i < 5; i++)
        assert_true(share_significant(lengths[i], 1) <= 0.02);
}

/* The noise of a ratio is 4.2 %, of the median of 200 of them 1.25 * 4.2 / sqrt(200) = 0.38 %, so
 * the 99 % interval reaches 0.97 % each way and misses a difference of 2 % three times in 1,000. */
static void two_percent_show_through_three_percent_of_noise(void **state)
{
    (void)state;
    assert_true(share_significant(400, 1.02) >= 0.95);
    assert_true(share_significant(400, 1 / 1.02) >= 0.95);
}

/* A run that saw nothing says what it would have seen: scaled by a little more than that it is
 * significant, by half of it not. */
static void smallest_visible_is_the_line(void **state)
{
    (void)state;
    struct assay_rng rng = {77};
    double base[100], mine[100], scratch[100], scaled[100];
    for (int i = 0; i < 100; i++) {
        base[i] = lognormal(&rng, 0.03);
        mine[i] = lognormal(&rng, 0.03);
    }
    struct assay_ratio r, again;
    assay_stats_ratio(base, mine, 100, scratch, &r);
    static const double factors[] = {0.5, 1.1, -1.1};
    for (int f = 0; f < 3; f++) {
        for (int i = 0; i < 100; i++)
            scaled[i] = base[i] / r.ratio * (1 + factors[f] * r.smallest_visible);
        assay_stats_ratio(scaled, mine, 100, scratch, &again);
        assert_int_equal(again.significant, f > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sort_places_the_last_sample),
        cmocka_unit_test(sort_takes_nothing_one_and_two),
        cmocka_unit_test(sort_sorts_every_order_of_seven),
        cmocka_unit_test(sort_survives_adversarial_patterns),
        cmocka_unit_test(sort_survives_a_median_of_three_killer),
        cmocka_unit_test(sort_orders_infinities),
        cmocka_unit_test(quantile_interpolates_between_ranks),
        cmocka_unit_test(quantile_of_one_and_two),
        cmocka_unit_test(median_interval_matches_the_textbook_table),
        cmocka_unit_test(median_interval_is_exact_for_every_n_to_56),
        cmocka_unit_test(median_interval_is_exact_for_every_n_to_1000),
        cmocka_unit_test(median_interval_is_exact_for_large_n),
        cmocka_unit_test(median_interval_of_few_samples_is_the_range),
        cmocka_unit_test(summary_of_eight_samples),
        cmocka_unit_test(outliers_lie_beyond_the_tukey_fences),
        cmocka_unit_test(std_survives_a_large_offset),
        cmocka_unit_test(summary_of_nothing_is_zero),
        cmocka_unit_test(summary_of_one_and_two),
        cmocka_unit_test(identical_samples_have_no_spread),
        cmocka_unit_test(summary_leaves_nan_out),
        cmocka_unit_test(ratio_of_eleven_rounds),
        cmocka_unit_test(each_place_counts_once),
        cmocka_unit_test(ten_places_can_be_significant),
        cmocka_unit_test(luck_is_left_out),
        cmocka_unit_test(nine_rounds_are_never_significant),
        cmocka_unit_test(ratio_leaves_out_rounds_that_one_sat_out),
        cmocka_unit_test(ratio_without_a_common_round_is_zero),
        cmocka_unit_test(equal_variants_are_not_significant),
        cmocka_unit_test(precision_is_the_half_width_of_the_summary),
        cmocka_unit_test(precision_needs_six_samples),
        cmocka_unit_test(the_interval_holds_the_true_median),
        cmocka_unit_test(equal_noisy_pairs_are_seldom_called_different),
        cmocka_unit_test(two_percent_show_through_three_percent_of_noise),
        cmocka_unit_test(smallest_visible_is_the_line),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
