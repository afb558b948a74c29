/* hardswish_portable.c: hardswish in plain C; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP hardswish
#include "kernel/native/rows/eltwise_body.h"
