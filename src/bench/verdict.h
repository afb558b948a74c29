/* verdict.h: from samples to a measurement: statistics, ratio to the baseline, share of the
 * ceiling, and whether the figure is possible at all. */
#ifndef ASSAY_BENCH_VERDICT_H
#define ASSAY_BENCH_VERDICT_H

#include "bench/group.h"
#include "bench/probes.h"

struct assay_verdict_input {
    const struct assay_lane *lanes; /* the variants'; behind them the probes' */
    int64_t n_lanes, rounds;
    const double *clocks;
    /* Of each lane: the lane its ratio refers to, and, of a compiled model, the eager one with the
     * same recipe; -1: none. */
    const int64_t *baselines, *eager;
    const struct assay_cost *costs; /* of each lane: recipes differ in it */
    const double *working_sets;
    bool cold;
    const struct assay_probes *probes;    /* NULL: no ceilings were asked for */
    const struct assay_lane *probe_lanes; /* theirs, in their order */
    const struct assay_ceilings *best;    /* what this machine was seen to do */
};

/* A lane without samples gives a measurement that is not `measured`. ASSAY_ERR_NOMEM. */
enum assay_status assay_verdict_measurement(const struct assay_verdict_input *input, int64_t lane,
                                            struct assay_measurement *out);

/* False where even the slow end of the interval beats what the machine could do in the same rounds,
 * and the best it was seen to do, by more than the margin of 1.5; `reason` says by how much. The
 * margin is the probes' own uncertainty: a kernel's mix of loads and stores may suit a cache better
 * than any probe does. Fewer than ten rounds accuse nobody unless the probes were undisturbed in
 * three of them. */
bool assay_verdict_possible(const struct assay_verdict_input *input,
                            const struct assay_measurement *measurement, char *reason, size_t size);

#endif
