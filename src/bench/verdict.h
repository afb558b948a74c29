/* verdict.h: from samples to a measurement: statistics, ratio to the baseline, share of the
 * ceiling, and whether the figure is possible at all. */
#ifndef ASSAY_BENCH_VERDICT_H
#define ASSAY_BENCH_VERDICT_H

#include "bench/engine.h"
#include "bench/group.h"
#include "op/op.h"

struct assay_verdict_input {
    const struct assay_lane *lanes;
    int64_t n_lanes, rounds;
    const double *clocks;
    /* Of each lane: the lane its ratio refers to, and, of a compiled model, the eager one with the
     * same recipe; -1: none. */
    const int64_t *baselines, *eager;
    const struct assay_cost *costs; /* of each lane: recipes differ in it */
    const double *working_sets;
    bool cold;
    struct assay_bench *bench;
};

/* A lane without samples gives a measurement that is not `measured`. ASSAY_ERR_NOMEM. */
enum assay_status assay_verdict_measurement(const struct assay_verdict_input *input, int64_t lane,
                                            struct assay_measurement *out);

/* The part of it that depends on the ceilings, for when these have been raised. */
void assay_verdict_ceiling(const struct assay_verdict_input *input, int64_t lane,
                           struct assay_measurement *out);

/* False where even the slow end of the interval beats what the machine can do; `reason` says by how
 * much. A ceiling that is beaten is measured once more before anyone is accused: it may have been
 * taken on a busy machine. `measurement` is brought up to date when that raises the ceiling. */
bool assay_verdict_possible(const struct assay_verdict_input *input, int64_t lane,
                            struct assay_measurement *measurement, char *reason, size_t size);

#endif
