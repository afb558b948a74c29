/* pow2_extended: cubes of powers of two, and of those half as large again. */
#include "config/shapes.h"

extern const struct assay_shape_set assay_shapes_pow2_extended;
const struct assay_shape_set assay_shapes_pow2_extended = {
    .name = "pow2_extended",
    .summary = "the same, and those half as large again",
    .pattern = ASSAY_SHAPES_CUBES_AND_HALVES,
    .min_power = 10,
    .max_power = 14};
