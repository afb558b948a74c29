/* layernorm_gelu_vec.c: gelu of layernorm. */
#include "kernel/native/vec/vec.h"

#define NATIVE_OP layernorm_gelu
#define NORM_CENTRE 1
#define NORM_GELU 1
#include "kernel/native/rows/norm_body.h"
