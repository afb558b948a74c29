/* cross_entropy_avx2.c: cross_entropy with AVX2; the work is in cross_entropy_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP cross_entropy
#include "kernel/native/rows/cross_entropy_body.h"
