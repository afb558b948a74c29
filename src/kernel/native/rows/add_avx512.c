/* add_avx512.c: add with AVX-512; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP add
#define NATIVE_INPUTS 2
#include "kernel/native/rows/eltwise_body.h"
