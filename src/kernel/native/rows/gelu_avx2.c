/* gelu_avx2.c: gelu with AVX2; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP gelu
#include "kernel/native/rows/eltwise_body.h"
