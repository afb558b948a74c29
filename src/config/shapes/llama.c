/* llama: the weights of LLaMA 2 70B, its layers cut over the eight GPUs of one node; four sequences
 * of 4096 tokens. */
#include "config/shapes.h"

static const struct assay_weight_shape weights[] = {
    {"attn.wqkv", 8192, 1280},
    {"attn.w0", 1024, 8192},
    {"ffn.w13", 8192, 7168},
    {"ffn.w2", 3584, 8192},
    {0},
};

extern const struct assay_shape_set assay_shapes_llama;
const struct assay_shape_set assay_shapes_llama = {
    .name = "llama", .summary = "LLaMA 2 70B on one node", .weights = weights, .m = {4 * 4096}};
