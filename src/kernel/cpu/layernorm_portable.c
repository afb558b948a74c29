/* layernorm_portable.c: layernorm in plain C; the work is in norm_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP layernorm
#define NORM_CENTRE 1
#include "kernel/cpu/norm_body.h"
