/* leakyrelu_portable.c: leakyrelu in plain C; the work is in eltwise_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP leakyrelu
#include "kernel/native/rows/eltwise_body.h"
