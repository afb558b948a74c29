/* rmsnorm_avx2.c: rmsnorm with AVX2; the work is in norm_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP rmsnorm
#include "kernel/native/rows/norm_body.h"
