#include "kernel/cpu/vec_scalar.h"

#include "kernel/cpu/conv2d_native.h"

CONV2D_KERNEL(conv2d_portable, VEC_NEED, VEC_PREFERENCE, assay_linear_portable, CONV2D_FLOATS);
