/* conv2d_onednn.c: the direct algorithm, x and y with channels last as the op has them. The
 * library names dimensions in the order of batch, channels, height, width, whatever their order in
 * memory. The bias is part of the primitive; a residual, which lies elsewhere than y, is its binary
 * post-op. */
#include "kernel/onednn/onednn_weights.h"

#include "op/conv.h"

/* [n, height, width, channels] in memory. */
static int describe_channels_last(const struct assay_dnnl_api *dnnl, enum assay_dtype dtype,
                                  const int64_t dims[4], struct assay_dnnl_memory_desc *out)
{
    int64_t channels = dims[1], row = dims[3] * channels;
    int64_t strides[4] = {dims[2] * row, 1, row, channels};
    return dnnl->memory_desc_init_by_strides(out, 4, dims, assay_onednn_dtype(dtype), strides);
}

static int describe(const struct assay_dnnl_api *dnnl, const struct assay_problem *p,
                    struct assay_onednn_layout *d)
{
    struct assay_conv c = assay_conv_of(p);
    int64_t x[4] = {c.batch, c.in, c.height, c.width}, w[4] = {c.out, c.in, c.kernel, c.kernel};
    int64_t y[4] = {c.batch, c.out, c.out_height, c.out_width};
    int64_t strides[2] = {c.stride, c.stride}, padding[2] = {c.pad, c.pad};
    struct assay_dnnl_memory_desc any;
    d->bias = c.bias;
    d->residual = c.residual;
    int code = describe_channels_last(dnnl, p->dtype, x, &d->x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = describe_channels_last(dnnl, p->dtype, w, &d->stored);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_desc_init_by_tag(&any, 4, w, assay_onednn_dtype(p->dtype),
                                             ASSAY_DNNL_FORMAT_ANY);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, p->dtype, 1, &c.out, &d->bias_desc);
    if (code == ASSAY_DNNL_SUCCESS)
        code = describe_channels_last(dnnl, p->dtype, y, &d->y);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->convolution_forward_desc_init(
            &d->operation, ASSAY_DNNL_FORWARD_INFERENCE, ASSAY_DNNL_CONVOLUTION_DIRECT, &d->x, &any,
            d->bias >= 0 ? &d->bias_desc : NULL, &d->y, strides, padding, padding);
    return code;
}

/* With all that the library has for this CPU, AMX included. */
ASSAY_ONEDNN_WEIGHTS_KERNEL(conv2d_onednn, "conv2d", ,
                            ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16), 1,
                            assay_onednn_can_run, describe);

/* Without AMX, for machines where the library dies of it. f32 does not use AMX, so it is not among
 * the dtypes. */
ASSAY_ONEDNN_WEIGHTS_KERNEL(conv2d_onednn_avx512, "conv2d", _avx512,
                            ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16), 0, assay_onednn_can_run, describe);
