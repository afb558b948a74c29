/* group_norm: with gamma and beta. */
#include "model/model.h"

static void build(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    (void)model;
    struct assay_image image = {axes[0], axes[2], axes[3]};
    int32_t x = assay_graph_input(g, image.batch * image.height * image.width, axes[1]);
    assay_graph_output(g, assay_graph_groupnorm(g, x, image, axes[4], ""));
}

extern const struct assay_model assay_model_group_norm;
const struct assay_model assay_model_group_norm = {
    .name = "group_norm",
    .title = "GroupNorm",
    .summary = "groupnorm(x) with gamma and beta; channels last",
    .build_from = build,
    .axis_names = {"batch", "channels", "height", "width", "groups"},
};
