/* relu6_avx512.c: relu6 with AVX-512; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_avx512.h"

#define NATIVE_OP relu6
#include "kernel/cpu/eltwise_body.h"
