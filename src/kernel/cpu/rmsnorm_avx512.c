/* rmsnorm_avx512.c: rmsnorm with AVX-512; the work is in norm_body.h. */
#include "kernel/cpu/vec_avx512.h"

#define NATIVE_OP rmsnorm
#include "kernel/cpu/norm_body.h"
