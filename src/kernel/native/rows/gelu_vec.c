/* gelu_vec.c: x times the normal distribution function, which is erf. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_math.h"

#define NATIVE_OP gelu
#define ELTWISE(x, y, param) vec_gelu(x)
#include "kernel/native/rows/eltwise_body.h"
