/* layernorm_onednn.c: over the second axis of [batch * seq, dim], gamma and beta as operands of
 * their own, which the library wants in f32 whatever the type of x. */
#include "kernel/onednn/onednn.h"

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl;
    enum assay_status status = assay_onednn_api(&dnnl, err);
    if (status != ASSAY_OK)
        return status;
    int64_t dim = problem->axes[2];
    struct assay_dnnl_memory_desc x, vector;
    struct assay_dnnl_op_desc desc;
    int code = assay_onednn_describe_rows(dnnl, problem, &x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, ASSAY_DTYPE_F32, 1, &dim, &vector);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->layer_normalization_forward_desc_init(
            &desc, ASSAY_DNNL_FORWARD_INFERENCE, &x, NULL, (float)problem->params[0],
            ASSAY_DNNL_USE_SCALE | ASSAY_DNNL_USE_SHIFT);
    const struct assay_onednn_operand operands[] = {
        {ASSAY_DNNL_ARG_SRC_0, 0, &x, 0},
        {ASSAY_DNNL_ARG_SCALE, 1, &vector, dim},
        {ASSAY_DNNL_ARG_SHIFT, 2, &vector, dim},
        {ASSAY_DNNL_ARG_DST, ASSAY_ONEDNN_OUTPUT, &x, 0},
    };
    return assay_onednn_create(problem, code, &desc, operands, 4, state, err);
}

ASSAY_ONEDNN_KERNEL(layernorm, setup);
