/* groupnorm_portable.c: groupnorm in plain C; the work is in groupnorm_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP groupnorm
#include "kernel/cpu/groupnorm_body.h"
