/* silu_vec.c: x sigmoid(x). */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_math.h"

#define NATIVE_OP silu
#define ELTWISE(x, y, param) vec_silu(x)
#include "kernel/native/rows/eltwise_body.h"
