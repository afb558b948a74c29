/* hardswish_backward_vec.c: dy times 0, x / 3 + 1 / 2 or 1. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_relu.h"

#define NATIVE_OP hardswish_backward
#define NATIVE_INPUTS 2
#define ELTWISE(dy, x, param) vec_hardswish_gradient(dy, x)
#include "kernel/native/rows/eltwise_body.h"
