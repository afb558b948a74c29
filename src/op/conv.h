/* conv.h: the sizes and parameters of the ops `conv2d` and `depthwise_conv2d` and of their
 * gradients, for their kernels and for models. Channels are last everywhere: an image is height *
 * width rows of channels, so a convolution of 1 x 1 is a `linear` over these rows.
 *
 * conv2d: x [batch, height, width, in], W [out, kernel, kernel, in], y [batch, oh, ow, out].
 * depthwise_conv2d: x [batch, height, width, channels], W [kernel, kernel, channels]. */
#ifndef ASSAY_OP_CONV_H
#define ASSAY_OP_CONV_H

#include "tensor/tensor.h"
#include <assay/assay_kernel.h>

enum { /* axes of conv2d */
       ASSAY_CONV2D_BATCH,
       ASSAY_CONV2D_HEIGHT,
       ASSAY_CONV2D_WIDTH,
       ASSAY_CONV2D_IN,
       ASSAY_CONV2D_OUT,
       ASSAY_CONV2D_KERNEL,
       ASSAY_CONV2D_STRIDE
};
enum { /* axes of depthwise_conv2d */
       ASSAY_DEPTHWISE_BATCH,
       ASSAY_DEPTHWISE_HEIGHT,
       ASSAY_DEPTHWISE_WIDTH,
       ASSAY_DEPTHWISE_CHANNELS,
       ASSAY_DEPTHWISE_KERNEL,
       ASSAY_DEPTHWISE_STRIDE
};
enum {                 /* params of both; depthwise_conv2d has no residual */
       ASSAY_CONV_PAD, /* zeros around the image; -1: (kernel - 1) / 2 */
       ASSAY_CONV_BIAS,
       ASSAY_CONV_ADD
};
/* Inputs. Behind the first two come, where they are there: the bias [out], the residual, of y's
 * shape. */
enum { ASSAY_CONV_X, ASSAY_CONV_W };

/* Of conv2d_backward and depthwise_conv2d_backward, whose axes are those of the forward ops:
 * inputs, and outputs. dbias [out] is there in the mode that has a bias. */
enum { ASSAY_CONV_BACKWARD_DY, ASSAY_CONV_BACKWARD_X, ASSAY_CONV_BACKWARD_W };
enum { ASSAY_CONV_DX, ASSAY_CONV_DW, ASSAY_CONV_DBIAS };

/* A problem of any of these ops as plain sizes. */
struct assay_conv {
    int64_t batch, height, width, in, out, kernel, stride, pad;
    int64_t out_height, out_width;
    int32_t bias, residual; /* the inputs; -1: there is none, as in gradients */
};
struct assay_conv assay_conv_of(const struct assay_problem *problem);

#endif
