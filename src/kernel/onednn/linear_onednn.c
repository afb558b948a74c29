/* linear_onednn.c: x [m, k] times W^T [k, n], which is W [n, k] seen the other way round. Bias and
 * activation are part of the primitive. */
#include "kernel/onednn/onednn_weights.h"

#include "op/linear.h"

#include <string.h>

static enum assay_status accepts(const struct assay_problem *problem, struct assay_error *why)
{
    enum assay_status status = assay_onednn_can_run(problem, why);
    if (status == ASSAY_OK)
        status = assay_linear_is_plain(problem, why);
    if (status == ASSAY_OK && problem && problem->recipe &&
        strcmp(problem->recipe, "baseline") != 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "only the baseline, no %s",
                               problem->recipe);
    return status;
}

struct eltwise {
    int algorithm;
    float alpha;
};

static const struct eltwise eltwise_of[ASSAY_LINEAR_ACTIVATIONS] = {
    [ASSAY_LINEAR_SIGMOID] = {ASSAY_DNNL_ELTWISE_LOGISTIC, 0},
    [ASSAY_LINEAR_RELU] = {ASSAY_DNNL_ELTWISE_RELU, 0},
    [ASSAY_LINEAR_LEAKYRELU] = {ASSAY_DNNL_ELTWISE_RELU, 0.01f},
    [ASSAY_LINEAR_RELU6] = {ASSAY_DNNL_ELTWISE_BOUNDED_RELU, 6},
    [ASSAY_LINEAR_GELU] = {ASSAY_DNNL_ELTWISE_GELU_ERF, 0},
    [ASSAY_LINEAR_SILU] = {ASSAY_DNNL_ELTWISE_SWISH, 1},
    [ASSAY_LINEAR_HARDSWISH] = {ASSAY_DNNL_ELTWISE_HARDSWISH, 0},
};

static int describe(const struct assay_dnnl_api *dnnl, const struct assay_problem *p,
                    struct assay_onednn_layout *d)
{
    int64_t m = p->axes[ASSAY_LINEAR_M], k = p->axes[ASSAY_LINEAR_K], n = p->axes[ASSAY_LINEAR_N];
    int64_t x[2] = {m, k}, w[2] = {k, n}, w_strides[2] = {1, k}, bias[2] = {1, n}, y[2] = {m, n};
    int type = assay_onednn_dtype(p->dtype);
    const struct eltwise *eltwise = &eltwise_of[(int)p->params[ASSAY_LINEAR_ACTIVATION]];
    struct assay_dnnl_memory_desc any;
    d->eltwise = eltwise->algorithm;
    d->alpha = eltwise->alpha;
    if (p->params[ASSAY_LINEAR_BIAS] != 0)
        d->bias = ASSAY_LINEAR_BIAS_INPUT;
    int code = assay_onednn_describe(dnnl, p->dtype, 2, x, &d->x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_desc_init_by_strides(&d->stored, 2, w, type, w_strides);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_desc_init_by_tag(&any, 2, w, type, ASSAY_DNNL_FORMAT_ANY);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, p->dtype, 2, bias, &d->bias_desc);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, p->outputs[0].dtype, 2, y, &d->y);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->matmul_desc_init(&d->operation, &d->x, &any,
                                      d->bias >= 0 ? &d->bias_desc : NULL, &d->y);
    return code;
}

/* With all that the library has for this CPU, AMX included. */
ASSAY_ONEDNN_WEIGHTS_KERNEL(linear_onednn, "linear", ,
                            ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) |
                                ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
                            1, accepts, describe);

/* Without AMX, for machines where the library dies of it. f32 does not use AMX, so it is not among
 * the dtypes. */
ASSAY_ONEDNN_WEIGHTS_KERNEL(linear_onednn_avx512, "linear", _avx512,
                            ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8), 0,
                            accepts, describe);
