/* groupnorm_avx2.c: groupnorm with AVX2; the work is in groupnorm_body.h. */
#include "kernel/native/vec/vec_avx2.h"

#define NATIVE_OP groupnorm
#include "kernel/native/image/groupnorm_body.h"
