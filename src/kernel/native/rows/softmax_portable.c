/* softmax_portable.c: softmax in plain C; the work is in softmax_body.h. */
#include "kernel/native/vec/vec_portable.h"

#define NATIVE_OP softmax
#include "kernel/native/rows/softmax_body.h"
