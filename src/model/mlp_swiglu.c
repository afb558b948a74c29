/* mlp_swiglu: up to twice the hidden size, halves x and gate, down(silu(gate) x). */
#include "model/model.h"

static void build(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    (void)model;
    int64_t batch = axes[0], seq = axes[1], dim = axes[2], hidden = axes[3];
    int32_t x = assay_graph_input(g, batch * seq, dim);
    int32_t up = assay_graph_swiglu(g, assay_graph_linear(g, x, 2 * hidden, ""));
    assay_graph_output(g, assay_graph_linear(g, up, dim, ""));
}

extern const struct assay_model assay_model_mlp_swiglu;
const struct assay_model assay_model_mlp_swiglu = {
    .name = "mlp_swiglu",
    .title = "MLP with SwiGLU",
    .summary = "down(silu(gate) * x), [x, gate] = up(x)",
    .build_from = build,
    .axis_names = {"batch", "seq_len", "embed_dim", "hidden_dim"},
};
