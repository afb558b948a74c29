/* relu6_avx2.c: relu6 with AVX2; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_avx2.h"

#define NATIVE_OP relu6
#include "kernel/cpu/eltwise_body.h"
