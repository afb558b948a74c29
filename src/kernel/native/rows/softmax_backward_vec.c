/* softmax_backward_vec.c: y (dy - sum(dy y)). */
#include "kernel/native/vec/vec.h"

#define ROWGRAD_OF ROWGRAD_SOFTMAX
#include "kernel/native/rows/row_gradient_body.h"

#define NATIVE_OP softmax_backward
NATIVE_KERNEL(rowgrad, NATIVE_ROWS, false);
