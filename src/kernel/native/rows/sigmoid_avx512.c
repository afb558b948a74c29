/* sigmoid_avx512.c: sigmoid with AVX-512; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP sigmoid
#include "kernel/native/rows/eltwise_body.h"
