/* multi_head_attention: q, k, v and output projections without bias around attention. One linear
 * makes q, k and v. */
#include "model/model.h"

static void build(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    (void)model;
    int64_t batch = axes[0], seq = axes[1], dim = axes[2], heads = axes[3];
    int32_t x = assay_graph_input(g, batch * seq, dim);
    int32_t qkv = assay_graph_linear(g, x, 3 * dim, "");
    int32_t attention = assay_graph_attention(g, qkv, seq, heads, false);
    assay_graph_output(g, assay_graph_linear(g, attention, dim, ""));
}

extern const struct assay_model assay_model_multi_head_attention;
const struct assay_model assay_model_multi_head_attention = {
    .name = "multi_head_attention",
    .title = "Multi-head attention",
    .summary = "proj(attention(q, k, v of x)); [batch, seq_len, embed_dim], no bias",
    .build_from = build,
    .axis_names = {"batch", "seq_len", "embed_dim", "num_heads"},
};
