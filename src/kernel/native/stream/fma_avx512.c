/* fma_avx512.c: fma with AVX-512; the work is in fma_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP fma
#include "kernel/native/stream/fma_body.h"
