/* depthwise_conv2d_vec_3x3.c: kernels of 3 x 3. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/image/depthwise_conv2d_body.h"

DEPTHWISE_SHARES(DEPTHWISE_SIZE(3x3), 3, 1);
