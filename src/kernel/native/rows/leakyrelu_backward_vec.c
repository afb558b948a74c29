/* leakyrelu_backward_vec.c: dy, and dy times the slope where x <= 0. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_relu.h"

#define NATIVE_OP leakyrelu_backward
#define NATIVE_INPUTS 2
#define ELTWISE(dy, x, param) vec_leakyrelu_gradient(dy, x, param)
#include "kernel/native/rows/eltwise_body.h"
