/* relu6_backward_vec.c: dy where 0 < x < 6. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_relu.h"

#define NATIVE_OP relu6_backward
#define NATIVE_INPUTS 2
#define ELTWISE(dy, x, param) vec_relu6_gradient(dy, x)
#include "kernel/native/rows/eltwise_body.h"
