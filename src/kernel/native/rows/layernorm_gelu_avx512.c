/* layernorm_gelu_avx512.c: layernorm_gelu with AVX-512; the work is in norm_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP layernorm_gelu
#define NORM_CENTRE 1
#define NORM_GELU 1
#include "kernel/native/rows/norm_body.h"
