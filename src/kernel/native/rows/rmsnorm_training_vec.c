/* rmsnorm_training_vec.c: rmsnorm, and each row's 1 / root of the mean square. */
#include "kernel/native/vec/vec.h"

#define NATIVE_OP rmsnorm_training
#define NORM_SAVE 1
#include "kernel/native/rows/norm_body.h"
