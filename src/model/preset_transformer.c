/* preset_transformer: attention and a biased MLP, each behind a LayerNorm and added to what came
 * in. (transformer_block is TorchAO's, with RMSNorm and sequences of 16.) */
#include "model/model.h"

static void build(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    (void)model;
    int64_t batch = axes[0], seq = axes[1], dim = axes[2], heads = axes[3], hidden = axes[4] * dim;
    int32_t x = assay_graph_input(g, batch * seq, dim);
    int32_t qkv = assay_graph_linear(g, assay_graph_layernorm_affine(g, x), 3 * dim, "");
    int32_t attention = assay_graph_attention(g, qkv, seq, heads, false);
    x = assay_graph_binary(g, "add", x, assay_graph_linear(g, attention, dim, ""));
    int32_t up = assay_graph_linear(g, assay_graph_layernorm_affine(g, x), hidden, "bias");
    int32_t mlp = assay_graph_linear(g, assay_graph_unary(g, "gelu", up), dim, "bias");
    assay_graph_output(g, assay_graph_binary(g, "add", x, mlp));
}

extern const struct assay_model assay_model_preset_transformer;
const struct assay_model assay_model_preset_transformer = {
    .name = "preset_transformer",
    .title = "Transformer block",
    .summary = "x += proj(attention(layernorm(x))); x += fc2(gelu(fc1(layernorm(x))))",
    .build_from = build,
    .axis_names = {"batch", "seq_len", "embed_dim", "num_heads", "mlp_ratio"},
};
