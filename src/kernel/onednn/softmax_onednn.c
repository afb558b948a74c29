/* softmax_onednn.c: over the second axis of [batch * seq, dim]. */
#include "kernel/onednn/onednn.h"

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl;
    enum assay_status status = assay_onednn_api(&dnnl, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_dnnl_memory_desc x;
    struct assay_dnnl_op_desc desc;
    int code = assay_onednn_describe_rows(dnnl, problem, &x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->softmax_forward_desc_init(&desc, ASSAY_DNNL_FORWARD_INFERENCE, &x, 1);
    const struct assay_onednn_operand operands[] = {
        {ASSAY_DNNL_ARG_SRC_0, 0, &x, 0},
        {ASSAY_DNNL_ARG_DST, ASSAY_ONEDNN_OUTPUT, &x, 0},
    };
    return assay_onednn_create(problem, code, &desc, operands, 2, state, err);
}

ASSAY_ONEDNN_KERNEL(softmax, setup);
