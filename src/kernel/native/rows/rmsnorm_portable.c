/* rmsnorm_portable.c: rmsnorm in plain C; the work is in norm_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP rmsnorm
#include "kernel/native/rows/norm_body.h"
