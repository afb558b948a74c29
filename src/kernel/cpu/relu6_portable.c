/* relu6_portable.c: relu6 in plain C; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP relu6
#include "kernel/cpu/eltwise_body.h"
