/* rms_norm: with a weight, eps 1e-6. */
#include "model/model.h"

static void build(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    (void)model;
    int32_t x = assay_graph_input(g, axes[0] * axes[1], axes[2]);
    assay_graph_output(g, assay_graph_rmsnorm_eps(g, x, 1e-6));
}

extern const struct assay_model assay_model_rms_norm;
const struct assay_model assay_model_rms_norm = {
    .name = "rms_norm",
    .title = "RMSNorm",
    .summary = "rmsnorm(x) with a weight, eps 1e-6",
    .build_from = build,
    .axis_names = {"batch", "seq_len", "embed_dim"},
};
