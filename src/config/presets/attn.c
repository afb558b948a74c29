/* attn: self-attention with its four projections. Each score is scaled (2 operations) and goes
 * through softmax (4). */
#include "config/preset.h"

static const struct assay_preset_case cases[] = {
    {.name = "multi_head_attention",
     .model = "multi_head_attention",
     .parameters = {{"batch", 4}, {"seq_len", 1024}, {"embed_dim", 1024}, {"num_heads", 16}},
     .multiples = {{"embed_dim", "num_heads"}},
     .macs = "4*batch*seq_len*embed_dim*embed_dim + 2*batch*seq_len*seq_len*embed_dim",
     .flops = "6*batch*num_heads*seq_len*seq_len"},
    {0},
};

extern const struct assay_preset assay_preset_attn;
const struct assay_preset assay_preset_attn = {
    .name = "attn", .summary = "self-attention, not causal, with its projections", .cases = cases};
