/* depthwise_conv2d_vec_3x3_stride2.c: kernels of 3 x 3, every other pixel. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/image/depthwise_conv2d_body.h"

DEPTHWISE_SHARES(DEPTHWISE_SIZE(3x3_stride2), 3, 2);
