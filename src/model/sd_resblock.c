/* sd_resblock: the residual block of Stable Diffusion's image model. */
#include "model/model.h"

static void build(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    (void)model;
    int64_t channels = axes[1], groups = axes[4];
    struct assay_image image = {axes[0], axes[2], axes[3]};
    int32_t x = assay_graph_input(g, image.batch * image.height * image.width, channels), y = x;
    for (int layer = 0; layer < 2; layer++) {
        y = assay_graph_unary(g, "silu", assay_graph_groupnorm(g, y, image, groups, ""));
        y = assay_graph_conv2d(g, y, image, channels, 3, 1, "bias");
    }
    assay_graph_output(g, assay_graph_binary(g, "add", x, y));
}

extern const struct assay_model assay_model_sd_resblock;
const struct assay_model assay_model_sd_resblock = {
    .name = "sd_resblock",
    .title = "Stable Diffusion residual block",
    .summary = "x + conv(silu(gn(conv(silu(gn(x)))))), biased 3x3 convolutions, channels last",
    .build_from = build,
    .axis_names = {"batch", "channels", "height", "width", "groups"},
};
