/* layernorm_portable.c: layernorm in plain C; the work is in norm_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP layernorm
#define NORM_CENTRE 1
#include "kernel/native/rows/norm_body.h"
