/* hardswish_avx512.c: hardswish with AVX-512; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP hardswish
#include "kernel/native/rows/eltwise_body.h"
