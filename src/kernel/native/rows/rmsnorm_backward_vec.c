/* rmsnorm_backward_vec.c: dx and dgamma, from the saved 1 / root of the mean square. */
#include "kernel/native/vec/vec.h"

#define ROWGRAD_OF ROWGRAD_RMSNORM
#include "kernel/native/rows/row_gradient_body.h"

#define NATIVE_OP rmsnorm_backward
NATIVE_KERNEL_COLUMNS(rowgrad, rowgrad_finish, ROWGRAD_COLUMNS);
