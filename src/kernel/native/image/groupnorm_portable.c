/* groupnorm_portable.c: groupnorm in plain C; the work is in groupnorm_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP groupnorm
#include "kernel/native/image/groupnorm_body.h"
