/* transformer: attention and MLP, each behind a LayerNorm and added to what came in. As KoBench
 * counts: what attn counts, the two layers of the MLP, and GELU; norms and additions not. */
#include "config/preset.h"

static const struct assay_preset_case cases[] = {
    {.name = "transformer_block",
     .model = "preset_transformer",
     .parameters =
         {{"batch", 2}, {"seq_len", 512}, {"embed_dim", 1024}, {"num_heads", 16}, {"mlp_ratio", 4}},
     .multiples = {{"embed_dim", "num_heads"}},
     .macs = "(4 + 2*mlp_ratio)*batch*seq_len*embed_dim*embed_dim"
             " + 2*batch*seq_len*seq_len*embed_dim",
     .flops = "6*batch*num_heads*seq_len*seq_len + 6*batch*seq_len*mlp_ratio*embed_dim"},
    {0},
};

extern const struct assay_preset assay_preset_transformer;
const struct assay_preset assay_preset_transformer = {
    .name = "transformer", .summary = "a transformer block with LayerNorm", .cases = cases};
