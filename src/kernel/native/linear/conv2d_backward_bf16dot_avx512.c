/* conv2d_backward_bf16dot_avx512.c: pairs of bf16 by vdpbf16ps (linear_bf16dot_avx512.c). */
#include "kernel/native/vec/vec_avx512.h"

#include "kernel/native/linear/conv2d_backward_pack.h"

CONV2D_BACKWARD_FUNCTIONS(ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16, 0, assay_linear_bf16dot_avx512)

extern const struct assay_kernel assay_kernel_conv2d_backward_bf16dot_avx512;
const struct assay_kernel assay_kernel_conv2d_backward_bf16dot_avx512 = {
    CONV2D_BACKWARD_FIELDS("conv2d_backward_bf16dot_avx512", 25, ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16)),
    .flags = ASSAY_KERNEL_BF16_DOT,
};
