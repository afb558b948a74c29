/* fma_portable.c: fma for any CPU; the work is in fma_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP fma
#include "kernel/cpu/fma_body.h"
