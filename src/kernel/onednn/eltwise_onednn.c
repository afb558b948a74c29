/* eltwise_onednn.c: ops that are one of the library's element-wise algorithms, over x as one long
 * vector. */
#include "kernel/onednn/onednn.h"

static enum assay_status setup(const struct assay_problem *problem, int algorithm, float alpha,
                               void **state, struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl;
    enum assay_status status = assay_onednn_api(&dnnl, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_dnnl_memory_desc x;
    struct assay_dnnl_op_desc desc;
    int code = assay_onednn_describe_flat(dnnl, problem, &x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->eltwise_forward_desc_init(&desc, ASSAY_DNNL_FORWARD_INFERENCE, algorithm, &x,
                                               alpha, 0);
    const struct assay_onednn_operand operands[] = {
        {ASSAY_DNNL_ARG_SRC_0, 0, &x, 0},
        {ASSAY_DNNL_ARG_DST, ASSAY_ONEDNN_OUTPUT, &x, 0},
    };
    return assay_onednn_create(problem, code, &desc, operands, 2, state, err);
}

/* The kernel of an op; alpha, an expression that may use `problem`, is what the algorithm makes of
 * it. */
#define ELTWISE(op, algorithm, alpha)                                                              \
    static enum assay_status setup_##op(const struct assay_problem *problem, void **state,         \
                                        struct assay_error *err)                                   \
    {                                                                                              \
        return setup(problem, algorithm, alpha, state, err);                                       \
    }                                                                                              \
    ASSAY_ONEDNN_KERNEL(op, setup_##op)

ELTWISE(gelu, ASSAY_DNNL_ELTWISE_GELU_ERF, 0);
ELTWISE(gelu_tanh, ASSAY_DNNL_ELTWISE_GELU_TANH, 0);
ELTWISE(silu, ASSAY_DNNL_ELTWISE_SWISH, 1); /* x sigmoid(alpha x) */
ELTWISE(sigmoid, ASSAY_DNNL_ELTWISE_LOGISTIC, 0);
ELTWISE(relu, ASSAY_DNNL_ELTWISE_RELU, 0); /* slope below 0 */
ELTWISE(leakyrelu, ASSAY_DNNL_ELTWISE_RELU, (float)problem->params[0]);
ELTWISE(relu6, ASSAY_DNNL_ELTWISE_BOUNDED_RELU, 6);  /* bound */
ELTWISE(hardswish, ASSAY_DNNL_ELTWISE_HARDSWISH, 0); /* in 2.x without parameters */
