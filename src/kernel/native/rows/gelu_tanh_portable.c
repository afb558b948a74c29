/* gelu_tanh_portable.c: gelu_tanh in plain C; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP gelu_tanh
#include "kernel/native/rows/eltwise_body.h"
