/* silu_backward_vec.c: dy times the slope of x sigmoid(x). */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_math.h"

#define NATIVE_OP silu_backward
#define NATIVE_INPUTS 2
#define ELTWISE(dy, x, param) vec_mul(dy, vec_silu_slope(x))
#include "kernel/native/rows/eltwise_body.h"
