/* softmax_portable.c: softmax in plain C; the work is in softmax_body.h. */
#include "kernel/cpu/vec_scalar.h"

#define NATIVE_OP softmax
#include "kernel/cpu/softmax_body.h"
