/* gelu_backward_vec.c: dy times the normal distribution function and x times its density. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_math.h"

#define NATIVE_OP gelu_backward
#define NATIVE_INPUTS 2
#define ELTWISE(dy, x, param) vec_mul(dy, vec_gelu_slope(x))
#include "kernel/native/rows/eltwise_body.h"
