/* rmsnorm_avx512.c: rmsnorm with AVX-512; the work is in norm_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP rmsnorm
#include "kernel/native/rows/norm_body.h"
