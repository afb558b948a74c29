/* rmsnorm_portable.c: rmsnorm in plain C; the work is in norm_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP rmsnorm
#include "kernel/cpu/norm_body.h"
