/* eltwise_backward_onednn.c: the gradients of eltwise_onednn.c's ops, over dy and x, or the output
 * y, as long vectors. */
#include "kernel/onednn/onednn.h"

static enum assay_status setup(const struct assay_problem *problem, int algorithm, float alpha,
                               float beta, void **state, struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl;
    enum assay_status status = assay_onednn_api(&dnnl, err);
    if (status != ASSAY_OK)
        return status;
    bool of_output = algorithm == ASSAY_DNNL_ELTWISE_LOGISTIC_USE_DST;
    struct assay_dnnl_memory_desc x;
    struct assay_dnnl_op_desc forward, desc;
    int code = assay_onednn_describe_flat(dnnl, problem, &x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->eltwise_forward_desc_init(&forward, ASSAY_DNNL_FORWARD_TRAINING, algorithm, &x,
                                               alpha, beta);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->eltwise_backward_desc_init(&desc, algorithm, &x, &x, alpha, beta);
    const struct assay_onednn_operand operands[] = {
        {ASSAY_DNNL_ARG_DIFF_DST, 0, &x, 0},
        {of_output ? ASSAY_DNNL_ARG_DST : ASSAY_DNNL_ARG_SRC_0, 1, &x, 0},
        {ASSAY_DNNL_ARG_DIFF_SRC, ASSAY_ONEDNN_OUTPUT, &x, 0},
    };
    return assay_onednn_create_gradient(problem, code, &forward, &desc, operands, 3, state, err);
}

/* As in eltwise_onednn.c. */
#define ELTWISE(op, algorithm, alpha, beta)                                                        \
    static enum assay_status setup_##op(const struct assay_problem *problem, void **state,         \
                                        struct assay_error *err)                                   \
    {                                                                                              \
        return setup(problem, algorithm, alpha, beta, state, err);                                 \
    }                                                                                              \
    ASSAY_ONEDNN_KERNEL(op, setup_##op)

ELTWISE(gelu_backward, ASSAY_DNNL_ELTWISE_GELU_ERF, 0, 0);
ELTWISE(gelu_tanh_backward, ASSAY_DNNL_ELTWISE_GELU_TANH, 0, 0);
ELTWISE(silu_backward, ASSAY_DNNL_ELTWISE_SWISH, 1, 0);
ELTWISE(sigmoid_backward, ASSAY_DNNL_ELTWISE_LOGISTIC_USE_DST, 0, 0);
ELTWISE(relu_backward, ASSAY_DNNL_ELTWISE_RELU, 0, 0);
ELTWISE(leakyrelu_backward, ASSAY_DNNL_ELTWISE_RELU, (float)problem->params[0], 0);
ELTWISE(relu6_backward, ASSAY_DNNL_ELTWISE_CLIP_V2, 0, 6); /* the other two are 1 at 6 */
ELTWISE(hardswish_backward, ASSAY_DNNL_ELTWISE_HARDSWISH, 0, 0);
