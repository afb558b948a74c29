/* layernorm_gelu_training_vec.c: gelu of layernorm, and each row's mean and 1 / deviation. */
#include "kernel/native/vec/vec.h"

#define NATIVE_OP layernorm_gelu_training
#define NORM_CENTRE 1
#define NORM_GELU 1
#define NORM_SAVE 1
#include "kernel/native/rows/norm_body.h"
