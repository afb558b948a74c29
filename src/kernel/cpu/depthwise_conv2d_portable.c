/* depthwise_conv2d_portable.c: depthwise_conv2d in plain C; the work is in depthwise_conv2d_body.h.
 */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP depthwise_conv2d
#include "kernel/cpu/depthwise_conv2d_body.h"
