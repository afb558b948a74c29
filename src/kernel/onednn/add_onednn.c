/* add_onednn.c: both inputs and the output as one long vector. */
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
    int code = assay_onednn_describe_flat(dnnl, problem, &x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->binary_desc_init(&desc, ASSAY_DNNL_BINARY_ADD, &x, &x, &x);
    const struct assay_onednn_operand operands[] = {
        {ASSAY_DNNL_ARG_SRC_0, 0, &x, 0},
        {ASSAY_DNNL_ARG_SRC_1, 1, &x, 0},
        {ASSAY_DNNL_ARG_DST, ASSAY_ONEDNN_OUTPUT, &x, 0},
    };
    return assay_onednn_create(problem, code, &desc, operands, 3, state, err);
}

ASSAY_ONEDNN_KERNEL(add, setup);
