#include "kernel/cpu/vec_avx2.h"

#include "kernel/cpu/conv2d_native.h"

CONV2D_KERNEL(conv2d_avx2, VEC_NEED, VEC_PREFERENCE, assay_linear_avx2, CONV2D_FLOATS);
