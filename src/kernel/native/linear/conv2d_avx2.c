#include "kernel/native/vec/vec_avx2.h"

#include "kernel/native/linear/conv2d_native.h"

CONV2D_KERNEL(conv2d_avx2, VEC_NEED, VEC_PREFERENCE, assay_linear_avx2, CONV2D_FLOATS);
