/* relu_portable.c: relu in plain C; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP relu
#include "kernel/native/rows/eltwise_body.h"
