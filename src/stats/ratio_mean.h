/* ratio_mean.h: one ratio for several groups: the geometric mean of theirs, with its interval.
 *
 * The mean is that of these groups, not of others that might have been measured: its interval says
 * how well it is known, and nothing of how much groups differ. Each group has rounds, and so an
 * error, of its own; errors are combined as in ratio_distances.h. What is the same in all groups
 * (where code lies in memory) no number of them shows: ASSAY_STATS_EQUAL and `luck` stand for it.
 */
#ifndef ASSAY_STATS_RATIO_MEAN_H
#define ASSAY_STATS_RATIO_MEAN_H

#include "stats/stats.h"

/* Start from zeroes. */
struct assay_ratio_sum {
    int64_t n;           /* how many ratios */
    double logs;         /* their logarithms */
    double below, above; /* squares of how far their intervals reach, as logarithms */
    double luck;         /* the greatest */
};

/* False, and nothing is added, where the ratio is not a positive number, or of fewer rounds than
 * could show a difference: ASSAY_STATS_FEWEST_ROUNDS. `luck` as in struct assay_places. */
bool assay_ratio_sum_add(struct assay_ratio_sum *sum, const struct assay_ratio *ratio, double luck);

/* The mean as a ratio; its n is the number of groups. Everything is zero without a single one. */
void assay_ratio_sum_mean(const struct assay_ratio_sum *sum, struct assay_ratio *out);

#endif
