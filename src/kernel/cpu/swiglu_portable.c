/* swiglu_portable.c: swiglu in plain C; the work is in swiglu_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP swiglu
#include "kernel/cpu/swiglu_body.h"
