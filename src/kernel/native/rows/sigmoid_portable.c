/* sigmoid_portable.c: sigmoid in plain C; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP sigmoid
#include "kernel/native/rows/eltwise_body.h"
