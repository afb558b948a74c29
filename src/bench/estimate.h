/* estimate.h: what the groups of a plan will take, before anything is measured: memory from their
 * tensors, time from the budget and from the ceilings, as far as these are known. */
#ifndef ASSAY_BENCH_ESTIMATE_H
#define ASSAY_BENCH_ESTIMATE_H

#include "record/plan.h"

struct assay_estimate {
    double bytes;     /* operands of a call, and the weights once more as each recipe stores them */
    double call_ns;   /* of one call at the least, by the ceilings; 0: not known */
    double timing_s;  /* for samples at the most: the budget, or the fewest rounds of long calls */
    double setup_s;   /* for the rest, roughly: filling, references, checks, storing weights */
    int64_t variants; /* rows, or thereabouts */
    bool known;       /* the op is; else only the budget is */
    bool has_ceilings;
    bool fits; /* into the memory there is, as far as that is known */
};

typedef struct assay_estimator assay_estimator;

/* Borrows the plan. `thorough`: devices are opened, so that the memory of a GPU is known, and
 * kernels are asked whether they can run; without it nothing is loaded or started that could
 * disturb a measurement. */
enum assay_status assay_estimator_create(const struct assay_plan *plan, bool thorough,
                                         assay_estimator **out, struct assay_error *err);
void assay_estimator_destroy(assay_estimator *estimator);

/* The error is the plan's: a size that its op cannot have. */
enum assay_status assay_estimate(assay_estimator *estimator, const struct assay_group *group,
                                 struct assay_estimate *out, struct assay_error *err);

#endif
