/* triad_portable.c: triad in plain C; the work is in eltwise_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP triad
#define NATIVE_INPUTS 2
#include "kernel/cpu/eltwise_body.h"
