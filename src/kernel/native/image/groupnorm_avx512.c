/* groupnorm_avx512.c: groupnorm with AVX-512; the work is in groupnorm_body.h. */
#include "kernel/native/vec/vec_avx512.h"

#define NATIVE_OP groupnorm
#include "kernel/native/image/groupnorm_body.h"
