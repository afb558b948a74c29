/* rms_norm: with a weight, eps 1e-6; rms_norm_1e_5 and rms_norm_1e_8: the same with other eps. */
#include "model/model.h"

static void build_with(struct assay_graph *g, const int64_t *axes, double eps)
{
    int32_t x = assay_graph_input(g, axes[0] * axes[1], axes[2]);
    assay_graph_output(g, assay_graph_rmsnorm_eps(g, x, eps));
}

/* clang-format off */
#define RMS_NORM(suffix, eps)                                                                      \
    static void build##suffix(struct assay_graph *g, const struct assay_model *model,              \
                              const int64_t *axes)                                                 \
    {                                                                                              \
        (void)model;                                                                               \
        build_with(g, axes, eps);                                                                       \
    }                                                                                              \
    extern const struct assay_model assay_model_rms_norm##suffix;                                  \
    const struct assay_model assay_model_rms_norm##suffix = {                                      \
        .name = "rms_norm" #suffix,                                                                \
        .title = "RMSNorm",                                                                        \
        .summary = "rmsnorm(x) with a weight, eps " #eps,                                          \
        .build_from = build##suffix,                                                               \
        .axis_names = {"batch", "seq_len", "embed_dim"},                                           \
    };
/* clang-format on */

RMS_NORM(, 1e-6)
RMS_NORM(_1e_5, 1e-5)
RMS_NORM(_1e_8, 1e-8)
