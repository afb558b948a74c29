/* gelu_tanh_avx2.c: gelu_tanh with AVX2; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP gelu_tanh
#include "kernel/native/rows/eltwise_body.h"
