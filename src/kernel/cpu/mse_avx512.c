/* mse_avx512.c: mse with AVX-512; the work is in mse_body.h. */
#include "kernel/cpu/vec_avx512.h"

#define NATIVE_OP mse
#include "kernel/cpu/mse_body.h"
