/* swiglu_avx512.c: swiglu with AVX-512; the work is in swiglu_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP swiglu
#include "kernel/native/rows/swiglu_body.h"
