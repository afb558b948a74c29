/* depthwise_conv2d_portable.c: depthwise_conv2d in plain C; the work is in depthwise_conv2d_body.h.
 */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP depthwise_conv2d
#include "kernel/native/image/depthwise_conv2d_body.h"
