/* sigmoid_backward_vec.c: dy y (1 - y), from the output y. */
#include "kernel/native/vec/vec.h"

#define NATIVE_OP sigmoid_backward
#define NATIVE_INPUTS 2
#define ELTWISE(dy, y, param) vec_mul(vec_mul(dy, y), vec_sub(vec_set(1.0f), y))
#include "kernel/native/rows/eltwise_body.h"
