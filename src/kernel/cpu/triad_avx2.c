/* triad_avx2.c: triad with AVX2; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_avx2.h"

#define NATIVE_OP triad
#define NATIVE_INPUTS 2
#include "kernel/cpu/eltwise_body.h"
