/* linear_backward_bf16dot_avx512.c: pairs of bf16 by vdpbf16ps (linear_bf16dot_avx512.c); codes are
 * such pairs too. A product in high precision that a recipe leaves in f32 or f16 is one of
 * linear_vec.c. */
#include "kernel/native/vec/vec_avx512.h"

#include "kernel/native/linear/linear_line_avx512.h"

#include "kernel/native/linear/linear_backward_native.h"
#include "kernel/native/linear/linear_cast.h"

LINEAR_PRODUCT_BODY(body, &assay_linear_bf16dot_avx512, &assay_linear_avx512, &assay_linear_avx512);
LINEAR_TRAINING_FUNCTIONS(linear_backward, ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16, 0, body)

extern const struct assay_kernel assay_kernel_linear_backward_bf16dot_avx512;
const struct assay_kernel assay_kernel_linear_backward_bf16dot_avx512 = {
    LINEAR_TRAINING_FIELDS(linear_backward, "linear_backward_bf16dot_avx512", 25,
                           ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
                               ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16)),
    .flags = ASSAY_KERNEL_BF16_DOT,
};
