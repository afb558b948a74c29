/* add_vec.c: x + y. */
#include "kernel/native/vec/vec.h"

#define NATIVE_OP add
#define NATIVE_INPUTS 2
#define ELTWISE(x, y, param) vec_add(x, y)
#include "kernel/native/rows/eltwise_body.h"
