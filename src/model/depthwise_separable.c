/* depthwise_separable: each channel convolved by itself, then all mixed by a convolution of 1 x 1.
 */
#include "model/model.h"

static void build(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    (void)model;
    int64_t channels = axes[1];
    struct assay_image image = {axes[0], axes[2], axes[3]};
    int32_t x = assay_graph_input(g, image.batch * image.height * image.width, channels);
    int32_t y = assay_graph_depthwise(g, x, image, axes[4], 1, "");
    assay_graph_output(g, assay_graph_linear(g, y, channels, "")); /* 1 x 1 */
}

extern const struct assay_model assay_model_depthwise_separable;
const struct assay_model assay_model_depthwise_separable = {
    .name = "depthwise_separable",
    .title = "Depthwise separable conv2d",
    .summary = "conv1x1(depthwise(x)), channels last",
    .build_from = build,
    .axis_names = {"batch", "channels", "height", "width", "kernel"},
};
