/* relu6_portable.c: relu6 in plain C; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP relu6
#include "kernel/native/rows/eltwise_body.h"
