/* swiglu_portable.c: swiglu in plain C; the work is in swiglu_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP swiglu
#include "kernel/native/rows/swiglu_body.h"
