/* layer_norm: with gamma and beta. */
#include "model/model.h"

static void build(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    (void)model;
    int32_t x = assay_graph_input(g, axes[0] * axes[1], axes[2]);
    assay_graph_output(g, assay_graph_layernorm_affine(g, x));
}

extern const struct assay_model assay_model_layer_norm;
const struct assay_model assay_model_layer_norm = {
    .name = "layer_norm",
    .title = "LayerNorm",
    .summary = "layernorm(x) with gamma and beta",
    .build_from = build,
    .axis_names = {"batch", "seq_len", "embed_dim"},
};
