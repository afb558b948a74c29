/* deepseek_v3_671b: the weights of DeepSeek V3, 671B. */
#include "config/shapes.h"

static const struct assay_weight_shape weights[] = {
    {"FFN", 2048, 7168},
    {"QKVO_proj", 7168, 7168},
    {0},
};

extern const struct assay_shape_set assay_shapes_deepseek_v3_671b;
const struct assay_shape_set assay_shapes_deepseek_v3_671b = {.name = "deepseek_v3_671b",
                                                              .summary = "DeepSeek V3, 671B",
                                                              .weights = weights,
                                                              .m = {16384, 128000}};
