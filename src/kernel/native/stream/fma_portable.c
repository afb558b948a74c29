/* fma_portable.c: fma for any CPU; the work is in fma_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP fma
#include "kernel/native/stream/fma_body.h"
