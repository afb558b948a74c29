/* conv2d_bf16dot_avx512.c: pairs of bf16 by vdpbf16ps (linear_bf16dot_avx512.c). */
#include "kernel/cpu/conv2d_native.h"

CONV2D_KERNEL(conv2d_bf16dot_avx512, ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16, 25,
              assay_linear_bf16dot_avx512, ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16));
