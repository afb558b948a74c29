/* triad_vec.c: x + 3 y. */
#include "kernel/native/vec/vec.h"

#define NATIVE_OP triad
#define NATIVE_INPUTS 2
#define ELTWISE(x, y, param) vec_fma(y, vec_set(3.0f), x)
#include "kernel/native/rows/eltwise_body.h"
