/* relu_avx512.c: relu with AVX-512; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP relu
#include "kernel/native/rows/eltwise_body.h"
