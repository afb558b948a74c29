/* leakyrelu_avx2.c: leakyrelu with AVX2; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP leakyrelu
#include "kernel/native/rows/eltwise_body.h"
