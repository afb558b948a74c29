/* layernorm_gelu: gelu (the erf form) of a layernorm, in one pass. */
#include "op/common.h"

static void shapes(struct assay_problem *p)
{
    p->n_inputs = 3;
    p->n_outputs = 1;
    p->inputs[0] = p->outputs[0] = assay_op_bsd(p);
    p->inputs[1] = p->inputs[2] = assay_op_vector(p, p->axes[2]);
}

/* x has a mean of its own, so that a kernel that forgets to subtract it is caught; gamma lies
 * around 1 and beta around 0, as trained ones do. */
static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    static const double scales[] = {1, 0.25, 0.5}, shifts[] = {0.5, 1, 0};
    assay_tensor_fill_scaled(&p->inputs[index], data, seed, scales[index], shifts[index]);
}

static void reference_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                           int64_t first, int64_t n, double *out, double *sizes)
{
    enum { BLOCK = 512 };
    double mean, variance, gamma[BLOCK], beta[BLOCK];
    assay_op_row_moments(p, in, row, &mean, &variance);
    double scale = 1 / sqrt(variance + p->params[0]);
    struct assay_norm norm = {mean, variance, p->params[0], p->axes[2]};
    assay_op_load_row(p, in, 0, row, first, n, out);
    for (int64_t i = 0; i < n; i++) {
        if (i % BLOCK == 0) {
            int64_t count = n - i < BLOCK ? n - i : BLOCK;
            assay_op_load_row(p, in, 1, 0, first + i, count, gamma);
            assay_op_load_row(p, in, 2, 0, first + i, count, beta);
        }
        if (sizes)
            sizes[i] = 1.13 * assay_op_norm_size(&norm, out[i], gamma[i % BLOCK], beta[i % BLOCK]);
        out[i] = assay_scalar_gelu((out[i] - mean) * scale * gamma[i % BLOCK] + beta[i % BLOCK]);
    }
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    reference_sums(p, in, row, first, n, out, NULL);
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 12);
}

static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    struct assay_tolerance t = assay_op_tolerance_norm(p, p->axes[2]);
    t.absolute += 0x1p-20; /* erf, where its halves cancel */
    return t;
}

const struct assay_op assay_op_layernorm_gelu = {
    .name = "layernorm_gelu",
    .title = "LayerNorm+GELU",
    .summary = "gelu(layernorm(x)), fused; eps 1e-5",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"eps"},
    .params = {1e-5},
    .shapes = shapes,
    .fill = fill,
    .reference = reference,
    .reference_sums = reference_sums,
    .cost = cost,
    .tolerance = tolerance,
    .normalised_axes = 2,
};
