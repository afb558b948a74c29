/* sweep: every combination of powers of two. */
#include "config/shapes.h"

extern const struct assay_shape_set assay_shapes_sweep;
const struct assay_shape_set assay_shapes_sweep = {.name = "sweep",
                                                   .summary = "every combination of powers of two",
                                                   .pattern = ASSAY_SHAPES_EVERY_COMBINATION,
                                                   .min_power = 8,
                                                   .max_power = 15};
