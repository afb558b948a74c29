/* qwen3_32b: the weights of Qwen 3, 32B. */
#include "config/shapes.h"

static const struct assay_weight_shape weights[] = {
    {"QO_proj", 5120, 5120},
    {"KV_proj", 5120, 640},
    {0},
};

extern const struct assay_shape_set assay_shapes_qwen3_32b;
const struct assay_shape_set assay_shapes_qwen3_32b = {
    .name = "qwen3_32b", .summary = "Qwen 3, 32B", .weights = weights, .m = {16384, 128000}};
