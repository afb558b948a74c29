/* relu_portable.c: relu in plain C; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP relu
#include "kernel/cpu/eltwise_body.h"
