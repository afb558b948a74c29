/* ln_linear_ACT: LayerNorm over k without weights, a linear layer without a bias, an activation. */
#include "model/model.h"

static void build(struct assay_graph *g, int64_t m, int64_t k, int64_t n, const char *activation)
{
    int32_t x = assay_graph_input(g, m, k);
    int32_t y = assay_graph_linear(g, assay_graph_layernorm(g, x), n, "");
    assay_graph_output(g, assay_graph_unary(g, activation, y));
}

#define LN_LINEAR(act, title_)                                                                     \
    static void build_##act(struct assay_graph *g, int64_t m, int64_t k, int64_t n)                \
    {                                                                                              \
        build(g, m, k, n, #act);                                                                   \
    }                                                                                              \
    extern const struct assay_model assay_model_ln_linear_##act;                                   \
    const struct assay_model assay_model_ln_linear_##act = {                                       \
        .name = "ln_linear_" #act,                                                                 \
        .title = "LayerNorm + linear + " title_,                                                   \
        .summary = "y = " #act "(layernorm(x) W^T)",                                               \
        .build = build_##act}

LN_LINEAR(sigmoid, "sigmoid");
LN_LINEAR(relu, "ReLU");
LN_LINEAR(leakyrelu, "leaky ReLU");
LN_LINEAR(relu6, "ReLU6");
LN_LINEAR(gelu, "GELU");
LN_LINEAR(silu, "SiLU");
LN_LINEAR(hardswish, "hardswish");
