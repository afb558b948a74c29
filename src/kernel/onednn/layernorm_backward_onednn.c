/* layernorm_backward_onednn.c: over the second axis of [batch * seq, dim]. The library wants the
 * variance of each row, and adds eps to it; it is made anew in each call from 1 / sqrt(var + eps),
 * eps and all, which takes a thousandth of the time of rows that long. */
#include "kernel/onednn/onednn.h"

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl;
    enum assay_status status = assay_onednn_api(&dnnl, err);
    if (status != ASSAY_OK)
        return status;
    const unsigned flags = ASSAY_DNNL_USE_SCALE | ASSAY_DNNL_USE_SHIFT;
    int64_t dim = problem->axes[2], rows = problem->axes[0] * problem->axes[1];
    struct assay_dnnl_memory_desc x, vector, stats;
    struct assay_dnnl_op_desc forward, desc;
    int code = assay_onednn_describe_rows(dnnl, problem, &x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, ASSAY_DTYPE_F32, 1, &dim, &vector);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, ASSAY_DTYPE_F32, 1, &rows, &stats);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->layer_normalization_forward_desc_init(&forward, ASSAY_DNNL_FORWARD_TRAINING,
                                                           &x, &stats, 0, flags);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->layer_normalization_backward_desc_init(&desc, ASSAY_DNNL_BACKWARD, &x, &x,
                                                            &stats, 0, flags);
    const struct assay_onednn_operand operands[] = {
        {ASSAY_DNNL_ARG_DIFF_DST, 0, &x, 0},
        {ASSAY_DNNL_ARG_SRC_0, 1, &x, 0},
        {ASSAY_DNNL_ARG_SCALE, 2, &vector, dim},
        {ASSAY_DNNL_ARG_SHIFT, 2, &vector, dim}, /* counted, never read */
        {ASSAY_DNNL_ARG_MEAN, 3, &stats, 0},
        {ASSAY_DNNL_ARG_VARIANCE, 4, &stats, rows},
        {ASSAY_DNNL_ARG_DIFF_SRC, ASSAY_ONEDNN_OUTPUT, &x, 0},
        {ASSAY_DNNL_ARG_DIFF_SCALE, ASSAY_ONEDNN_OUTPUT - 1, &vector, dim},
        {ASSAY_DNNL_ARG_DIFF_SHIFT, ASSAY_ONEDNN_OUTPUT - 2, &vector, dim},
    };
    return assay_onednn_create_gradient(problem, code, &forward, &desc, operands, 9, state, err);
}

ASSAY_ONEDNN_KERNEL(layernorm_backward, setup);
