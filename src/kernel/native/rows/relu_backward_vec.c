/* relu_backward_vec.c: dy where x > 0. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_relu.h"

#define NATIVE_OP relu_backward
#define NATIVE_INPUTS 2
#define ELTWISE(dy, x, param) vec_relu_gradient(dy, x)
#include "kernel/native/rows/eltwise_body.h"
