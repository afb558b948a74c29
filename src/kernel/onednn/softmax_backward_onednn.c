/* softmax_backward_onednn.c: from the output, over the second axis of [batch * seq, dim]. */
#include "kernel/onednn/onednn.h"

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl;
    enum assay_status status = assay_onednn_api(&dnnl, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_dnnl_memory_desc y;
    struct assay_dnnl_op_desc forward, desc;
    int code = assay_onednn_describe_rows(dnnl, problem, &y);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->softmax_forward_desc_init(&forward, ASSAY_DNNL_FORWARD_TRAINING, &y, 1);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->softmax_backward_desc_init(&desc, &y, &y, 1);
    const struct assay_onednn_operand operands[] = {
        {ASSAY_DNNL_ARG_DIFF_DST, 0, &y, 0},
        {ASSAY_DNNL_ARG_DST, 1, &y, 0},
        {ASSAY_DNNL_ARG_DIFF_SRC, ASSAY_ONEDNN_OUTPUT, &y, 0},
    };
    return assay_onednn_create_gradient(problem, code, &forward, &desc, operands, 3, state, err);
}

ASSAY_ONEDNN_KERNEL(softmax_backward, setup);
