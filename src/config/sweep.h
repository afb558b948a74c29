/* sweep.h: what the groups of a plan are the product of: ops, dtypes, modes and shapes, as the
 * options of `assay bench` name them. */
#ifndef ASSAY_CONFIG_SWEEP_H
#define ASSAY_CONFIG_SWEEP_H

#include "config/axis.h"
#include "config/bench_config.h"
#include "config/recipe_list.h"
#include "config/shapes.h"
#include "op/op.h"

/* Where sizes are not given: the sweep of the comprehensive benchmark that `assay bench` replaces.
 */
#define ASSAY_SWEEP_BATCH "16:128:x2"
#define ASSAY_SWEEP_SEQ "256:2048:x2"
#define ASSAY_SWEEP_DIM "8:512:x2"

/* Of that, what is measured of an op that is named without sizes: a minute's worth. */
#define ASSAY_SWEEP_USUAL_ROWS "16x256, 32x512 and 64x1024"
#define ASSAY_SWEEP_USUAL_DIMS "8, 64, 256 and 512"

enum { ASSAY_SWEEP_OPS = 64, ASSAY_SWEEP_DTYPES = 8, ASSAY_SWEEP_GROUPS = 100000 };

struct assay_sweep {
    const struct assay_bench_config *config;
    bool is_tour;  /* neither ops nor sizes were named */
    bool is_usual; /* ops were, sizes were not */
    bool passes[ASSAY_PASSES];
    const struct assay_op *ops[ASSAY_SWEEP_OPS];
    int64_t n_ops;
    enum assay_dtype dtypes[ASSAY_SWEEP_DTYPES];
    int64_t n_dtypes;
    struct assay_axis axes[3];        /* batch, seq, dim */
    struct assay_shapes shapes;       /* those of --shape, then those of --shapes */
    struct assay_recipe_list recipes; /* baseline first; empty: none was named */
    int64_t max_elements;
};

/* Reads the options. `config` must outlive the sweep. Call fini even if it fails. */
enum assay_status assay_sweep_init(struct assay_sweep *sweep,
                                   const struct assay_bench_config *config,
                                   struct assay_error *err);
void assay_sweep_fini(struct assay_sweep *sweep);

/* Adds the groups to a plan. */
enum assay_status assay_sweep_plan(const struct assay_sweep *sweep, struct assay_plan *plan,
                                   struct assay_error *err);

#endif
