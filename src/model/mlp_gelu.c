/* mlp_gelu: up, gelu, down; mlp_relu: with relu between them. */
#include "model/model.h"

static void build(struct assay_graph *g, const int64_t *axes, const char *activation)
{
    int64_t batch = axes[0], seq = axes[1], dim = axes[2], hidden = axes[3];
    int32_t x = assay_graph_input(g, batch * seq, dim);
    int32_t up = assay_graph_unary(g, activation, assay_graph_linear(g, x, hidden, ""));
    assay_graph_output(g, assay_graph_linear(g, up, dim, ""));
}

static void build_gelu(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    (void)model;
    build(g, axes, "gelu");
}

static void build_relu(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    (void)model;
    build(g, axes, "relu");
}

extern const struct assay_model assay_model_mlp_gelu;
const struct assay_model assay_model_mlp_gelu = {
    .name = "mlp_gelu",
    .title = "MLP with GELU",
    .summary = "down(gelu(up(x)))",
    .build_from = build_gelu,
    .axis_names = {"batch", "seq_len", "embed_dim", "hidden_dim"},
};

extern const struct assay_model assay_model_mlp_relu;
const struct assay_model assay_model_mlp_relu = {
    .name = "mlp_relu",
    .title = "MLP with ReLU",
    .summary = "down(relu(up(x)))",
    .build_from = build_relu,
    .axis_names = {"batch", "seq_len", "embed_dim", "hidden_dim"},
};
