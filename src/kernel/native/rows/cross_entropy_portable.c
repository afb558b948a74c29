/* cross_entropy_portable.c: cross_entropy in plain C; the work is in cross_entropy_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP cross_entropy
#include "kernel/native/rows/cross_entropy_body.h"
