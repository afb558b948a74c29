/* conv2d: one convolution without bias. */
#include "model/model.h"

#include <stdio.h>

static void build(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    (void)model;
    char mode[32];
    struct assay_image image = {axes[0], axes[3], axes[4]};
    int32_t x = assay_graph_input(g, image.batch * image.height * image.width, axes[1]);
    snprintf(mode, sizeof mode, "pad%lld", (long long)axes[6]);
    assay_graph_output(g, assay_graph_conv2d(g, x, image, axes[2], axes[5], axes[7], mode));
}

extern const struct assay_model assay_model_conv2d;
const struct assay_model assay_model_conv2d = {
    .name = "conv2d",
    .title = "Conv2d",
    .summary = "one convolution, channels last",
    .build_from = build,
    .zero_axes = 1u << 6,
    .axis_names = {"batch", "in_channels", "out_channels", "height", "width", "kernel", "padding",
                   "stride"},
};
