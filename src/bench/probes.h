/* probes.h: what the variants of a group are compared with: probes of the machine (device/probe.h)
 * of whatever may bind them, sampled in the group's own rounds. */
#ifndef ASSAY_BENCH_PROBES_H
#define ASSAY_BENCH_PROBES_H

#include "bench/engine.h"
#include "op/op.h"

enum { ASSAY_MAX_PROBES = 6 };

struct assay_probes {
    assay_device *device;
    bool cold;
    int64_t n;
    struct assay_probe_spec specs[ASSAY_MAX_PROBES];
    struct assay_probe probes[ASSAY_MAX_PROBES];
};

/* Opens those that work of this cost may be bound by, by the best that was ever seen of the
 * machine, unless there is one already. `working_set` is what is touched again and again. One that
 * this machine does not have, or has no room for, is left out; ASSAY_ERR_NOMEM is of the little
 * memory that every one needs. */
enum assay_status assay_probes_add(struct assay_probes *probes,
                                   const struct assay_ceilings *ceilings,
                                   const struct assay_cost *cost, double working_set);
void assay_probes_close(struct assay_probes *probes);

/* As lanes of an engine; room for ASSAY_MAX_PROBES. */
void assay_probes_lanes(const struct assay_probes *probes, struct assay_lane *lanes);

/* The least time that work takes by the probes of each round, in ns; NaN where they sat out, or,
 * with `fast`, met a slow matrix unit. False where not a single probe of it is open. */
bool assay_probes_transfer(const struct assay_probes *probes, const struct assay_lane *lanes,
                           int64_t rounds, const struct assay_cost *cost, double working_set,
                           double *out);
bool assay_probes_compute(const struct assay_probes *probes, const struct assay_lane *lanes,
                          int64_t rounds, const struct assay_cost *cost, bool fast, double *out);

/* Raises the ceilings to what the probes did, where that was more; true where it is worth saving.
 */
bool assay_probes_raise(const struct assay_probes *probes, const struct assay_lane *lanes,
                        int64_t rounds, double *scratch, struct assay_ceilings *ceilings);

#endif
