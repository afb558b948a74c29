/* llama4: the weights of LLaMA 4. */
#include "config/shapes.h"

static const struct assay_weight_shape weights[] = {
    {"FFN", 8192, 5120},
    {"QO_proj", 8192, 8192},
    {"KV_proj", 8192, 1024},
    {0},
};

extern const struct assay_shape_set assay_shapes_llama4;
const struct assay_shape_set assay_shapes_llama4 = {
    .name = "llama4", .summary = "LLaMA 4", .weights = weights, .m = {16384, 128000}};
