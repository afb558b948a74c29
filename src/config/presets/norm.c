/* norm: the norms: 6 operations an element, of RMSNorm 4. */
#include "config/preset.h"

static const char *const epsilons[] = {"1e-6", "1e-5", "1e-8", NULL};
static const char *const rms_norms[] = {"rms_norm", "rms_norm_1e_5", "rms_norm_1e_8"};

static const struct assay_preset_case cases[] = {
    {.name = "layer_norm",
     .model = "layer_norm",
     .parameters = {{"batch", 4}, {"seq_len", 512}, {"embed_dim", 2048}},
     .flops = "6*batch*seq_len*embed_dim"},
    {.name = "group_norm",
     .model = "group_norm",
     .parameters = {{"batch", 4}, {"channels", 256}, {"height", 64}, {"width", 64}, {"groups", 32}},
     .multiples = {{"channels", "groups"}},
     .flops = "6*batch*channels*height*width"},
    {.name = "rms_norm",
     .model = "rms_norm",
     .parameters = {{"batch", 4}, {"seq_len", 512}, {"embed_dim", 2048}, {"eps", 0}},
     .zeros = 1u << 3,
     .words = {[3] = epsilons},
     .choice = "eps",
     .models = rms_norms,
     .flops = "4*batch*seq_len*embed_dim"},
    {0},
};

extern const struct assay_preset assay_preset_norm;
const struct assay_preset assay_preset_norm = {
    .name = "norm", .summary = "LayerNorm, GroupNorm and RMSNorm", .cases = cases};
