/* silu_portable.c: silu in plain C; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP silu
#include "kernel/cpu/eltwise_body.h"
