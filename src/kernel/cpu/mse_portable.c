/* mse_portable.c: mse in plain C; the work is in mse_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP mse
#include "kernel/cpu/mse_body.h"
