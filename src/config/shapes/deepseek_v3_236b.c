/* deepseek_v3_236b: the weights of DeepSeek V3, 236B. */
#include "config/shapes.h"

static const struct assay_weight_shape weights[] = {
    {"FFN", 1536, 5120},
    {"QKVO_proj", 7168, 7168},
    {0},
};

extern const struct assay_shape_set assay_shapes_deepseek_v3_236b;
const struct assay_shape_set assay_shapes_deepseek_v3_236b = {.name = "deepseek_v3_236b",
                                                              .summary = "DeepSeek V3, 236B",
                                                              .weights = weights,
                                                              .m = {16384, 128000}};
