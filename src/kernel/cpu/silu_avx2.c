/* silu_avx2.c: silu with AVX2; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_avx2.h"

#define NATIVE_OP silu
#include "kernel/cpu/eltwise_body.h"
