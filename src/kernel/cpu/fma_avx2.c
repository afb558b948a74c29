/* fma_avx2.c: fma with AVX2; the work is in fma_body.h. */
#include "kernel/cpu/vec_avx2.h"

#define NATIVE_OP fma
#include "kernel/cpu/fma_body.h"
