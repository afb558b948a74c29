/* layernorm_gelu_backward_vec.c: dx, dgamma and dbeta, from the saved mean and 1 / deviation. */
#include "kernel/native/vec/vec.h"

#define ROWGRAD_OF ROWGRAD_LAYERNORM_GELU
#include "kernel/native/rows/row_gradient_body.h"

#define NATIVE_OP layernorm_gelu_backward
NATIVE_KERNEL_COLUMNS(rowgrad, rowgrad_finish, ROWGRAD_COLUMNS + 1); /* and dz */
