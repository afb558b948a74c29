/* layernorm_vec.c: the mean subtracted, over the deviation, times gamma plus beta. */
#include "kernel/native/vec/vec.h"

#define NATIVE_OP layernorm
#define NORM_CENTRE 1
#include "kernel/native/rows/norm_body.h"
