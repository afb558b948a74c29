/* hardswish_vec.c: x times min(max(x + 3, 0), 6) / 6. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_relu.h"

#define NATIVE_OP hardswish
#define ELTWISE(x, y, param) vec_hardswish(x)
#include "kernel/native/rows/eltwise_body.h"
