/* silu_portable.c: silu in plain C; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP silu
#include "kernel/native/rows/eltwise_body.h"
