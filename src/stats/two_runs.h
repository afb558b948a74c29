/* two_runs.h: the ratio of two medians that were taken apart: by two runs, in no common rounds. */
#ifndef ASSAY_STATS_TWO_RUNS_H
#define ASSAY_STATS_TWO_RUNS_H

#include "stats/stats.h"

/* What a record keeps of its samples: the median and its interval (95 %). */
struct assay_median {
    double median;
    struct assay_interval ci;
    int64_t n; /* samples */
};

/* Can a ratio be taken of it? All is finite and above 0, the median within its interval. */
bool assay_stats_median_is_sound(const struct assay_median *m);

/* old / new: > 1 where the new one is faster. `luck` is what a ratio of equal kernels may be
 * without any change: lo <= 1 <= hi. Intervals are combined on the logarithmic scale, where a ratio
 * is a difference: each side's distances from its median are added as squares, the near side of one
 * with the far side of the other. `significant` and `clear` are asked of the same distances widened
 * from 95 % to 99.8 % and 99.98 % as those of a normal distribution, which the median of many
 * samples has; with fewer than ASSAY_STATS_FEWEST_ROUNDS samples on either side neither can be.
 * Both medians are sound. */
void assay_stats_ratio_of_runs(const struct assay_median *old_run,
                               const struct assay_median *new_run, struct assay_interval luck,
                               struct assay_ratio *out);

#endif
