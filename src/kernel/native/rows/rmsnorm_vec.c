/* rmsnorm_vec.c: over the root of the mean square, times gamma. */
#include "kernel/native/vec/vec.h"

#define NATIVE_OP rmsnorm
#include "kernel/native/rows/norm_body.h"
