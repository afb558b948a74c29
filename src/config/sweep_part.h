/* sweep_part.h: what the files of a sweep share. */
#ifndef ASSAY_CONFIG_SWEEP_PART_H
#define ASSAY_CONFIG_SWEEP_PART_H

#include "config/sweep.h"

/* One op in one dtype and one mode, on its way through the shapes. */
struct assay_sweep_part {
    const struct assay_sweep *sweep;
    struct assay_plan *plan;
    const struct assay_op *op;
    enum assay_dtype dtype;
    const char *mode;
};

enum assay_status assay_sweep_add_group(const struct assay_sweep_part *part, const int64_t *axes,
                                        const char *label, struct assay_error *err);

/* With --pass and recipes of training the products of a step are asked for, each by itself. */
bool assay_sweep_is_of_steps(const struct assay_sweep *sweep);
/* Behind the products their operands' casts, at every shape that is planned, each once. */
enum assay_status assay_sweep_add_casts(const struct assay_sweep *sweep, struct assay_plan *plan,
                                        struct assay_error *err);

#endif
