/* leakyrelu_vec.c: x, and x times the slope below 0. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_relu.h"

#define NATIVE_OP leakyrelu
#define ELTWISE(x, y, param) vec_leakyrelu(x, param)
#include "kernel/native/rows/eltwise_body.h"
