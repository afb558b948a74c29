#include "kernel/native/vec/vec_portable.h"

#include "kernel/native/linear/conv2d_native.h"

CONV2D_KERNEL(conv2d_portable, VEC_NEED, VEC_PREFERENCE, assay_linear_portable, CONV2D_FLOATS);
