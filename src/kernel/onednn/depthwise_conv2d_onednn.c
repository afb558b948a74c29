/* depthwise_conv2d_onednn.c: as oneDNN's convolution with a group for each channel, x and y with
 * channels last as the op has them. The library names dimensions in the order of groups, batch,
 * channels, height, width, whatever their order in memory, and chooses the layout of W. It has no
 * AMX path for this. */
#include "kernel/onednn/onednn_weights.h"
#include "op/conv.h"

/* Images in memory: [batch, height, width, channels]. */
static int describe_images(const struct assay_dnnl_api *dnnl, enum assay_dtype dtype, int64_t batch,
                           int64_t height, int64_t width, int64_t channels,
                           struct assay_dnnl_memory_desc *out)
{
    int64_t dims[4] = {batch, channels, height, width};
    int64_t strides[4] = {height * width * channels, 1, width * channels, channels};
    return dnnl->memory_desc_init_by_strides(out, 4, dims, assay_onednn_dtype(dtype), strides);
}

static int describe(const struct assay_dnnl_api *dnnl, const struct assay_problem *p,
                    struct assay_onednn_layout *d)
{
    struct assay_conv c = assay_conv_of(p);
    int64_t w[5] = {c.in, 1, 1, c.kernel, c.kernel}, all = c.kernel * c.kernel * c.in;
    int64_t w_strides[5] = {1, all, all, c.kernel * c.in, c.in};
    int64_t strides[2] = {c.stride, c.stride}, padding[2] = {c.pad, c.pad};
    struct assay_dnnl_memory_desc any;
    int type = assay_onednn_dtype(p->dtype);
    d->bias = c.bias;
    d->residual = -1;
    int code = describe_images(dnnl, p->dtype, c.batch, c.height, c.width, c.in, &d->x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_desc_init_by_strides(&d->stored, 5, w, type, w_strides);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_desc_init_by_tag(&any, 5, w, type, ASSAY_DNNL_FORMAT_ANY);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, p->dtype, 1, &c.in, &d->bias_desc);
    if (code == ASSAY_DNNL_SUCCESS)
        code = describe_images(dnnl, p->dtype, c.batch, c.out_height, c.out_width, c.in, &d->y);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->convolution_forward_desc_init(
            &d->operation, ASSAY_DNNL_FORWARD_INFERENCE, ASSAY_DNNL_CONVOLUTION_DIRECT, &d->x, &any,
            d->bias >= 0 ? &d->bias_desc : NULL, &d->y, strides, padding, padding);
    return code;
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return assay_onednn_weights_setup(problem, describe, state, err);
}

extern const struct assay_kernel assay_kernel_depthwise_conv2d_onednn;
const struct assay_kernel assay_kernel_depthwise_conv2d_onednn = {
    .struct_size = sizeof(struct assay_kernel),
    .abi = ASSAY_KERNEL_ABI,
    .name = "depthwise_conv2d_onednn",
    .op = "depthwise_conv2d",
    .implementation = "onednn",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .can_run = assay_onednn_can_run,
    .setup = setup,
    .run = assay_onednn_weights_run,
    .teardown = assay_onednn_weights_teardown,
    .prepare = assay_onednn_weights_prepare,
    .prepared_bytes = assay_onednn_weights_prepared_bytes,
};
