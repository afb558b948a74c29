/* linear: one linear layer without a bias. */
#include "model/model.h"

static void build(struct assay_graph *g, int64_t m, int64_t k, int64_t n)
{
    assay_graph_output(g, assay_graph_linear(g, assay_graph_input(g, m, k), n, ""));
}

extern const struct assay_model assay_model_linear;
const struct assay_model assay_model_linear = {
    .name = "linear", .title = "Linear", .summary = "y = x W^T", .build = build};
