/* fma_avx2.c: fma with AVX2; the work is in fma_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP fma
#include "kernel/native/stream/fma_body.h"
