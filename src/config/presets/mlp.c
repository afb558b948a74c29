/* mlp: two linear layers with GELU (6 operations an element) between them; and with SwiGLU, whose
 * first layer is twice as wide: SiLU (5) of one half times the other (1). */
#include "config/preset.h"

#define PARAMETERS                                                                                 \
    {                                                                                              \
        {"batch", 4}, {"seq_len", 512}, {"embed_dim", 2048}, { "hidden_dim", 8192 }                \
    }

static const struct assay_preset_case cases[] = {
    {.name = "mlp_gelu",
     .model = "mlp_gelu",
     .parameters = PARAMETERS,
     .macs = "2*batch*seq_len*embed_dim*hidden_dim",
     .flops = "6*batch*seq_len*hidden_dim"},
    {.name = "mlp_swiglu",
     .model = "mlp_swiglu",
     .parameters = PARAMETERS,
     .macs = "3*batch*seq_len*embed_dim*hidden_dim",
     .flops = "6*batch*seq_len*hidden_dim"},
    {0},
};

extern const struct assay_preset assay_preset_mlp;
const struct assay_preset assay_preset_mlp = {
    .name = "mlp", .summary = "feed-forward layers, with GELU and with SwiGLU", .cases = cases};
