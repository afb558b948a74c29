/* cross_entropy_avx512.c: cross_entropy with AVX-512; the work is in cross_entropy_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP cross_entropy
#include "kernel/native/rows/cross_entropy_body.h"
