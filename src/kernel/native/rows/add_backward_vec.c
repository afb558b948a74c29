/* add_backward_vec.c: the gradient, twice. */
#include "kernel/native/vec/vec.h"

/* The instruction would not copy subnormals. */
#define ELTWISE_KIND(kind) ((kind) == NATIVE_BF16_INSN ? NATIVE_BF16 : (kind))
#define NATIVE_OP add_backward
#define NATIVE_OUTPUTS 2
#define ELTWISE(x, y, param) (x)
#include "kernel/native/rows/eltwise_body.h"
