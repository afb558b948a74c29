/* ratio_distances.h: a ratio that was put together from several medians.
 *
 * On the logarithmic scale a ratio is a difference and a geometric mean a sum. There each part is
 * off by an error of its own, and its interval (95 %) says how far it may reach to either side.
 * Independent distances add as squares: Zou and Donner, "Construction of confidence limits about
 * effect measures", Statistics in Medicine 27 (2008), of intervals that need not be symmetric. */
#ifndef ASSAY_STATS_RATIO_DISTANCES_H
#define ASSAY_STATS_RATIO_DISTANCES_H

#include "stats/stats.h"

/* How far the ratio may be below and above, as factors: their logarithms. */
struct assay_ratio_distances {
    double below, above;
};

/* All of assay_ratio but n. `luck` is what a ratio of equal kernels may be without any change:
 * lo <= 1 <= hi. `significant` and `clear` are asked of the distances widened from 95 % to 99.8 %
 * and 99.98 % as those of a normal distribution, which a median of many samples, and a sum of
 * several errors, has. */
void assay_stats_judge_distances(double ratio, struct assay_ratio_distances d,
                                 struct assay_interval luck, struct assay_ratio *out);

#endif
