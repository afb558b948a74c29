/* cross_entropy_avx2.c: cross_entropy with AVX2; the work is in cross_entropy_body.h. */
#include "kernel/cpu/vec_avx2.h"

#define NATIVE_OP cross_entropy
#include "kernel/cpu/cross_entropy_body.h"
