/* relu_vec.c: max(x, 0). */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_relu.h"

#define NATIVE_OP relu
#define ELTWISE(x, y, param) vec_relu(x)
#include "kernel/native/rows/eltwise_body.h"
