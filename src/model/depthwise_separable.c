/* depthwise_separable: each channel convolved by itself, then all mixed by a convolution of 1 x 1;
 * depthwise: without the second. */
#include "model/model.h"

#include <stdio.h>

static int32_t convolve(struct assay_graph *g, const int64_t *axes)
{
    char mode[32];
    struct assay_image image = {axes[0], axes[2], axes[3]};
    int32_t x = assay_graph_input(g, image.batch * image.height * image.width, axes[1]);
    snprintf(mode, sizeof mode, "pad%lld", (long long)axes[5]);
    return assay_graph_depthwise(g, x, image, axes[4], axes[6], mode);
}

static void build_separable(struct assay_graph *g, const struct assay_model *model,
                            const int64_t *axes)
{
    (void)model;
    assay_graph_output(g, assay_graph_linear(g, convolve(g, axes), axes[1], "")); /* 1 x 1 */
}

static void build_depthwise(struct assay_graph *g, const struct assay_model *model,
                            const int64_t *axes)
{
    (void)model;
    assay_graph_output(g, convolve(g, axes));
}

#define AXES                                                                                       \
    {                                                                                              \
        "batch", "channels", "height", "width", "kernel", "padding", "stride"                      \
    }

extern const struct assay_model assay_model_depthwise_separable;
const struct assay_model assay_model_depthwise_separable = {
    .name = "depthwise_separable",
    .title = "Depthwise separable conv2d",
    .summary = "conv1x1(depthwise(x)), channels last",
    .build_from = build_separable,
    .zero_axes = 1u << 5,
    .axis_names = AXES,
};

extern const struct assay_model assay_model_depthwise;
const struct assay_model assay_model_depthwise = {
    .name = "depthwise",
    .title = "Depthwise conv2d",
    .summary = "depthwise(x), channels last",
    .build_from = build_depthwise,
    .zero_axes = 1u << 5,
    .axis_names = AXES,
};
