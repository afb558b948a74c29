/* cross_entropy_portable.c: cross_entropy in plain C; the work is in cross_entropy_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP cross_entropy
#include "kernel/cpu/cross_entropy_body.h"
