#include "kernel/native/vec/vec_avx512.h"

#include "kernel/native/linear/conv2d_native.h"

CONV2D_KERNEL(conv2d_avx512, VEC_NEED, VEC_PREFERENCE, assay_linear_avx512, CONV2D_FLOATS);
