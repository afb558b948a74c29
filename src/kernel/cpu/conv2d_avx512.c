#include "kernel/cpu/vec_avx512.h"

#include "kernel/cpu/conv2d_native.h"

CONV2D_KERNEL(conv2d_avx512, VEC_NEED, VEC_PREFERENCE, assay_linear_avx512, CONV2D_FLOATS);
