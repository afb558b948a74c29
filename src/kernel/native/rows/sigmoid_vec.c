/* sigmoid_vec.c: 1 / (1 + exp(-x)). */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_math.h"

#define NATIVE_OP sigmoid
#define ELTWISE(x, y, param) vec_sigmoid(x)
#include "kernel/native/rows/eltwise_body.h"
