/* depthwise_conv2d_vec_5x5.c: kernels of 5 x 5. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/image/depthwise_conv2d_body.h"

DEPTHWISE_SHARES(DEPTHWISE_SIZE(5x5), 5, 1);
