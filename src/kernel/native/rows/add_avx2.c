/* add_avx2.c: add with AVX2; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP add
#define NATIVE_INPUTS 2
#include "kernel/native/rows/eltwise_body.h"
