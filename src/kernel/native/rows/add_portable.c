/* add_portable.c: add in plain C; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP add
#define NATIVE_INPUTS 2
#include "kernel/native/rows/eltwise_body.h"
