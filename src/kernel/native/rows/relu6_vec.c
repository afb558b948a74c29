/* relu6_vec.c: min(max(x, 0), 6). */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_relu.h"

#define NATIVE_OP relu6
#define ELTWISE(x, y, param) vec_relu6(x)
#include "kernel/native/rows/eltwise_body.h"
