/* gelu_tanh_backward_vec.c: dy times the slope of the approximation of gelu with tanh. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_math.h"

#define NATIVE_OP gelu_tanh_backward
#define NATIVE_INPUTS 2
#define ELTWISE(dy, x, param) vec_mul(dy, vec_gelu_tanh_slope(x))
#include "kernel/native/rows/eltwise_body.h"
