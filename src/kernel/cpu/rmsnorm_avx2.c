/* rmsnorm_avx2.c: rmsnorm with AVX2; the work is in norm_body.h. */
#include "kernel/cpu/vec_avx2.h"

#define NATIVE_OP rmsnorm
#include "kernel/cpu/norm_body.h"
