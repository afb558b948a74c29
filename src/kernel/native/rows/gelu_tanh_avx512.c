/* gelu_tanh_avx512.c: gelu_tanh with AVX-512; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP gelu_tanh
#include "kernel/native/rows/eltwise_body.h"
