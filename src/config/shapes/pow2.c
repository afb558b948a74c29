/* pow2: cubes of powers of two. */
#include "config/shapes.h"

extern const struct assay_shape_set assay_shapes_pow2;
const struct assay_shape_set assay_shapes_pow2 = {.name = "pow2",
                                                  .summary = "m = k = n, powers of two",
                                                  .pattern = ASSAY_SHAPES_CUBES,
                                                  .min_power = 10,
                                                  .max_power = 14};
