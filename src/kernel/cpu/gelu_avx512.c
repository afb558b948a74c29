/* gelu_avx512.c: gelu with AVX-512; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_avx512.h"

#define NATIVE_OP gelu
#include "kernel/cpu/eltwise_body.h"
