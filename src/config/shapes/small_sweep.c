/* small_sweep: powers of two, none of m, k, n less than the one before. */
#include "config/shapes.h"

extern const struct assay_shape_set assay_shapes_small_sweep;
const struct assay_shape_set assay_shapes_small_sweep = {.name = "small_sweep",
                                                         .summary = "m <= k <= n, powers of two",
                                                         .pattern = ASSAY_SHAPES_ASCENDING,
                                                         .min_power = 10,
                                                         .max_power = 14};
