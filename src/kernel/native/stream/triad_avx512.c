/* triad_avx512.c: triad with AVX-512; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP triad
#define NATIVE_INPUTS 2
#include "kernel/native/rows/eltwise_body.h"
