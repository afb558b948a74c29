/* mlp: two linear layers with GELU (6 operations an element) or ReLU (1) between them; and with
 * SwiGLU, whose first layer is twice as wide: SiLU (5) of one half times the other (1). */
#include "config/preset.h"

static const char *const activations[] = {"gelu", "relu", NULL};
static const char *const activated[] = {"mlp_gelu", "mlp_relu"};

static const struct assay_preset_case cases[] = {
    {.name = "mlp_gelu",
     .model = "mlp_gelu",
     .parameters = {{"batch", 4},
                    {"seq_len", 512},
                    {"embed_dim", 2048},
                    {"hidden_dim", 8192},
                    {"activation", 0}},
     .zeros = 1u << 4,
     .words = {[4] = activations},
     .choice = "activation",
     .models = activated,
     .names = activated,
     .macs = "2*batch*seq_len*embed_dim*hidden_dim",
     .flops = "(6 - 5*activation)*batch*seq_len*hidden_dim"},
    {.name = "mlp_swiglu",
     .model = "mlp_swiglu",
     .parameters = {{"batch", 4}, {"seq_len", 512}, {"embed_dim", 2048}, {"hidden_dim", 8192}},
     .macs = "3*batch*seq_len*embed_dim*hidden_dim",
     .flops = "6*batch*seq_len*hidden_dim"},
    {0},
};

extern const struct assay_preset assay_preset_mlp;
const struct assay_preset assay_preset_mlp = {
    .name = "mlp",
    .summary = "feed-forward layers, with GELU or ReLU and with SwiGLU",
    .cases = cases};
