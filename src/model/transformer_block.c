/* transformer_block: attention and MLP, each behind an RMSNorm and added to what came in. m is the
 * number of sequences, each of 16 tokens of k features; n has no meaning here. */
#include "model/model.h"

enum { SEQ = 16, HEADS = 8, MLP_RATIO = 4 };

static void build(struct assay_graph *g, int64_t m, int64_t k, int64_t n)
{
    (void)n;
    int32_t x = assay_graph_input(g, m * SEQ, k);
    int32_t qkv = assay_graph_linear(g, assay_graph_rmsnorm(g, x), 3 * k, "");
    int32_t attention = assay_graph_attention(g, qkv, SEQ, HEADS, false);
    x = assay_graph_binary(g, "add", x, assay_graph_linear(g, attention, k, ""));
    int32_t hidden = assay_graph_linear(g, assay_graph_rmsnorm(g, x), MLP_RATIO * k, "");
    int32_t mlp = assay_graph_linear(g, assay_graph_unary(g, "gelu", hidden), k, "");
    assay_graph_output(g, assay_graph_binary(g, "add", x, mlp));
}

extern const struct assay_model assay_model_transformer_block;
const struct assay_model assay_model_transformer_block = {
    .name = "transformer_block",
    .title = "Transformer block",
    .summary = "x += proj(attention(rmsnorm(x))); x += fc2(gelu(fc1(rmsnorm(x)))); [m, 16, k]",
    .build = build};
