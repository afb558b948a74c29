/* layernorm_gelu_portable.c: layernorm_gelu in plain C; the work is in norm_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP layernorm_gelu
#define NORM_CENTRE 1
#define NORM_GELU 1
#include "kernel/cpu/norm_body.h"
