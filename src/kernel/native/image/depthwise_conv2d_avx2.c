/* depthwise_conv2d_avx2.c: depthwise_conv2d with AVX2; the work is in depthwise_conv2d_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP depthwise_conv2d
#include "kernel/native/image/depthwise_conv2d_body.h"
