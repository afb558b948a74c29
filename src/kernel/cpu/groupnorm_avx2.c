/* groupnorm_avx2.c: groupnorm with AVX2; the work is in groupnorm_body.h. */
#include "kernel/cpu/vec_avx2.h"

#define NATIVE_OP groupnorm
#include "kernel/cpu/groupnorm_body.h"
