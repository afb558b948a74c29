/* mse_avx2.c: mse with AVX2; the work is in mse_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP mse
#include "kernel/native/rows/mse_body.h"
