/* layernorm_gelu_portable.c: layernorm_gelu in plain C; the work is in norm_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP layernorm_gelu
#define NORM_CENTRE 1
#define NORM_GELU 1
#include "kernel/native/rows/norm_body.h"
