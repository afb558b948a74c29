/* gemma3_27b: the weights of Gemma 3, 27B. */
#include "config/shapes.h"

static const struct assay_weight_shape weights[] = {
    {"QO_proj", 4096, 4096},
    {"KV_proj", 4096, 1024},
    {0},
};

extern const struct assay_shape_set assay_shapes_gemma3_27b;
const struct assay_shape_set assay_shapes_gemma3_27b = {
    .name = "gemma3_27b", .summary = "Gemma 3, 27B", .weights = weights, .m = {16384, 128000}};
