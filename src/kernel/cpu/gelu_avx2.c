/* gelu_avx2.c: gelu with AVX2; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_avx2.h"

#define NATIVE_OP gelu
#include "kernel/cpu/eltwise_body.h"
