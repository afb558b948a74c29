/* layernorm_avx2.c: layernorm with AVX2; the work is in norm_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP layernorm
#define NORM_CENTRE 1
#include "kernel/native/rows/norm_body.h"
