/* mse_portable.c: mse in plain C; the work is in mse_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP mse
#include "kernel/native/rows/mse_body.h"
