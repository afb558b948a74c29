/* triad_avx2.c: triad with AVX2; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP triad
#define NATIVE_INPUTS 2
#include "kernel/native/rows/eltwise_body.h"
