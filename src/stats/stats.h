/* stats.h: pure functions on arrays of samples. No clock, no I/O, no allocation.
 *
 * Nothing here assumes that timings are normally distributed: they are not. Intervals of a median
 * come from order statistics (the binomial distribution of how many samples lie below the true
 * median), so their coverage holds for any continuous distribution. */
#ifndef ASSAY_STATS_STATS_H
#define ASSAY_STATS_STATS_H

#include <stdbool.h>
#include <stdint.h>

struct assay_interval {
    double lo, hi;
};

struct assay_summary {
    int64_t n;
    double mean, std; /* std is the population deviation */
    double min, max, median;
    double q1, q3, iqr;
    double p5, p95, p99;
    int64_t outliers; /* outside [q1 - 1.5 iqr, q3 + 1.5 iqr]; counted, kept in the data */
    struct assay_interval median_ci; /* 95 %; the whole range when n is too small for it (n < 6) */
    double median_ci_frac;           /* half of its width over the median: the ± of the tables */
};

/* Fewer samples have no 95 % interval: 1 - 2 / 2^n reaches it from n = 6 on. */
enum { ASSAY_STATS_FEWEST_SAMPLES = 6 };

/* Fewer rounds cannot be significant: 1 - 2 / 2^n reaches 99.8 % from n = 10 on. */
enum { ASSAY_STATS_FEWEST_ROUNDS = 10 };

/* A ratio this close to 1 is 1: where code and data happen to lie does as much. Of copies of one
 * kernel one pair in thirty differed by 0.4 % or more, one in a hundred by 0.6 %. */
#define ASSAY_STATS_EQUAL 0.006

/* And so much more does it do where one of the two runs in the judge and the other in a runner: the
 * first cache also holds what the caller needs, and physical pages are a process's own. Of 216
 * copies of built-in kernels six were called different otherwise, by 1 to 3.5 %. */
#define ASSAY_STATS_APART 0.015

/* How one variant compares with the baseline: both were sampled once in each round, so round i
 * gives the ratio base[i] / mine[i], which is > 1 where mine was faster. */
struct assay_ratio {
    int64_t n;
    double ratio;             /* the median of the per-round ratios */
    struct assay_interval ci; /* 95 % */
    double ci_frac;           /* half of its width over the ratio */
    bool significant; /* the 99.8 % interval leaves out 1 and what luck does to it, and the ratio is
                         0.6 % from 1 or more: of equal pairs fewer than 1 in 500 are called
                         different */
    bool clear;  /* so is it by the 99.98 % interval: true also for one who looks again and again */
    bool likely; /* so is it by the 95 % interval: more rounds might show it */
    double smallest_visible; /* the least |ratio - 1| that this run would have called significant,
                                as a fraction */
};

/* Sorts ascending, in place. Not recursive, worst case n log n. */
void assay_stats_sort(double *values, int64_t n);

/* The p-quantile (0 <= p <= 1) of ascending values: linear interpolation at (n - 1) p. n >= 1. */
double assay_stats_quantile(const double *sorted, int64_t n, double p);

/* The interval of the median of ascending values at `level` (0.95): the narrowest symmetric pair of
 * order statistics that covers it. Where n is too small for the level, the whole range. n >= 1. */
struct assay_interval assay_stats_median_interval(const double *sorted, int64_t n, double level);

/* All of assay_summary. `scratch` holds n values and is overwritten. NaN samples are left out; none
 * at all gives zeros. */
void assay_stats_summarise(const double *samples, int64_t n, double *scratch,
                           struct assay_summary *out);

/* Ratios of rounds in which both were sampled; a NaN in either marks a round that one sat out.
 * `scratch` holds n values. Without a single common round everything is zero and not significant.
 */
void assay_stats_ratio(const double *base, const double *mine, int64_t n, double *scratch,
                       struct assay_ratio *out);

/* The same where operands of the two lay elsewhere in memory in other rounds: `block` rounds in a
 * row at each of so many places, round and round. What a place does to the ratio is common to all
 * its rounds, so it counts once, with their median: n is the number of places; below 2, each round
 * is one. `luck` is what the place of the two programs themselves may do to the ratio: the same in
 * every round, so that no interval shows it. `scratch` holds 2 n values. */
struct assay_places {
    int64_t n, block;
    double luck;
};
void assay_stats_ratio_by_place(const double *base, const double *mine, int64_t n,
                                struct assay_places places, double *scratch,
                                struct assay_ratio *out);

/* The quick question the stop rule asks: the half width of the 95 % interval of the median over the
 * median; INFINITY where n < 6. NaN samples are left out. `scratch` holds n values. */
double assay_stats_precision(const double *samples, int64_t n, double *scratch);

#endif
