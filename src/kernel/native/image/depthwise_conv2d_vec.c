/* depthwise_conv2d_vec.c: the kernel, which chooses the share of a size, and the share of any. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/image/depthwise_conv2d_body.h"

DEPTHWISE_SHARES(DEPTHWISE_SIZE(any), 0, 0);

static depthwise_shares *shares_of(const struct assay_conv *conv)
{
    if (conv->kernel == 3 && conv->stride == 1)
        return &DEPTHWISE_SIZE(3x3);
    if (conv->kernel == 3 && conv->stride == 2)
        return &DEPTHWISE_SIZE(3x3_stride2);
    if (conv->kernel == 5 && conv->stride == 1)
        return &DEPTHWISE_SIZE(5x5);
    return &DEPTHWISE_SIZE(any);
}

VEC_INLINE double depthwise(enum native_kind kind, bool stream, const struct native_job *job,
                            const struct assay_args *args, int64_t begin, int64_t end)
{
    struct assay_conv conv = assay_conv_of(job->problem);
    struct depthwise d = {
        .conv = conv,
        .x = args->in[ASSAY_CONV_X],
        .w = args->in[ASSAY_CONV_W],
        .bias = conv.bias >= 0 ? args->in[conv.bias] : NULL,
        .out = args->out[0],
        .inner_begin = (conv.pad + conv.stride - 1) / conv.stride,
    };
    if (conv.width + conv.pad >= conv.kernel)
        d.inner_end = (conv.width + conv.pad - conv.kernel) / conv.stride + 1;
    if (native_head(kind, conv.in, 64) != 0) /* pixels that do not begin on a cache line */
        stream = false;
    (*shares_of(&conv))[kind][stream](&d, begin, end);
    if (stream)
        vec_stream_end();
    return 0;
}

#define NATIVE_OP depthwise_conv2d
NATIVE_KERNEL(depthwise, NATIVE_ROWS, false);
