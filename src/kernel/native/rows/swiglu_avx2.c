/* swiglu_avx2.c: swiglu with AVX2; the work is in swiglu_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP swiglu
#include "kernel/native/rows/swiglu_body.h"
