/* gelu_portable.c: gelu in plain C; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP gelu
#include "kernel/cpu/eltwise_body.h"
