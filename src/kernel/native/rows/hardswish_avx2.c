/* hardswish_avx2.c: hardswish with AVX2; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP hardswish
#include "kernel/native/rows/eltwise_body.h"
