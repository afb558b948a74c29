/* mse_avx512.c: mse with AVX-512; the work is in mse_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP mse
#include "kernel/native/rows/mse_body.h"
