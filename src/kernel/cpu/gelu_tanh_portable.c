/* gelu_tanh_portable.c: gelu_tanh in plain C; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP gelu_tanh
#include "kernel/cpu/eltwise_body.h"
